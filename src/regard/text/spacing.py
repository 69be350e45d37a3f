"""Blanks as a model has read them: one at a time. What is typed with more keeps them where it is shown."""

from __future__ import annotations

import re

_RUN = re.compile(r"[ \t\u00a0\u2009\u202f\u3000]{2,}|\t")


def single_spaced(text: str) -> str:
    """
    >>> single_spaced("Il fait  beau.")
    'Il fait beau.'
    """
    return _RUN.sub(" ", text)


def places(text: str) -> list[int]:
    """Where in the text each character of its single-spaced form stands, and where it ends.

    >>> places("a  b")
    [0, 1, 3, 4]
    """
    found: list[int] = []
    begin = 0
    for run in _RUN.finditer(text):
        found += [*range(begin, run.start()), run.start()]
        begin = run.end()
    return [*found, *range(begin, len(text) + 1)]
