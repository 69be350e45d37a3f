"""Texts that a model goes on with or answers with, piece by piece.

A chat model reads the conversation, a turn a line, as far back as it was trained to read. A language model goes on
from the text it is given, of a long one from its end. To a
chat model that regard has trained on files of pairs the end of a turn is a mark (`text.one_line`), for there a
conversation stood on one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from regard.config import DecodeConfig
from regard.decode import (
    Constraints,
    Emission,
    HoldingOn,
    Hypothesis,
    StepModel,
    StepRecord,
    stream,
)
from regard.errors import UsageError
from regard.generate.attempts import surest
from regard.generate.growing import GrowingText
from regard.generate.one_line import recent, to_lines, to_one_line
from regard.text.alphabet import in_known_signs
from regard.text.emoji import in_words
from regard.text.tokenizer_base import TokenizerBase
from regard.translate.translator import Translator

REPLY_TOKENS = 128
STORY_TOKENS = 192
"""pieces that are written when nobody says how many"""
STORY_WORDS = 120
"""words of a story, likewise"""

_PIECES_PER_WORD = 4
"""more than words of any language have on average: a bound for what has no words"""
_NEAR_THE_END = 0.85
"""of a story's words: from here on it may end with a sentence"""
_WORD = re.compile(r"\s*\S+(?=\s)")
_SENTENCE_END = re.compile(r"[.!?…][\"'\u201d\u2019»)]*$")


Top = tuple[tuple[str, float], ...]
"""the most probable pieces at a place, with their log-probabilities"""


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    log_probability: float
    top: Top = ()


@dataclass(frozen=True, slots=True)
class Written:
    """Some more of a text."""

    text: str
    tokens: tuple[Token, ...] = ()
    finish: str | None = None
    """stop or length, with the last"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads, and what its output begins with."""

    source: list[int]
    prefix: list[int]
    num_default: int
    stops: tuple[str, ...] = ()
    """what ends the text besides what a request names"""
    num_given: int = 0
    """pieces at the end of the prefix that belong to what is written"""

    @property
    def before(self) -> list[int]:
        """What is written comes after these."""
        return self.prefix[: len(self.prefix) - self.num_given]

    @property
    def num_tokens(self) -> int:
        return len(self.source) + len(self.prefix)


def conversation(translator: Translator, turns: Sequence[str]) -> Prompt:
    """The turns as a chat model reads them: the last ones that fit, the first of them cut at its beginning."""
    turns = recent(turns)
    if translator.config.has_encoder:
        text = "\n".join(translator.as_read(in_words(turn)) for turn in turns)
        ids = translator.source.encode(_as_trained(translator, text))
        room = translator.longest - 1
        return Prompt([*ids[-room:], translator.config.eos_id], [], REPLY_TOKENS)
    text = "\n".join([*turns, ""])
    return replace(beginning(translator, text, REPLY_TOKENS), stops=("\n",))


