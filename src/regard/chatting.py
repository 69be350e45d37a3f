"""A conversation with a chat model: what was said is kept, and nothing is said twice.

A reply is drafted whole. A draft without a word in it, one that says nearly the same as an earlier reply, or one that
only repeats what it answers, gives way to the next best; when none of them will do, drafts are drawn, each round
flatter than the one before. What is chosen is then given word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from regard.config import DecodeConfig
from regard.decode import Constraints, search
from regard.errors import UsageError
from regard.translator import Translator
from regard.writing import Prompt, conversation, positions, text_of

NUM_DRAFTS = 4
"""replies that are thought of at a time"""
_TEMPERATURES = (0.8, 1.0, 1.2)
"""of the further rounds"""
_ALIKE = 0.8
"""share of words in the same order from which two replies are nearly the same"""
_ECHO_WORDS = 3
"""shorter turns may come back: hello is answered by hello"""
_SPEECHLESS = "I don't know what to say to that."
"""where the model has no word"""

_WORDS = re.compile(r"\w+")
_SHOWN = re.compile(r"\S+\s*")


class Conversation:
    """What two have said in turn, a person first."""

    def __init__(
        self, translator: Translator, decode: DecodeConfig, turns: Sequence[str] = ()
    ) -> None:
        """turns: what was said before, the last of them by the model."""
        self._translator, self._decode = translator, decode
        self.turns = list(turns)

    def say(self, text: str) -> str:
        """The reply to what a person says; both are kept."""
        if not text.strip():
            raise UsageError("a turn must say something: got nothing but spaces; write a word")
        turns = [*self.turns, text]
        reply = self._reply(turns)
        self.turns = [*turns, reply]
        return reply

    def saying(self, text: str) -> Iterator[str]:
        """The reply word by word."""
        return iter(_SHOWN.findall(self.say(text)))

    def begin_anew(self) -> None:
        """Forget what was said."""
        self.turns.clear()

    def _reply(self, turns: list[str]) -> str:
        earlier = [_words(turn) for turn in turns[-2::-2]]
        heard = _words(turns[-1])
        if len(heard) >= _ECHO_WORDS:
            earlier.append(heard)
        best, least = _SPEECHLESS, 2.0
        for draft in self._drafts(conversation(self._translator, turns), len(turns) // 2):
            words = _words(draft)
            likeness = max((_likeness(words, each) for each in earlier), default=0.0)
            if words and likeness < _ALIKE:
                return draft
            if words and likeness < least:
                best, least = draft, likeness
        return best

    def _drafts(self, prompt: Prompt, number: int) -> Iterator[str]:
        config = self._translator.config
        for decode in self._ways(prompt):
            [found] = search(
                self._translator.engine,
                [prompt.source],
                decode,
                bos_id=config.bos_id,
                eos_id=config.eos_id,
                pad_id=config.pad_id,
                constraints=[Constraints(prefix=prompt.prefix)],
                numbers=[number],
            )
            for each in found:
                text = text_of(self._translator, each.tokens)
                text = text[len(text_of(self._translator, prompt.prefix)) :]
                yield next(iter(text.strip().split("\n")), "").strip()

    def _ways(self, prompt: Prompt) -> Iterator[DecodeConfig]:
        """The model's own search, or the one asked for; then draws, which its seed decides."""
        own = self._decode
        room = positions(self._translator) - 1
        num_pieces = own.max_length or prompt.num_default
        own = replace(
            own,
            method="beam" if own.method == "greedy" else own.method,
            beam=max(own.beam, NUM_DRAFTS),
            n_best=NUM_DRAFTS,
            max_length=min(len(prompt.prefix) + num_pieces, room),
        )
        yield own
        seed = own.seed if own.method == "sample" else own.seed or 0
        for temperature in _TEMPERATURES:
            if own.method != "sample" or temperature > own.temperature:
                yield replace(own, method="sample", temperature=temperature, seed=seed)


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _likeness(one: list[str], other: list[str]) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
