"""Replies that could be given: several are searched for at a time, and the one that is chosen is said piece by piece."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from regard.config import DecodeConfig
from regard.decode import Constraints, Emission, Hypothesis, StepRecord, search
from regard.generate.growing import GrowingText
from regard.generate.writing import Prompt, Top, Written, as_written, reader_after, top_of
from regard.translate.translator import Translator

_HELP = re.compile(
    r"\b(?:crisis line|help ?line|emergency number|ambulance|fire brigade|call the police)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be replied: one line."""

    text: str
    pieces: tuple[tuple[Emission, Top], ...] = ()
    """as the model has found them, and what else it found probable, where that was asked"""
    prefix: tuple[int, ...] = ()
    """what they come after"""

    @property
    def probability(self) -> float:
        """Of a piece, in the geometric mean: how sure the model is of all of it."""
        found = [each.log_probability for each, _ in self.pieces if each.token is not None]
        return math.exp(sum(found) / len(found)) if found else 0.0

    @property
    def sends_to_help(self) -> bool:
        """Who is in danger must get no lighter word for asking twice."""
        return bool(_HELP.search(self.text))


def drafts(
    translator: Translator,
    prompts: Sequence[Prompt],
    decode: DecodeConfig,
    numbers: Sequence[int],
    num_top: int = 0,
) -> list[list[Draft]]:
    """For each conversation some replies, best first; all are searched together."""
    config = translator.config
    history: list[StepRecord] | None = [] if num_top else None
    found = search(
        translator.engine,
        [prompt.source for prompt in prompts],
        decode,
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        constraints=[Constraints(prefix=prompt.prefix) for prompt in prompts],
        history=history,
        numbers=numbers,
    )
    seen = {
        (place, *beam): top_of(translator.target, record, row, num_top)
        for record in history or ()
        for row, (place, beam) in enumerate(zip(record.sources, record.beams, strict=True))
    }
    return [
        [
            _draft(
                each,
                prompt,
                reader_after(translator, prompt.before),
                lambda tokens, place=place: seen.get((place, *tokens), ()),  # type: ignore[misc]
            )
            for each in hypotheses
        ]
        for place, (prompt, hypotheses) in enumerate(zip(prompts, found, strict=True))
    ]


def said(translator: Translator, draft: Draft, stops: Sequence[str]) -> Iterator[Written]:
    """The reply piece by piece, up to a stop."""
    if not draft.pieces:
        whole = GrowingText("", stops)
        return iter([Written(whole.grow(draft.text) + whole.rest(), (), "stop")])
    read = reader_after(translator, draft.prefix)
    return as_written(translator, lambda ids: _line(read(ids)), draft.pieces, stops)


def _draft(
    found: Hypothesis,
    prompt: Prompt,
    read: Callable[[Sequence[int]], str],
    top: Callable[[Sequence[int]], Top],
) -> Draft:
    """An output from where the prefix ends to the end of its first line."""
    prefix, tokens = prompt.before, found.tokens
    # What was given is all of the reply.
    stop = "end" if prompt.num_given else found.stop
    start = len(prefix)
    ends = range(start, len(tokens) + 1)
    end = ends[-1]
    if _is_over(read(tokens[start:])):
        place = bisect_left(ends, True, key=lambda each: _is_over(read(tokens[start:each])))
        stop, end = "end", ends[place]
    pieces = [
        (Emission(tokens[place], found.token_log_probabilities[place]), top(tokens[:place]))
        for place in range(start, end)
    ]
    end_of_it = (Emission(None, 0.0, stop), ())
    return Draft(_line(read(tokens[start:end])), (*pieces, end_of_it), tuple(prefix))


def _line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _is_over(text: str) -> bool:
    return "\n" in text.strip()
