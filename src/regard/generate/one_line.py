"""Texts of several lines as one line: what a file of pairs can hold, and what a model trained on it reads.

The mark is Unicode's own line separator. It stands between spaces, so that a word has the same pieces after it as
anywhere else; in a text that someone types it is white space, so that nobody makes a turn with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MARK = "\u2028"
_MARKED = re.compile(f" ?{MARK} ?")

MOST_TURNS = 7
"""of a conversation that a chat model reads, the one to answer among them"""
MOST_WORDS = 120
"""of these turns together; the one to answer is read whole"""


def to_one_line(text: str) -> str:
    """
    >>> to_one_line("Once.\\nTwice.") == f"Once. {MARK} Twice."
    True
    """
    return f" {MARK} ".join(" ".join(line.split()) for line in text.split("\n"))


def to_lines(text: str) -> str:
    """The text as it is read; a space at its end may be the beginning of a mark, and is left out.

    >>> to_lines(f"Once. {MARK} Twice. ")
    'Once.\\nTwice.'
    """
    return _MARKED.sub("\n", text).rstrip(" ")


def recent(turns: Sequence[str]) -> list[str]:
    """The last turns of a conversation, as many as a chat model is trained to read, each on one line."""
    kept: list[str] = []
    num_words = 0
    for turn in reversed(turns[-MOST_TURNS:]):
        words = turn.split()
        num_words += len(words)
        if kept and num_words > MOST_WORDS:
            break
        kept.append(" ".join(words))
    return kept[::-1]
