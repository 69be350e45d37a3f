"""What a document takes grows with its length and not with the square of it, whatever stands in it."""

import time
from dataclasses import dataclass

import pytest

from regard.documents import translate_document
from regard.documents.placement import Linked

NUM_CHARACTERS = 4001
TIMES = 4
MOST_TIMES_LONGER = 10
"""the square would be 16"""
MOST_SECONDS = 0.05
"""below which a clock says little"""

BEGINNINGS = {".srt": "1\n00:00:01,000 --> 00:00:02,000\n", ".po": 'msgid "'}
ENDS = {".po": '"\nmsgstr ""\n'}


@dataclass
class Aligned:
    text: str

    @property
    def alignment(self) -> list[Linked]:
        places = [(at, at + 1) for at, sign in enumerate(self.text) if sign.isalnum()]
        return [Linked(place, place) for place in places]


def loud(texts: list[str]) -> list[Aligned]:
    return [Aligned(text.swapcase()) for text in texts]


def seconds(suffix: str, text: str) -> float:
    if suffix == ".po":
        text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    data = (BEGINNINGS.get(suffix, "") + text + ENDS.get(suffix, "")).encode()
    begun = time.process_time()
    translate_document(data, suffix, loud)
    return time.process_time() - begun


@pytest.mark.parametrize("suffix", [".html", ".md", ".srt", ".po", ".txt"])
@pytest.mark.parametrize(
    "piece",
    ["a ", "a\n", "<a=", "<!-- ", "<!-- a -->", "<b>a</b> ", "&a", "{a} ", "*a ", "*a* ", "[a](", "[a](b) ",
     "`a", "``a` ", "| a ", "# a #  ", "a  ", "|  -\n", "字。", "a@a.", "<b>", "</b>", "<", "<a ", "&", "{{", "{", "[",
     "](", "`", "``a", "<b>a", "%(", "|", "> ", "- ", "a@", "http://", "=\"'", "1\n",
     "**a *b", "***", "_a", "a_", "*", "**a** ", "![", "![a](b) ", ": a\n", "[^a]: b\n", "\\\n", "a.", ". ", "~~a",
     "<b title='a'>a", "<p title=a>", "<b a='", "<b title=a/"],
)  # fmt: skip
def test_a_long_document_takes_in_proportion(suffix: str, piece: str) -> None:
    def is_in_proportion() -> bool:
        short = seconds(suffix, piece * (NUM_CHARACTERS // len(piece)))
        long = seconds(suffix, piece * (TIMES * NUM_CHARACTERS // len(piece)))
        return long < MOST_SECONDS or long < MOST_TIMES_LONGER * short

    # Once is enough: on a busy machine a clock errs to one side only.
    assert any(is_in_proportion() for _ in range(3))
