"""Which signs a vocabulary has, and a text in those alone."""

from __future__ import annotations

import re
import unicodedata

from regard.text.signs import plain
from regard.text.tokenizer_base import TokenizerBase

_BYTE = re.compile("<0x[0-9A-F]{2}>")


class Alphabet:
    """Which letters a vocabulary has pieces for: others are spelt in bytes, or not at all."""

    def __init__(self, vocabulary: TokenizerBase) -> None:
        self._vocabulary = vocabulary
        self._known: dict[str, bool] = {}

    def __call__(self, sign: str) -> bool:
        """Whether a sign, or the one of a keyboard that is read for it, is known."""
        if sign not in self._known:
            self._known[sign] = all(map(self.has, plain(sign)))
        return self._known[sign]

    def has(self, sign: str) -> bool:
        return sign.isascii() or self.has_learnt(sign)

    def has_learnt(self, sign: str) -> bool:
        """Those of a keyboard may be missing too, where a corpus had others."""
        ids = self._vocabulary.encode(sign)
        spelt = any(map(_BYTE.fullmatch, self._vocabulary.token_strings(ids)))
        return not spelt and self._vocabulary.special_ids.isdisjoint(ids)


def in_known_signs(text: str, vocabulary: TokenizerBase) -> str:
    """A text that a model goes on from, with the signs of a keyboard for those that its vocabulary lacks.

    Blanks and line ends are part of what it goes on from, and stay.
    """
    if text.isascii():
        return text
    alphabet, composed = Alphabet(vocabulary), unicodedata.normalize("NFC", text)
    lacking = {sign for sign in composed if not alphabet.has(sign)}
    return composed.translate({ord(sign): plain(sign) for sign in lacking})
