"""What people have said of a model's answers: lines of text TAB answer TAB verdict, so that nobody judges one twice."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TO_JUDGE = ""
"""the verdict of what nobody has judged yet"""


def read_judged(path: Path, verdicts: Sequence[str]) -> dict[tuple[str, str], str]:
    """By text and answer; nothing where nobody has judged yet."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    judged = {}
    for line in lines:
        text, answer, verdict = line.split("\t")[:3]
        assert verdict in verdicts, line
        judged[text, answer] = verdict
    return judged


def print_to_judge(rows: list[dict[str, Any]], text: str, answer: str) -> None:
    """The lines that are missing, each with a question mark for its verdict; `text` and `answer` are keys of a row."""
    for row in rows:
        if row["verdict"] == TO_JUDGE:
            print(row[text], row[answer], "?", sep="\t")


def options_of(about: str | None, model: str, file: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--model", nargs="+", default=[model], help="names or folders")
    parser.add_argument("--to-judge", action="store_true", help=f"print lines for {file.name}")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    return parser
