"""A text that is written piece by piece: what of it is sure, and where it is to stop."""

from __future__ import annotations

from collections.abc import Sequence

_INCOMPLETE = "\ufffd"
"""what the tokenizer writes for a character of which not all bytes are there yet"""


class GrowingText:
    """A text that grows at its end, without what may still change or be the beginning of a stop."""

    def __init__(self, before: str, stops: Sequence[str]) -> None:
        self._whole = before
        self._given = len(before)
        self._start = len(before)
        self._stops = [stop for stop in stops if stop]
        self.is_stopped = False

    def grow(self, whole: str) -> str:
        """What is sure of the text that has come to be so long."""
        self._whole = whole
        found = [whole.find(stop, self._start) for stop in self._stops]
        if places := [place for place in found if place >= 0]:
            self.is_stopped = True
            self._whole = whole[: min(places)]
            return self.rest()
        end = len(whole.rstrip(_INCOMPLETE))
        for stop in self._stops:
            for length in range(min(len(stop) - 1, end - self._start), 0, -1):
                if whole.endswith(stop[:length], self._start, end):
                    end -= length
                    break
        new = whole[self._given : max(end, self._given)]
        self._given += len(new)
        return new

    def rest(self) -> str:
        new = self._whole[self._given :]
        self._given += len(new)
        return new
