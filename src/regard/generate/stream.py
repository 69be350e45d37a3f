"""Tokens become text while they arrive: what of it is final, and where it stops."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from regard.decode import Emission, Hypothesis, StepRecord
from regard.text.tokenizer import SPACE_MARK, TokenizerBase

TopTokens = tuple[tuple[str, float], ...]  # the most probable tokens of a step, with their log-probabilities
Step = tuple[Emission, TopTokens]
_INCOMPLETE = "\ufffd"  # character that a tokenizer writes for incomplete bytes


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
    finish: str | None = None  # stop or length


def settled(text: str, stops: Sequence[str]) -> tuple[int, bool]:
    """How many characters of a growing text are final, and whether a stop text ends it there.

    What may still change, or be the beginning of a stop text, is not final.
    """
    if places := [text.index(stop) for stop in stops if stop and stop in text]:
        return min(places), True
    end = len(text.rstrip(_INCOMPLETE))
    for stop in stops:
        beginnings = (stop[:length] for length in range(min(len(stop) - 1, end), 0, -1))
        end -= next((len(each) for each in beginnings if text.endswith(each, 0, end)), 0)
    return end, False


def stream_text(
    tokenizer: TokenizerBase, decode: Callable[[Sequence[int]], str], steps: Iterable[Step], stops: Sequence[str]
) -> Iterator[TextChunk]:
    """A chunk for each step; `decode` turns all tokens so far into text."""
    ids: list[int] = []
    text, num_given = "", 0
    for emission, top in steps:
        if emission.stop is not None or emission.token is None:
            yield TextChunk(text[num_given:], (), "stop" if emission.stop == "end" else "length")
            return
        ids.append(emission.token)
        text = decode(ids)
        end, is_stopped = settled(text, stops)
        new = text[num_given:end]
        num_given += len(new)
        [token] = _shown(tokenizer, [emission.token])
        written = WrittenToken(token, emission.log_probability, top)
        yield TextChunk(new, (written,), "stop" if is_stopped else None)
        if is_stopped:
            return


def top_tokens(tokenizer: TokenizerBase, record: StepRecord, row: int, count: int) -> TopTokens:
    tokens, probabilities = record.top_tokens[row][:count], record.top_probabilities[row][:count]
    shown = _shown(tokenizer, tokens)
    return tuple((token, math.log(max(p, 1e-300))) for token, p in zip(shown, probabilities, strict=True))


def tops_of(tokenizer: TokenizerBase, history: Sequence[StepRecord], count: int) -> dict[tuple[int, ...], TopTokens]:
    """The top tokens of every step of a search, by (source, *tokens so far)."""
    return {
        (source, *tokens): top_tokens(tokenizer, record, row, count)
        for record in history
        for row, (source, tokens) in enumerate(zip(record.sources, record.beams, strict=True))
    }


def replay(found: Hypothesis, start: int, tops: Mapping[tuple[int, ...], TopTokens], source: int = 0) -> list[Step]:
    """The steps in which a finished output was written, from token `start` on."""
    emissions = list(map(Emission, found.tokens, found.token_log_probabilities))
    tokens = found.tokens
    return [(emissions[i], tops.get((source, *tokens[:i]), ())) for i in range(start, len(emissions))]


def _shown(tokenizer: TokenizerBase, ids: Sequence[int]) -> list[str]:
    return [token.replace(SPACE_MARK, " ") for token in tokenizer.token_strings(ids)]
