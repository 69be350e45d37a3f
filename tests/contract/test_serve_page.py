"""The page of `regard serve`: small, typed, and nothing from elsewhere."""

import re
import subprocess
from pathlib import Path

from browser.find_tools import find_node, find_typescript

from regard.serve.app import __file__ as app_file
from regard.serve.app import page_names

FOLDER = Path(app_file).parent / "page"
MAX_BYTES = 60_000


def sources() -> dict[str, str]:
    loaded = (".js", ".html", ".css")
    return {
        name: (FOLDER / name).read_text(encoding="utf-8")
        for name in page_names()
        if name.endswith(loaded)
    }


def test_the_page_is_small() -> None:
    sizes = {name: len(text.encode()) for name, text in sources().items()}
    assert 20_000 < sum(sizes.values()) < MAX_BYTES, sizes


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name, text in sources().items():
        assert not re.search(r"(?:https?:)?//[\w.-]+\.\w+", text), name


def test_text_is_only_ever_text() -> None:
    """No words of anyone can become elements or a program, and the policy of the page allows no other way."""
    for name, text in sources().items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), name
        assert not re.search(r"\beval\s*\(|new\s+Function\b|\son\w+=|<style|\sstyle=", text), name


def test_the_types_hold() -> None:
    node, compiler = find_node(), find_typescript()
    assert node and compiler, "run ./check once, or python tests/browser/find_tools.py"
    text = (FOLDER / "jsconfig.json").read_text()
    assert '"checkJs": true' in text and '"strict": true' in text
    run = subprocess.run(
        [node, str(compiler), "-p", str(FOLDER / "jsconfig.json")], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout
