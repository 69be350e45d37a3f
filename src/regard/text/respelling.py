"""A text spelt otherwise, and where each of its characters stands in the text as it was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Respelt:
    text: str
    places: Sequence[int]
    """of each character, and of the end"""

    @classmethod
    def of(cls, text: str) -> Respelt:
        return cls(text, range(len(text) + 1))

    def sign_by_sign(self, text: str) -> Respelt:
        """With another character in the place of each."""
        assert len(text) == len(self.text)
        return replace(self, text=text)

    def with_each(
        self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str], *hints: str
    ) -> Respelt:
        """With something new for each match: its characters stand where those of the match did, what is beyond these
        where the last of them did. Without one of the hints, if there are any, there is no match.

        >>> Respelt.of("a -- b").with_each(re.compile("--"), lambda match: "-").places
        [0, 1, 2, 4, 5, 6]
        """
        if hints and not any(hint in self.text for hint in hints):
            return self
        parts: list[str] = []
        places: list[int] = []
        done = 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            written = new(match)
            parts += [self.text[done:start], written]
            places += self.places[done:start]
            last = max(end - 1, start)
            places += [self.places[min(start + number, last)] for number in range(len(written))]
            done = end
        if not parts:
            return self
        return Respelt("".join(parts) + self.text[done:], [*places, *self.places[done:]])
