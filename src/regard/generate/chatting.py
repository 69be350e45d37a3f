"""A conversation with a chat model: what was said is kept, and nothing is said twice.

A reply is drafted whole. A draft without a word in it, one that goes round in circles, one that says nearly the same as
an earlier reply, one that only repeats what it answers, or one that calls a person by a name they never told, gives way
to the next best; where there is none, the wrong name gives way to one that was told. A model that has a
`least_probability` reads the last turn alone too, where that can be understood alone, takes what it is surer of, and says
so when it is sure of nothing. Somebody who writes of danger in plain words is sent to help, by regard where the model does not
know them. When no draft will do, others are drawn, each round flatter than the one before. What
is chosen is then given word by word. Only a reply that sends somebody to help may be said again, and is not given up for
another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from regard.config import DecodeConfig
from regard.errors import UsageError
from regard.generate.back_reference import refers_back
from regard.generate.claims import Claim, Told
from regard.generate.drafting import Draft, drafts
from regard.generate.safety import reply_to_danger
from regard.generate.writing import Prompt, conversation, positions
from regard.text.repetition import is_looping
from regard.text.signs import plain
from regard.translate.translator import Translator

NUM_DRAFTS = 4
"""replies that are thought of at a time"""
_TEMPERATURES = (0.8, 1.0, 1.2)
"""of the further rounds"""
_ALIKE = 0.8
"""share of words in the same order from which two replies are nearly the same"""
_FALSE, _CIRCLES, _NO_WORD = 1.0, 2.0, 3.0
"""as bad as the same again, and worse"""
_ECHO_WORDS = 3
"""shorter turns may come back: hello is answered by hello"""
_SURER = 1.25
"""times as probable a reply to the last turn alone must be: it knows nothing of what was said before"""
_CERTAIN = 0.9
"""from here it need only be more probable: so sure a model is of farewells and thanks, which mean the same everywhere"""
_SPEECHLESS = "I don't know what to say to that."
"""where the model has no word"""
_UNSURE_ANSWERS = (
    "I am not sure. What do you think?",
    "I do not know that.",
    "I have no good answer. I am only a small program.",
    "That is more than I know.",
)
_UNSURE_REMARKS = (
    "I am not sure what to say to that. Will you tell me more?",
    "I do not know much about that. What is it like for you?",
    "I have no good answer, but I am listening.",
    "I am only a small program and cannot quite follow. Please go on.",
)
"""where it is sure of none, each once in a conversation"""

_WORDS = re.compile(r"\w+")
_SURE_OF_DANGER, _FOR_EACH = 0.8, 0.1
"""Whom nothing threatens is not sent to a crisis line: of a draft that alone does so the model must be so sure, and so much less
for each other that does. Where most do, one of them is said, whatever else is more probable."""
_KNOWN = 0.8
"""from here on the model has met these words before, and knows what to say to them better than a pattern"""
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
        judge = Judge(turns)
        for way in ways(self._translator, self._decode, turns, judge):
            [found] = drafts(self._translator, [way.prompt], way.decode, [len(turns) // 2])
            judge.consider(found)
        return judge.chosen.text


class Judge:
    """Which draft is said, after these turns, of which a person has said the last."""

    def __init__(self, turns: Sequence[str]) -> None:
        turns = [plain(turn) for turn in turns]
        self._earlier = [_words(turn) for turn in turns[-2::-2]]
        self._told = Told(turns[-1::-2][::-1])
        heard = _words(turns[-1])
        self._heard = [heard] if len(heard) >= _ECHO_WORDS else []
        self._help = reply_to_danger(turns[-1])
        self._admissions = _UNSURE_ANSWERS if "?" in turns[-1] else _UNSURE_REMARKS
        self.chosen = Draft(_SPEECHLESS)
        """the best so far"""
        self._flaw = _NO_WORD
        self._misnamed: Claim | None = None
        """the first of all drafts that calls somebody what they are not"""

    @property
    def will_do(self) -> bool:
        return self._flaw < _ALIKE

    def consider(self, found: Sequence[Draft]) -> None:
        """The first of these that will do is chosen, unless an earlier one will and is nearly as probable, or sends to help.

        Where most of them send to help, these come first.
        """
        claims = (self._told.false_claim(draft.text) for draft in found)
        self._misnamed = self._misnamed or next(filter(None, claims), None)
        num_helping = sum(draft.sends_to_help for draft in found)
        sure = _SURE_OF_DANGER - _FOR_EACH * (num_helping - 1)
        if num_helping > len(found) / 2:
            found = sorted(found, key=lambda draft: not draft.sends_to_help)
        for draft in found:
            if draft.sends_to_help and draft.probability < sure:
                continue
            words = _words(draft.text)
            flaw = _CIRCLES if is_looping(words) else self._likeness(draft, words)
            if words and flaw < _ALIKE:
                own = self.chosen.probability
                surer = draft.probability > min(_SURER * own, max(_CERTAIN, own))
                if not self.will_do or (surer and not self.chosen.sends_to_help):
                    self.chosen, self._flaw = draft, flaw
                return
            if words and flaw < self._flaw:
                self.chosen, self._flaw = draft, flaw

    def corrections(self, is_sure: bool) -> list[str]:
        """What to say instead of a reply that would do but for a name or number nobody told.

        How sure it is of a name it did not find says nothing of the rest: one who tells their name is welcomed, and one who
        asks for it is given it.
        """
        if is_sure:
            claim = None if self.will_do else self._told.false_claim(self.chosen.text)
        else:
            is_plain = self._told.has_just_told_a_name or self._told.asked_for_name
            claim = self._misnamed if is_plain else None
            if claim:
                self.chosen, self._flaw = Draft(_SPEECHLESS), _NO_WORD
        return self._told.corrected(claim) if claim else []

    def send_to_help(self) -> bool:
        """Whether somebody is in danger; then they are sent to help, if not by the model, by regard."""
        chosen = self.chosen
        is_known = self.will_do and chosen.probability >= _KNOWN
        if self._help is None or (is_known and not chosen.sends_to_help):
            return False
        if not (self.will_do and chosen.sends_to_help):
            self.chosen, self._flaw = Draft(self._help), 0.0
        return True

    def admit(self) -> None:
        """Say that one is not sure, in words that were not said yet.

        Without such words what was chosen stays, and so does what sends somebody to help.
        """
        if self.will_do and self.chosen.sends_to_help:
            return
        for text in self._admissions:
            if _words(text) not in self._earlier:
                self.chosen, self._flaw = Draft(text), 0.0
                return

    def _likeness(self, draft: Draft, words: list[str]) -> float:
        if self._told.false_claim(draft.text) or self._told.miscounts(draft.text):
            return _FALSE
        barred = self._heard if draft.sends_to_help else [*self._earlier, *self._heard]
        return max((_likeness(words, each) for each in barred), default=0.0)


@dataclass(frozen=True, slots=True)
class Way:
    """What the model is to read, and how drafts are searched for."""

    prompt: Prompt
    decode: DecodeConfig


def ways(
    translator: Translator, own: DecodeConfig, turns: Sequence[str], judge: Judge
) -> Iterator[Way]:
    """The model's own search, or the one asked for; then draws, which its seed decides, until the judge is content."""
    whole = conversation(translator, turns)
    decode = _for_drafts(translator, own, whole)
    yield Way(whole, decode)
    if own.least_probability and len(turns) > 1 and not refers_back(turns[-1]):
        last = conversation(translator, turns[-1:])
        yield Way(last, _for_drafts(translator, own, last))
    if own.least_probability and judge.send_to_help():
        return
    is_sure = judge.chosen.probability >= own.least_probability
    corrections = judge.corrections(is_sure)
    for text in corrections:
        ids = translator.target.encode(text)
        given = replace(whole, prefix=[*whole.prefix, *ids], num_given=len(ids))
        if len(given.prefix) <= decode.max_length:
            yield Way(given, replace(decode, max_length=len(given.prefix)))
    if own.least_probability and not (judge.will_do and (is_sure or corrections)):
        judge.admit()
    seed = decode.seed if decode.method == "sample" else decode.seed or 0
    for temperature in _TEMPERATURES:
        if judge.will_do:
            return
        if decode.method != "sample" or temperature > decode.temperature:
            yield Way(whole, replace(decode, method="sample", temperature=temperature, seed=seed))


def _for_drafts(translator: Translator, own: DecodeConfig, prompt: Prompt) -> DecodeConfig:
    num_pieces = own.max_length or prompt.num_default
    return replace(
        own,
        method="beam" if own.method == "greedy" else own.method,
        beam=max(own.beam, NUM_DRAFTS),
        n_best=NUM_DRAFTS,
        max_length=min(len(prompt.prefix) + num_pieces, positions(translator) - 1),
    )


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _likeness(one: list[str], other: list[str]) -> float:
    """The share of words in the same order; where lengths are too different for many, how many could be."""
    most = 2 * min(len(one), len(other)) / max(len(one) + len(other), 1)
    return most if most < _ALIKE else SequenceMatcher(None, one, other, autojunk=False).ratio()
