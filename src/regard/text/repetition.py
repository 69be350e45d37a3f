"""A model that has lost its way says the same again and again; that can be told from its output alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

_LEAST_TIMES = 3
_LEAST_LENGTH = 8


def is_looping(tokens: Sequence[Hashable]) -> bool:
    """Whether some stretch comes three times or more in a row, and at least eight tokens in all.

    >>> is_looping("we go and we go and we go and stop".split()), is_looping("ha ha ha".split())
    (True, False)
    """
    for period in range(1, len(tokens) // _LEAST_TIMES + 1):
        needed = max(_LEAST_TIMES * period, _LEAST_LENGTH) - period
        run = 0
        for place in range(period, len(tokens)):
            run = run + 1 if tokens[place] == tokens[place - period] else 0
            if run >= needed:
                return True
    return False
