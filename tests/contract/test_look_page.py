"""The page of `regard look`: small, typed, readable, and no number of its own making."""

import re
import subprocess
from pathlib import Path

import pytest
from browser.find_tools import find_node, find_typescript

from regard.look.server import page_names
from regard.look.view import __file__ as view_file

MAX_BYTES = 210_000
LOADED = (".js", ".html", ".css")


def sources() -> dict[str, str]:
    folder = Path(view_file).parent / "page"
    return {
        name: (folder / name).read_text(encoding="utf-8")
        for name in page_names()
        if name.endswith(LOADED)
    }


def test_the_page_is_small() -> None:
    sizes = {name: len(text.encode()) for name, text in sources().items()}
    assert 50_000 < sum(sizes.values()) < MAX_BYTES, sizes


@pytest.mark.parametrize(
    "pattern", [r"Math\s*\.\s*random|\[.random.\]", r"\bcrypto\b", r"\beval\s*\(|new\s+Function\b"]
)
def test_no_number_comes_from_nowhere(pattern: str) -> None:
    found = [name for name, text in sources().items() if re.search(pattern, text)]
    assert found == []


def test_nothing_is_fetched_from_elsewhere() -> None:
    namespace = "http://www.w3.org/2000/svg"
    addresses = {
        address
        for text in sources().values()
        for address in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`)]*", text)
    }
    assert addresses <= {namespace}


def test_the_types_hold() -> None:
    node, compiler = find_node(), find_typescript()
    assert node and compiler, "run ./check once, or python tests/browser/find_tools.py"
    page = Path(view_file).parent / "page" / "jsconfig.json"
    text = page.read_text()
    assert '"checkJs": true' in text and '"strict": true' in text
    run = subprocess.run([node, str(compiler), "-p", str(page)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
