"""Chat: several candidates for a reply are searched, and the first acceptable one is said.

Not acceptable: no word, a loop, nearly an earlier reply, or a copy of the turn it answers.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from regard.config import DecodeConfig, GenerateConfig
from regard.decode import Constraints, Emission, StepRecord, search
from regard.errors import UsageError
from regard.generate.continuation import continue_text
from regard.generate.prompts import Prompt, chat_prompt, max_output, text_after
from regard.generate.safety import names_help, reply_to_danger
from regard.generate.stream import Step, TextChunk, replay, settled, stream_text, tops_of
from regard.text import is_looping
from regard.text.normalise import normalise_text
from regard.translate.pipeline import Translator

NUM_CANDIDATES = 4
_TEMPERATURES = (0.8, 1.0, 1.2)  # temperatures of further rounds, where no candidate is acceptable
_ALIKE, _LOOP, _NO_WORD = 0.8, 2.0, 3.0
"""flaws that are not acceptable: the share of words in the same order as an earlier turn, and worse"""
_ECHO_WORDS = 3  # words of the shortest turn that must not be copied: hello may answer hello
_SURER, _CERTAIN = 1.25, 0.9
"""a later reply must be 1.25 times as probable as an earlier one, or above 0.9, such as farewells and thanks"""
_TRUSTED = 0.8  # probability from which a model's own reply to words of danger is said
_SURE_OF_DANGER, _LESS_FOR_EACH = 0.8, 0.1
"""probability needed to send somebody to help, and how much less for each other candidate that does"""
_SPEECHLESS = "I don't know what to say to that."
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


@dataclass(frozen=True, slots=True)
class ReplyCandidate:
    """One line that could be the reply."""

    text: str
    steps: tuple[Step, ...] = ()
    prefix: tuple[int, ...] = ()

    @property
    def probability(self) -> float:
        """The geometric mean over its tokens."""
        found = [each.log_probability for each, _ in self.steps if each.token is not None]
        return math.exp(sum(found) / len(found)) if found else 0.0


class Conversation:
    """The turns of a person, who speaks first, and a model."""

    def __init__(
        self, translator: Translator, decode: DecodeConfig, options: GenerateConfig, turns: Sequence[str] = ()
    ) -> None:
        self._translator, self._decode, self._options = translator, decode, options
        self.turns = list(turns)

    def say(self, text: str) -> str:
        """The reply to a turn; both are remembered."""
        return "".join(self.saying(text)).strip()

    def _chosen(self, text: str) -> str:
        """The best of several candidates."""
        turns = [*self.turns, text]
        judge = Judge(turns)
        for prompt, decode in search_plan(self._translator, self._decode, self._options, turns, judge):
            judge.consider(*reply_candidates(self._translator, [prompt], decode, [len(turns) // 2]))
        self.turns = [*turns, judge.chosen.text]
        return judge.chosen.text

    def saying(self, text: str) -> Iterator[str]:
        """The reply word by word, from a model with a chat template as it is written."""
        if not text.strip():
            raise UsageError("a turn must say something: got nothing but spaces; write a word")
        if self._options.chat_template == "lines":
            yield from re.findall(r"\S+\s*", self._chosen(text))
            return
        reply, turns = "", [*self.turns, text]
        for chunk in written_reply(self._translator, turns, self._decode, self._options):
            reply += chunk.text
            yield chunk.text
        self.turns = [*turns, reply.strip()]


def written_reply(
    translator: Translator, turns: Sequence[str], decode: DecodeConfig, options: GenerateConfig
) -> Iterator[TextChunk]:
    """The reply of a model with a chat template, as it is written; words of danger are answered with where to find help."""
    if danger := reply_to_danger(turns[-1]):
        return iter([TextChunk(danger, (), "stop")])
    prompt = chat_prompt(translator, turns, options)
    limit = min(len(prompt.prefix) + (decode.max_length or prompt.num_default), max_output(translator))
    method: Literal["greedy", "sample"] = "sample" if decode.method == "sample" else "greedy"
    decode = replace(decode, method=method, n_best=1, max_length=limit)
    return continue_text(translator.engine, translator, prompt, decode, number=len(turns) // 2)


class Judge:
    """Chooses among candidates for the reply to the last of these turns."""

    def __init__(self, turns: Sequence[str]) -> None:
        turns = [normalise_text(turn) for turn in turns]
        self._earlier = [_words(turn) for turn in turns[-2::-2]]
        heard = _words(turns[-1])
        self._heard = [heard] if len(heard) >= _ECHO_WORDS else []
        self._help = reply_to_danger(turns[-1])
        self._unsure = _UNSURE_ANSWERS if "?" in turns[-1] else _UNSURE_REMARKS
        self.chosen = ReplyCandidate(_SPEECHLESS)
        self._flaw = _NO_WORD

    @property
    def will_do(self) -> bool:
        return self._flaw < _ALIKE

    def consider(self, candidates: Sequence[ReplyCandidate]) -> None:
        """Take the first acceptable candidate, unless an earlier one is nearly as probable or sends to help."""
        for each in _without_false_alarms(candidates):
            flaw, own = self._flaw_of(each.text), self.chosen.probability
            if not self.will_do:
                is_better = flaw < self._flaw
            else:
                is_surer = each.probability > min(_SURER * own, max(_CERTAIN, own))
                is_better = flaw < _ALIKE and is_surer and not names_help(self.chosen.text)
            if is_better:
                self.chosen, self._flaw = each, flaw
            if flaw < _ALIKE:
                return

    def fall_back(self, min_probability: float) -> None:
        """Say where to find help, to somebody in danger, and of an improbable reply an unused "I am not sure"."""
        chosen = self.chosen
        if self.will_do and names_help(chosen.text):
            return
        unused = [text for text in self._unsure if _words(text) not in self._earlier]
        if self._help is not None and not (self.will_do and chosen.probability >= _TRUSTED):
            self.chosen, self._flaw = ReplyCandidate(self._help), 0.0
        elif unused and not (self.will_do and chosen.probability >= min_probability):
            self.chosen, self._flaw = ReplyCandidate(unused[0]), 0.0

    def _flaw_of(self, text: str) -> float:
        words = _words(text)
        if not words or is_looping(words):
            return _LOOP if words else _NO_WORD
        # A reply that sends to help may be repeated.
        barred = self._heard if names_help(text) else [*self._earlier, *self._heard]
        return max((_likeness(words, each) for each in barred), default=0.0)


def search_plan(
    translator: Translator, decode: DecodeConfig, options: GenerateConfig, turns: Sequence[str], judge: Judge
) -> Iterator[tuple[Prompt, DecodeConfig]]:
    """The searches to run, one after another, until the judge is content with what they find."""
    prompt, wide = _first_search(translator, decode, turns)
    yield prompt, wide
    if options.min_probability:
        if len(turns) > 1:
            yield _first_search(translator, decode, turns[-1:])
        judge.fall_back(options.min_probability)
    is_sampled = decode.method == "sample"
    seed = decode.seed if is_sampled else decode.seed or 0
    for temperature in _TEMPERATURES:
        if judge.will_do:
            return
        if not is_sampled or temperature > decode.temperature:
            yield prompt, replace(wide, method="sample", temperature=temperature, seed=seed)


def _first_search(translator: Translator, decode: DecodeConfig, turns: Sequence[str]) -> tuple[Prompt, DecodeConfig]:
    prompt = chat_prompt(translator, turns)
    num_tokens = len(prompt.prefix) + (decode.max_length or prompt.num_default)
    return prompt, replace(
        decode,
        method="beam" if decode.method == "greedy" else decode.method,
        beam=max(decode.beam, NUM_CANDIDATES),
        n_best=NUM_CANDIDATES,
        max_length=min(num_tokens, max_output(translator)),
    )


def reply_candidates(
    translator: Translator, prompts: Sequence[Prompt], decode: DecodeConfig, numbers: Sequence[int], num_top: int = 0
) -> list[list[ReplyCandidate]]:
    """Candidates for each prompt, best first, all searched together; each ends at its first line end."""
    history: list[StepRecord] | None = [] if num_top else None
    sources, given = [each.source for each in prompts], [Constraints(prefix=each.prefix) for each in prompts]
    found = search(translator.engine, sources, decode, constraints=given, history=history, numbers=numbers)
    tops = tops_of(translator.target, history or (), num_top)
    results: list[list[ReplyCandidate]] = []
    for place, (prompt, hypotheses) in enumerate(zip(prompts, found, strict=True)):
        start, read = len(prompt.prefix), text_after(translator, prompt.prefix)
        results.append([])
        for each in hypotheses:
            own, stop = each.tokens[start:], each.stop
            ends = (end for end in range(len(own) + 1) if "\n" in read(own[:end]).strip())
            if (end := next(ends, None)) is not None:
                own, stop = own[:end], "end"
            steps = [*replay(each, start, tops, place)[: len(own)], (Emission(None, 0.0, stop), ())]
            results[-1].append(ReplyCandidate(_first_line(read(own)), tuple(steps), tuple(prompt.prefix)))
    return results


def stream_reply(translator: Translator, reply: ReplyCandidate, stops: Sequence[str]) -> Iterator[TextChunk]:
    """The reply token by token, up to a stop text."""
    if not reply.steps:
        end, is_stopped = settled(reply.text, stops)
        return iter([TextChunk(reply.text[:end] if is_stopped else reply.text, (), "stop")])
    read = text_after(translator, reply.prefix)
    return stream_text(translator.target, lambda ids: _first_line(read(ids)), reply.steps, stops)


def _without_false_alarms(replies: Sequence[ReplyCandidate]) -> list[ReplyCandidate]:
    """The replies without improbable ones that send to help; where most do, these come first."""
    num_helping = sum(names_help(reply.text) for reply in replies)
    if num_helping > len(replies) / 2:
        replies = sorted(replies, key=lambda reply: not names_help(reply.text))
    needed = _SURE_OF_DANGER - _LESS_FOR_EACH * (num_helping - 1)
    return [each for each in replies if not names_help(each.text) or each.probability >= needed]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _likeness(one: list[str], other: list[str]) -> float:
    """The share of words in the same order, or its upper bound where that is below _ALIKE."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return most if (most := matcher.real_quick_ratio()) < _ALIKE else matcher.ratio()
