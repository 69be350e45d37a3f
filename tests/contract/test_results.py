"""The figures of the pages are those of the evidence in benchmarks/results."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
# The log says what was measured then.
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name != "log.md")]
LINK = re.compile(r"results/([\w-]+)\.json")
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")


def test_a_result_says_what_it_was_measured_with() -> None:
    needed = {"benchmark", "date", "commit", "hardware", "versions", "rows", "ratios"}
    for path in RESULTS:
        found = json.loads(path.read_text("utf-8"))
        assert needed <= found.keys() and found["benchmark"] == path.stem, path
        assert found["rows"] and found["hardware"] and found["versions"]["regard"], path
        assert all(isinstance(ratio, (int, float)) for ratio in found["ratios"].values()), path


def quotations() -> list[tuple[Path, str, str]]:
    """Page, text and result, for each paragraph or table row that links one; a table after a colon belongs to its text."""
    found = []
    for page in PAGES:
        text = re.sub(r":\n\n\|", ":\n|", page.read_text("utf-8"))
        for paragraph in text.split("\n\n"):
            parts = paragraph.splitlines() if paragraph.startswith("|") else [paragraph]
            found += [(page, part, name) for part in parts for name in set(LINK.findall(part))]
    return found


def numbers_in(value: object) -> set[float]:
    """All there are, those within words and names too."""
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int | float):
        return {float(value)}
    if isinstance(value, str):
        return {float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", value)}
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    assert isinstance(parts, list)
    return set().union(*map(numbers_in, parts))


def unfounded(paragraph: str, evidence: object) -> list[str]:
    """The numbers of a text that are none of the evidence, rounded as they are written or as a percentage."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "", paragraph)
    known = numbers_in(evidence)
    known |= {100 * each for each in known}

    def is_founded(written: str) -> bool:
        digits = len(written.partition(".")[2])
        return any(f"{each:.{digits}f}" == written.replace(",", "") for each in known)

    return [written for written in NUMBER.findall(plain) if not is_founded(written)]


def test_a_figure_that_is_quoted_was_measured_and_another_would_be_noticed() -> None:
    for page, paragraph, name in quotations():
        evidence = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))
        assert unfounded(paragraph, evidence) == [], (page, name)
    evidence = {"rows": [{"batch 32": 1886526, "share": 0.8357}], "hardware": "2 cores"}
    assert unfounded("`x 99` at 32 on 2 cores: 1,886,526, 0.84 and 83.6 %", evidence) == []
    assert unfounded("1,886,527 and 0.85, 83.5 % on 4", evidence) == ["1,886,527", "0.85", "83.5", "4"]
