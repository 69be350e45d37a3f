"""Tokens become text while they arrive: what of it is final, and where it stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from regard.decode import Emission, Hypothesis, StepRecord
from regard.text.tokenizer import TokenizerBase

TopTokens = tuple[tuple[str, float], ...]
"""the most probable tokens of a step, with their log-probabilities"""
Step = tuple[Emission, TopTokens]
_SPACE_MARK = "\u2581"
_INCOMPLETE = "\ufffd"
"""what a tokenizer writes for a character whose bytes are not all there yet"""


@dataclass(frozen=True, slots=True)
class WrittenToken:
    text: str
    log_probability: float
    top: TopTokens = ()


@dataclass(frozen=True, slots=True)
class TextChunk:
    """The next part of a text; the last chunk says why the text ends."""

    text: str
    tokens: tuple[WrittenToken, ...] = ()
    finish: str | None = None
    """stop or length"""


class StreamDecoder:
    """Gives out a growing text without what may still change or be the beginning of a stop text."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._text = ""
        self._num_given = 0
        self.is_stopped = False

    def push(self, text: str) -> str:
        """The new part that is final, given the whole text so far."""
        self._text = text
        found = [text.find(stop) for stop in self._stops]
        if places := [place for place in found if place >= 0]:
            self.is_stopped = True
            self._text = text[: min(places)]
            return self.flush()
        end = len(text.rstrip(_INCOMPLETE))
        for stop in self._stops:
            for length in range(min(len(stop) - 1, end), 0, -1):
                if text.endswith(stop[:length], 0, end):
                    end -= length
                    break
        return self._give(end)

    def flush(self) -> str:
        """Everything that was held back."""
        return self._give(len(self._text))

    def whole(self, text: str) -> str:
        """A finished text up to its first stop."""
        return self.push(text) + self.flush()

    def _give(self, end: int) -> str:
        new = self._text[self._num_given : max(end, self._num_given)]
        self._num_given += len(new)
        return new


def stream_text(
    tokenizer: TokenizerBase,
    decode: Callable[[Sequence[int]], str],
    steps: Iterable[Step | None],
    stops: Sequence[str],
) -> Iterator[TextChunk]:
    """A chunk for each step, an empty one where a step has no token yet; `decode` turns all tokens so far into text."""
    ids: list[int] = []
    text = StreamDecoder(stops)
    for step in steps:
        if step is None:
            yield TextChunk("")
            continue
        emission, top = step
        if emission.stop is not None or emission.token is None:
            yield TextChunk(text.flush(), (), "stop" if emission.stop == "end" else "length")
            return
        ids.append(emission.token)
        [token] = _shown(tokenizer, [emission.token])
        new = text.push(decode(ids))
        finish = "stop" if text.is_stopped else None
        yield TextChunk(new, (WrittenToken(token, emission.log_probability, top),), finish)
        if text.is_stopped:
            return


def top_tokens(tokenizer: TokenizerBase, record: StepRecord, row: int, count: int) -> TopTokens:
    tokens, probabilities = record.top_tokens[row][:count], record.top_probabilities[row][:count]
    shown = _shown(tokenizer, tokens)
    return tuple(
        (token, math.log(max(p, 1e-300))) for token, p in zip(shown, probabilities, strict=True)
    )


def tops_of(
    tokenizer: TokenizerBase, history: Sequence[StepRecord], count: int
) -> dict[tuple[int, ...], TopTokens]:
    """The top tokens of every step of a search, by (source, *tokens so far)."""
    return {
        (source, *tokens): top_tokens(tokenizer, record, row, count)
        for record in history
        for row, (source, tokens) in enumerate(zip(record.sources, record.beams, strict=True))
    }


def replay(
    found: Hypothesis, start: int, tops: Mapping[tuple[int, ...], TopTokens], source: int = 0
) -> list[Step]:
    """The steps in which a finished output was written, from token `start` on."""
    return [
        (Emission(token, value), tops.get((source, *found.tokens[:place]), ()))
        for place, (token, value) in enumerate(
            zip(found.tokens, found.token_log_probabilities, strict=False)
        )
        if place >= start
    ]


def _shown(tokenizer: TokenizerBase, ids: Sequence[int]) -> list[str]:
    return [token.replace(_SPACE_MARK, " ") for token in tokenizer.token_strings(ids)]
