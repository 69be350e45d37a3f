"""The French and the English of the same, side by side in a text: `noir=black;blanc=white`."""

from __future__ import annotations

Value = tuple[str, str]
"""the French and the English of the same"""


def table(text: str) -> list[Value]:
    """
    >>> table("noir=black;blanc=white")
    [('noir', 'black'), ('blanc', 'white')]
    """
    return [(each.partition("=")[0], each.partition("=")[2]) for each in text.split(";")]
