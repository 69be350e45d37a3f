"""What one call asks of its outputs, and what is wrong with those that come."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.config import DecodeConfig
from regard.decode import Constraints
from regard.decode.required import contains
from regard.errors import UsageError
from regard.text.repetition import is_looping
from regard.text.tokenizer_base import TokenizerBase
from regard.text.words import Spellings
from regard.translate.glossary import Glossary, Place, lacks, where
from regard.translate.translation import Candidate

_NO_REPEAT = 3
"""pieces in a row that may not come twice where an output went round in circles"""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks of every output."""

    prefix: str = ""
    """it begins with this"""
    banned: Sequence[str] = field(default=())
    """it holds none of these words, spelt exactly so, however they are cut into pieces"""
    required: Sequence[str] = field(default=())
    """it holds all of these words"""
    glossary: Glossary | None = None
    """where a sentence holds one of its terms, the output is to hold the term's translation"""

    @property
    def of_one_sentence(self) -> bool:
        """Whether they can only be asked of a single sentence."""
        return bool(self.prefix or self.required)


class Request:
    """The wishes in pieces, for each sentence its own."""

    def __init__(
        self,
        tokenizers: tuple[TokenizerBase, TokenizerBase],
        spellings: Callable[[], Spellings],
        decode: DecodeConfig,
        wishes: Wishes,
        *,
        alignment: bool = False,
    ) -> None:
        self.source, self.target = tokenizers
        self.decode, self.wishes, self.alignment = decode, wishes, alignment
        if wishes.glossary is not None and decode.method != "beam":
            raise UsageError(
                f"a glossary needs beam search: got method={decode.method}; use method=beam"
            )
        if not all(word.strip() for word in (*wishes.banned, *wishes.required)):
            raise UsageError(
                "a banned or required word must have letters: got an empty one; leave it out"
            )
        self._banned = {word: spellings().of(word) for word in wishes.banned}
        self._plain = self._constraints(wishes.required)
        self._forced = False

    def changed(self, **decode: Any) -> Request:
        request = copy.copy(self)
        request.decode = dataclasses.replace(self.decode, **decode)
        return request

    def without_repetition(self) -> Request:
        return self.changed(no_repeat_ngram=_NO_REPEAT)

    def aligned(self) -> Request:
        request = copy.copy(self)
        request.alignment = True
        return request

    def forced(self) -> Request:
        """The search itself must write the glossary's words."""
        request = self.aligned()
        request._forced = True
        return request

    def places(self, sentence: str) -> list[Place]:
        """Which terms of the glossary a sentence holds, and where."""
        glossary = self.wishes.glossary
        return glossary.places_in(sentence) if glossary else []

    def constraints(self, sentence: str) -> Constraints | None:
        terms = [place.term.target for place in self.places(sentence)]
        wanted = self._constraints((*self.wishes.required, *terms)) if terms else self._plain
        return wanted if self._forced else self._plain

    def allows(self, text: str) -> bool:
        """Whether a text that the search did not write keeps what is asked of every output."""
        wishes = self.wishes
        return (
            text.startswith(wishes.prefix)
            and all(word in text for word in wishes.required)
            and not any(where(word, text) for word in wishes.banned)
        )

    def with_capital(self, sentence: str, candidate: Candidate) -> Candidate:
        """A glossary's word in small letters may come first, where the sentence has a capital."""
        text = candidate.text
        if not (sentence[:1].isupper() and text[:1].islower() and self.places(sentence)):
            return candidate
        return dataclasses.replace(candidate, text=text[0].upper() + text[1:])

    def flags(self, sentence: str, candidates: Sequence[Candidate]) -> list[str]:
        best = candidates[0]
        flags = []
        if is_looping(best.tokens) and not is_looping(self.source.encode(sentence)):
            flags.append("repetition")
        if best.stop == "length" and not self.decode.max_length:
            flags.append("length")
        if lacks(best.text, self.places(sentence)):
            flags.append("glossary")
        return flags

    def _constraints(self, required: Sequence[str]) -> Constraints | None:
        wishes, encode = self.wishes, self.target.encode
        beginning = list(self.target.beginning)
        if not (beginning or wishes.prefix or wishes.banned or required):
            return None
        prefix = [*beginning, *(encode(wishes.prefix) if wishes.prefix else [])]
        wanted = {word: encode(word) for word in required}
        for word, spellings in self._banned.items():
            for asked, ids in {wishes.prefix: prefix, **wanted}.items():
                if any(contains(ids, spelling) for spelling in spellings):
                    raise UsageError(
                        f"a word cannot be both banned and asked for: {word!r} is banned and stands in "
                        f"{asked!r}; drop one of the two"
                    )
        return Constraints(
            prefix=prefix,
            banned=[spelling for spellings in self._banned.values() for spelling in spellings],
            required=list(wanted.values()),
        )
