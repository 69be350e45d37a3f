"""Chat: several candidates for a reply are searched, and the first acceptable one is said.

Not acceptable: no word, a loop, nearly an earlier reply, or a copy of the turn it answers.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Literal

from regard.config import DecodeConfig, GenerateConfig
from regard.decode import Constraints, Emission, StepRecord, search
from regard.errors import UsageError
from regard.folder.catalogue import directions
from regard.generate.continuation import continue_text
from regard.generate.interpreter import TranslationRequest, fixed_reply
from regard.generate.prompts import Prompt, chat_prompt, max_output, text_after
from regard.generate.safety import names_help
from regard.generate.stream import Step, TextChunk, replay, settled, stream_text, tops_of
from regard.text import is_looping
from regard.text.normalise import normalise_text
from regard.translate.pipeline import Translator

NUM_CANDIDATES = 4
_ALIKE, _LOOP, _NO_WORD = 0.8, 2.0, 3.0
"""flaws that are not acceptable: the share of words in the same order as an earlier turn, and worse"""
_ECHO_WORDS = 3  # words of the shortest turn that must not be copied: hello may answer hello
_SURER, _CERTAIN = 1.25, 0.9
"""a later reply must be 1.25 times as probable as an earlier one, or above 0.9, such as farewells and thanks"""
_UNSURE = (
    "I am not sure what to say to that.",
    "I do not know much about that.",
    "I have no good answer. I am only a small program.",
    "That is more than I know.",
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
    """The turns of a person, who speaks first, and a model. A turn that asks for a translation is a translator's."""

    def __init__(
        self,
        translator: Translator,
        decode: DecodeConfig,
        options: GenerateConfig,
        turns: Sequence[str] = (),
        load: Callable[..., Any] | None = None,
    ) -> None:
        """load: opens the installed translator between two languages; without it the chat model answers all."""
        self._translator, self._decode, self._options = translator, decode, options
        self._load, self._pairs = load, directions() if load else []
        self.turns = list(turns)
        self.translated_by = ""
        """name of the translator that gave the last reply; empty where the chat model gave it"""

    def say(self, text: str) -> str:
        """The reply to a turn; both are remembered."""
        return "".join(self.saying(text)).strip()

    def saying(self, text: str) -> Iterator[str]:
        """The reply word by word, from a model with a chat template as it is written."""
        if not text.strip():
            raise UsageError("a turn must say something: got nothing but spaces; write a word")
        reply, turns = "", [*self.turns, text]
        self.translated_by = ""
        for part in self._parts(turns):
            reply += part
            yield part
        self.turns = [*turns, reply.strip()]

    def _parts(self, turns: Sequence[str]) -> Iterator[str]:
        translator, options = self._translator, self._options
        said = fixed_reply(turns, self._pairs, options)
        if isinstance(said, TranslationRequest):
            assert self._load
            model = self._load(source_language=said.pair[0], target_language=said.pair[1])
            self.translated_by, said = model.folder.name, model.translate(said.text)
        if said is None and options.chat_template != "lines":
            return self._written(turns)
        if said is None:
            prompts, decode = reply_searches(translator, self._decode, options, turns)
            found = reply_candidates(translator, prompts, decode, [len(turns) // 2] * len(prompts))
            said = choose(turns, found, options.min_probability).text
        return iter(re.findall(r"\S+\s*", said))

    def _written(self, turns: Sequence[str]) -> Iterator[str]:
        """The reply of a model with a chat template, as it is written."""
        prompt = chat_prompt(self._translator, turns, self._options)
        limit = min(len(prompt.prefix) + (self._decode.max_length or prompt.num_default), max_output(self._translator))
        method: Literal["greedy", "sample"] = "sample" if self._decode.method == "sample" else "greedy"
        decode = replace(self._decode, method=method, n_best=1, max_length=limit)
        for chunk in continue_text(self._translator.engine, self._translator, prompt, decode, number=len(turns) // 2):
            yield chunk.text


def choose(turns: Sequence[str], found: Sequence[Sequence[ReplyCandidate]], min_probability: float) -> ReplyCandidate:
    """The reply to the last of these turns: of each search the first acceptable candidate, of these the first.

    A later search's must be more probable, and replaces none that sends to help. Where nothing is acceptable, or it is less
    probable than it must be and sends nobody to help, an unused "I am not sure" is said.
    """
    turns = [normalise_text(turn) for turn in turns]
    earlier, heard = [_words(turn) for turn in turns[-2::-2]], _words(turns[-1])
    echo = [heard] if len(heard) >= _ECHO_WORDS else []

    def flaw(candidate: ReplyCandidate) -> float:
        words = _words(candidate.text)
        if not words or is_looping(words):
            return _LOOP if words else _NO_WORD
        # A reply that sends to help may be repeated.
        barred = echo if names_help(candidate.text) else [*earlier, *echo]
        return max((_likeness(words, each) for each in barred), default=0.0)

    firsts = [next((each for each in some if flaw(each) < _ALIKE), None) for some in found]
    chosen: ReplyCandidate | None = None
    for each in filter(None, firsts):
        own = chosen.probability if chosen else 0.0
        if not chosen or (each.probability > min(_SURER * own, max(_CERTAIN, own)) and not names_help(chosen.text)):
            chosen = each
    unused = [text for text in _UNSURE if _words(text) not in earlier]
    if unused and not (chosen and (names_help(chosen.text) or chosen.probability >= min_probability)):
        return ReplyCandidate(unused[0])
    return chosen or min(itertools.chain(*found), key=flaw)


def reply_searches(
    translator: Translator, decode: DecodeConfig, options: GenerateConfig, turns: Sequence[str]
) -> tuple[list[Prompt], DecodeConfig]:
    """What is searched for a reply: the conversation, and where replies must be probable also the last turn alone."""
    read = [turns, turns[-1:]] if options.min_probability and len(turns) > 1 else [turns]
    prompts = [chat_prompt(translator, each) for each in read]
    longest = max(len(prompt.prefix) for prompt in prompts) + (decode.max_length or prompts[0].num_default)
    return prompts, replace(
        decode,
        method="beam" if decode.method == "greedy" else decode.method,
        beam=max(decode.beam, NUM_CANDIDATES),
        n_best=NUM_CANDIDATES,
        max_length=min(longest, max_output(translator)),
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


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _likeness(one: list[str], other: list[str]) -> float:
    """The share of words in the same order, or its upper bound where that is below _ALIKE."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return most if (most := matcher.real_quick_ratio()) < _ALIKE else matcher.ratio()
