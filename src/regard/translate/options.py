"""What a caller asks of its translations, and the same in tokens for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.config import DecodeConfig
from regard.decode import Constraints
from regard.decode.constraints import contains
from regard.errors import UsageError
from regard.text.tokenizer import TokenizerBase
from regard.text.words import Spellings
from regard.translate.glossary import Glossary


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslateOptions:
    """Options of a translation beside those of the search."""

    prefix: str = ""
    """text that every output begins with"""
    prefix_tokens: Sequence[int] = ()
    """the same as tokens, from the beginning of the output; look forces a next word by it"""
    banned: Sequence[str] = ()
    """words that no output holds, spelt exactly so, however they are tokenized"""
    required: Sequence[str] = ()
    """words that every output holds"""
    glossary: Glossary | None = None
    """terms and their translations, which an output holds where its sentence holds the term"""
    split: bool = True
    """cut a text into sentences; otherwise only where it is too long for the model"""
    alignment: bool = False
    """add to each candidate which word became which"""
    plain: bool = False
    """give the text to the model as it is: no normalisation, no protected spans"""
    number: int = 0
    """sentences translated before this call: it and the seed decide what is sampled"""

    @property
    def single_sentence(self) -> bool:
        """Whether the options can only be met by a text that is one sentence."""
        return bool(self.prefix or self.prefix_tokens or self.required)


class ConstraintBuilder:
    """The words of the options as constraints in tokens."""

    def __init__(
        self,
        target: TokenizerBase,
        spellings: Spellings,
        decode: DecodeConfig,
        options: TranslateOptions,
    ) -> None:
        self._target, self._spellings, self._options = target, spellings, options
        if options.glossary is not None and decode.method != "beam":
            raise UsageError(
                f"a glossary needs beam search: got method={decode.method}; use method=beam"
            )
        if not all(word.strip() for word in (*options.banned, *options.required)):
            raise UsageError(
                "a banned or required word must have letters: got an empty one; leave it out"
            )
        self._banned = {word: spellings.of(word) for word in options.banned}
        self._prefix = list(options.prefix_tokens) or [
            *target.beginning,
            *(target.encode(options.prefix) if options.prefix else []),
        ]
        self.default = self.build()

    def build(self, required: Sequence[str] = (), banned: Sequence[str] = ()) -> Constraints | None:
        """The constraints of the options and of one sentence; words that are required are not banned for it."""
        wanted = {word: self._target.encode(word) for word in (*self._options.required, *required)}
        asked = {self._options.prefix: self._prefix, **wanted}
        for word, spellings in self._banned.items():
            for text, ids in asked.items():
                if any(contains(ids, spelling) for spelling in spellings):
                    raise UsageError(
                        f"a word cannot be both banned and asked for: {word!r} is banned and stands in "
                        f"{text!r}; drop one of the two"
                    )
        bans = [spelling for spellings in self._banned.values() for spelling in spellings]
        for word in banned:
            spellings = self._spellings.of(word)
            if not any(contains(ids, each) for ids in asked.values() for each in spellings):
                bans += spellings
        if not (self._prefix or wanted or bans):
            return None
        return Constraints(prefix=self._prefix, banned=bans, required=list(wanted.values()))