def beginning(translator: Translator, text: str, num_default: int = STORY_TOKENS) -> Prompt:
    """The text that a language model goes on from; of a long one its end."""
    if translator.config.has_encoder:
        raise UsageError(
            "going on with a text takes a language model: got one that reads a source; name another"
        )
    ids = translator.target.encode(in_known_signs(text, translator.target))
    room = positions(translator) - 1
    return Prompt([], ids[-max(room - num_default, room // 2, 1) :], num_default)


def positions(translator: Translator) -> int:
    """How many pieces an output can have."""
    config = translator.config
    return config.max_positions if config.position == "learned" else 1 << 16


def text_of(translator: Translator, ids: Sequence[int]) -> str:
    """What a model has written, as it is read."""
    text = translator.target.decode(ids)
    return to_lines(text) if _marks_lines(translator) else text


def reader_after(translator: Translator, prefix: Sequence[int]) -> Callable[[Sequence[int]], str]:
    """What some pieces add to the text of a prefix."""
    start = len(text_of(translator, prefix))
    return lambda ids: text_of(translator, [*prefix, *ids])[start:]


def follow(
    model: StepModel,
    translator: Translator,
    prompt: Prompt,
    decode: DecodeConfig,
    *,
    number: int = 0,
    stops: Sequence[str] = (),
    num_top: int = 0,
) -> Iterator[Written]:
    """A piece a step, and the text that is sure by then; num_top: pieces shown beside each."""
    config, prefix = translator.config, prompt.prefix
    if decode.method == "sample" and decode.prompt_strength and prefix:
        model = HoldingOn(model, len(prefix), decode.prompt_strength, bos_id=config.bos_id)
    several = decode.method == "sample" and decode.attempts > 1 and prefix
    pieces = _attempted if several and not config.has_encoder else _one_way
    return as_written(
        translator,
        reader_after(translator, prefix),
        pieces(model, translator, prompt.source, prefix, decode, number, num_top),
        (*stops, *prompt.stops),
    )


def _one_way(
    model: StepModel,
    translator: Translator,
    source: Sequence[int],
    prefix: Sequence[int],
    decode: DecodeConfig,
    number: int,
    num_top: int,
    num_given: int | None = None,
) -> Iterator[tuple[Emission, Top]]:
    config = translator.config
    history: list[StepRecord] | None = [] if num_top else None
    emissions = stream(
        model,
        source,
        decode,
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        constraints=Constraints(prefix=list(prefix)) if prefix else None,
        history=history,
        number=number,
        num_given=num_given,
    )
    for emission in emissions:
        top: Top = ()
        if history:
            top = top_of(translator.target, history[-1], 0, num_top)
            history.clear()
        yield emission, top


def _attempted(
    model: StepModel,
    translator: Translator,
    source: Sequence[int],
    prefix: Sequence[int],
    decode: DecodeConfig,
    number: int,
    num_top: int,
) -> Iterator[tuple[Emission, Top] | None]:
    """The same from the surest of several attempts on; while these are made, nothing a step."""
    history: list[StepRecord] | None = [] if num_top else None
    chosen: Hypothesis | None = None
    for chosen in surest(model, translator, prefix, decode, history=history, number=number):
        if chosen is None:
            yield None
    assert chosen is not None
    tops = {
        tuple(beam): top_of(translator.target, record, row, num_top)
        for record in history or ()
        for row, beam in enumerate(record.beams)
    }
    tokens = chosen.tokens
    for place in range(len(prefix), len(tokens)):
        value = chosen.token_log_probabilities[place]
        yield Emission(tokens[place], value), tops.get(tuple(tokens[:place]), ())
    if chosen.stop == "end" or len(tokens) >= decode.max_length > 0:
        yield Emission(None, 0.0, chosen.stop), ()
        return
    yield from _one_way(
        model, translator, source, tokens, decode, number, num_top, num_given=len(prefix)
    )


def as_written(
    translator: Translator,
    read: Callable[[Sequence[int]], str],
    pieces: Iterable[tuple[Emission, Top] | None],
    stops: Sequence[str],
) -> Iterator[Written]:
    """TokenizerBase with the text that is sure by each of them, none where there is none yet; `read` says which text some are."""
    ids: list[int] = []
    text = GrowingText("", stops)
    for piece in pieces:
        if piece is None:
            yield Written("")
            continue
        emission, top = piece
        if emission.stop is not None or emission.token is None:
            yield Written(text.rest(), (), "stop" if emission.stop == "end" else "length")
            return
        ids.append(emission.token)
        [piece_text] = translator.target.token_strings([emission.token])
        new = text.grow(read(ids))
        token = Token(piece_text.replace("\u2581", " "), emission.log_probability, top)
        if text.is_stopped:
            yield Written(new, (token,), "stop")
            return
        yield Written(new, (token,))


def write(
    translator: Translator, text: str, decode: DecodeConfig, length: int, number: int = 0
) -> Iterator[str]:
    """What follows the text, word by word, at most `length` words; with its end near, it ends with a sentence."""
    if length < 1:
        raise UsageError(f"length must be at least 1: got {length}; leave it out for the usual one")
    room = positions(translator) - 1
    if length >= room:
        raise UsageError(
            f"length must be below {room}, for the model has {room + 1} positions: got {length}; "
            "give a smaller one"
        )
    num_pieces = min(_PIECES_PER_WORD * length, max(room // 2, length))
    if decode.max_length:
        num_pieces = min(num_pieces, decode.max_length)
    prompt = beginning(translator, text, num_pieces)
    limit = min(len(prompt.prefix) + num_pieces, room)
    decode = replace(decode, n_best=1, max_length=limit)
    written = follow(translator.engine, translator, prompt, decode, number=number)
    return _words(written, length, starts_apart=text[-1:].isspace())


def _words(parts: Iterator[Written], length: int, *, starts_apart: bool) -> Iterator[str]:
    waiting, count = "", 0
    for part in parts:
        waiting += part.text
        if starts_apart and count == 0:
            waiting = waiting.lstrip(" ")
        while match := _WORD.match(waiting):
            yield match[0]
            waiting = waiting[match.end() :]
            count += 1
            if count == length:
                return
            if count >= _NEAR_THE_END * length and _SENTENCE_END.search(match[0]):
                return
    if waiting.strip():
        yield waiting


def _marks_lines(translator: Translator) -> bool:
    """Whether a model was trained on files of pairs, by regard."""
    return translator.config.has_encoder and translator.manifest.tokenizer.kind == "sentencepiece"


def _as_trained(translator: Translator, text: str) -> str:
    return to_one_line(text) if _marks_lines(translator) else text


def top_of(target: TokenizerBase, record: StepRecord, row: int, count: int) -> Top:
    tokens, probabilities = record.top_tokens[row][:count], record.top_probabilities[row][:count]
    pieces = [piece.replace("\u2581", " ") for piece in target.token_strings(tokens)]
    return tuple(
        (piece, math.log(max(p, 1e-300))) for piece, p in zip(pieces, probabilities, strict=True)
    )
