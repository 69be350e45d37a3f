"""One way of typing apostrophes, quotation marks and the spaces of French punctuation; or any, as people do."""

from __future__ import annotations

import random
import re
import zlib

from regard.text.as_read import in_double_quotes

_PLAIN = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u02bc": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u00ad": None,
        "\u200b": None,
        "\ufeff": None,
    }
)
_SPACES = re.compile(r"\s+")
_GUILLEMETS = re.compile(r"« ?| ?»")
_HIGH = re.compile(r"(?<=[\w»\")\]%…'])\s*([?!;:]+)(?=[\s»\"]|$)")
"""two-part punctuation at the end of a word"""
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_PAIR = re.compile(r'(?<![\w"])"([^"]+)"(?![\w"])')

# How often each way is met among people who type French: most have a keyboard without the marks of print.
_PRINTED_APOSTROPHE = 0.25
_QUOTES = ('"{}"', "« {} »", "«\u00a0{}\u00a0»", "«{}»", "\u201c{}\u201d")
_QUOTE_WEIGHTS = (5, 2, 1, 1, 1)
_BEFORE = (" ", "", "\u00a0", "\u202f")
_BEFORE_WEIGHTS = (5, 3, 1, 1)


def plain(text: str) -> str:
    """Straight apostrophes and quotation marks, ordinary single spaces."""
    return _SPACES.sub(" ", text.translate(_PLAIN)).strip()


def plain_french(text: str) -> str:
    """
    >>> plain_french("«Qu\u2019est-ce que c\u2019est?» dit-il: rien.")
    '"Qu\\'est-ce que c\\'est ?" dit-il : rien.'
    """
    text = _GUILLEMETS.sub('"', plain(text))
    return _HIGH.sub(r" \1", text)


def english_quotes(text: str, french: str) -> str:
    """Where the French has quotation marks, British single ones become double, as most people type them.

    >>> english_quotes("It's 'time for the future'.", 'Le "temps".')
    'It\\'s "time for the future".'
    """
    return in_double_quotes(text) if '"' in french else text


def as_typed(french: str) -> str:
    """Plain French as someone might have typed it: which way, the sentence itself decides."""
    draw = random.Random(zlib.crc32(french.encode()))
    if "'" in french and draw.random() < _PRINTED_APOSTROPHE:
        french = _APOSTROPHE.sub("\u2019", french)
    [form] = draw.choices(_QUOTES, _QUOTE_WEIGHTS)
    french = _PAIR.sub(lambda match: form.format(match[1]), french)
    [before] = draw.choices(_BEFORE, _BEFORE_WEIGHTS)
    return _HIGH.sub(rf"{before}\1", french)
