"""The pages of `look` and `serve`: small, typed, nothing from elsewhere, no number of their own making."""

import re
import subprocess
from pathlib import Path

import pytest
from browser.find_tools import find_node, find_typescript

import regard

SOURCE = Path(regard.__file__).parent
FOLDERS = {"look": (SOURCE / "look" / "page", 286_000), "serve": (SOURCE / "serve" / "page", 60_000)}
"""with the most bytes that a browser loads"""
MADE_UP = r"Math\s*\.\s*random|\[.random.\]|\bcrypto\b|\beval\s*\(|new\s+Function\b"
# No words of anyone can become elements or a program.
MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\son\w+=|<style|\sstyle="


@pytest.mark.parametrize("name", FOLDERS)
def test_what_a_browser_loads(name: str) -> None:
    folder, most_bytes = FOLDERS[name]
    loaded = (path for path in folder.iterdir() if path.suffix in (".js", ".html", ".css"))
    texts = {path.name: path.read_text(encoding="utf-8") for path in loaded}
    assert most_bytes / 4 < sum(len(text.encode()) for text in texts.values()) < most_bytes
    for file, text in texts.items():
        plain = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(?:https?:)?//[\w.-]+\.\w+", plain), file
        assert not re.search(MADE_UP, text), file
        assert name == "look" or not re.search(MARKUP, text), file


@pytest.mark.parametrize("name", FOLDERS)
def test_the_types_hold(name: str) -> None:
    node, compiler = find_node(), find_typescript()
    assert node and compiler, "run ./check once, or python tests/browser/find_tools.py"
    path = FOLDERS[name][0] / "jsconfig.json"
    assert '"checkJs": true' in path.read_text() and '"strict": true' in path.read_text()
    run = subprocess.run([node, str(compiler), "-p", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
