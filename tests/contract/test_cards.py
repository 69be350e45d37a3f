"""The card of a bundled model says all that somebody who is to rely on it must know."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from regard.folder.catalogue import BUNDLED
from regard.folder.checkpoint import CARD, WEIGHTS
from regard.folder.manifest import read_manifest

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/config.json"))

MAX_BYTES = 90_000_000
"""of all bundled weights together"""
FIGURES = {
    "translate": ("newstest2013", "Tatoeba", "Multi30k 2016", "everyday sentences"),
    "chat": ("100 openings", "ten turns"),
    "write": ("perplexity", "distinct", "repetition"),
    "search": ("written", "everyday", "news", "stories", "words"),
}


def sections(card: str) -> dict[str, str]:
    """The text under each heading; what comes before the first is under an empty one."""
    parts = re.split(r"^## (.+)$", card, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def table(text: str) -> list[list[str]]:
    """The rows of a table without its heads and rules."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if not set("".join(row)) <= set("-| ")][1:]


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def card(folder: Path) -> str:
    return (folder / CARD).read_text("utf-8")


def test_what_every_card_says(card: str, folder: Path) -> None:
    front = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    assert front
    for key in ("library_name: regard", "pipeline_tag: ", "license: ", "language:"):
        assert key in front[1], key
    parts = sections(card)
    head = parts[""]
    for row in ("parameters", "weights", "steps", "time", "recipe"):
        assert re.search(rf"^\| {row} \| .+ \|$", head, re.MULTILINE), row
    recipes = re.findall(r"`(recipes/[\w-]+\.toml)`", head)
    assert all((ROOT / recipe).is_file() for recipe in recipes)
    assert recipes or "| recipe | an earlier version of regard: " in head
    assert re.search(r"^\| time \| .*(NVIDIA|CPU).*\|$", head, re.MULTILINE), "on what"
    size = re.search(r"^\| weights \| .*?(\d+) MB", head, re.MULTILINE)
    assert size and abs(int(size[1]) - (folder / WEIGHTS).stat().st_size / 1e6) < 1
    corpora = table(parts["Training text"])
    assert corpora
    for what, count, licence in corpora:
        assert what and re.fullmatch(r"[\d,]+", count) and licence, what
    assert len(parts["Licence"].split()) > 5 and len(parts["Good for, and not"].split()) > 20
    failures = table(parts["Where it fails"])
    assert len(failures) >= 3 and all(len(row) == 3 for row in failures), "given, got, right"
    task = read_manifest(folder).task
    for figure in FIGURES[task]:
        line = next((line for line in card.splitlines() if figure in line and "|" in line), None)
        assert line and re.search(r"\d", line.replace(figure, "")), figure
    if task == "translate":
        assert re.search(r"`nrefs:1\|case:mixed\|eff:no\|tok:13a\S+`", card)
        assert re.search(r"`nrefs:1\|case:mixed\|eff:yes\|nc:6\S+`", card)


def test_the_readme_has_the_figures_of_the_cards() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| bundled `([\w-]+)`.*? \| (.+?) \|", readme, re.MULTILINE)
    assert [name for name, _ in rows] == ["fr-en", "en-fr"]
    for name, written in rows:
        card = (BUNDLED / name / CARD).read_text("utf-8")
        measured = {row[0].split()[0]: row for row in table(sections(card)[""])}
        scores = [measured[test_set] for test_set in ("newstest2013", "Tatoeba", "Multi30k")]
        expected = " / ".join(f"**{row[2]}**" for row in scores)
        assert written == f"{expected}; its teacher: " + " / ".join(row[4] for row in scores)


@pytest.mark.parametrize("folder", [BUNDLED / "fr-en", BUNDLED / "en-fr"])
def test_everyday_sentences_are_those_that_were_judged(card: str, folder: Path) -> None:
    found = (ROOT / "benchmarks" / "results" / f"everyday_{folder.name}.json").read_text("utf-8")
    _, *rows = json.loads(found)["rows"]
    right = Counter(row["kind"] for row in rows if row["verdict"] == "right")
    asked = Counter(row["kind"] for row in rows)
    text = " ".join(sections(card)["Where it fails"].split())
    shares = re.findall(r"([a-z][a-z ]*?) (\d+) of (\d+)", text)
    written = {kind: (int(some), int(all)) for kind, some, all in shares}
    others = written.pop("others")
    assert written == {kind: (right[kind], asked[kind]) for kind in written}
    unnamed = asked.keys() - written.keys()
    assert others == tuple(sum(each[kind] for kind in unnamed) for each in (right, asked))
    whole = f"{right.total()} of {asked.total()}"
    assert f"| {whole} |" in card and text.startswith(f"{whole} everyday sentences")


def test_together_they_fit_into_a_wheel() -> None:
    assert sum((folder / WEIGHTS).stat().st_size for folder in FOLDERS) <= MAX_BYTES
