"""A text continued by a language model, token by token or word by word; blanks filled in by a model such as BERT."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.config import DecodeConfig
from regard.decode import Constraints, StepModel, StepRecord, stream
from regard.errors import ModelError, UsageError
from regard.generate import STORY_WORDS
from regard.generate.prompts import Prompt, max_output, text_after, text_prompt, to_lines, to_one_line
from regard.generate.stream import Step, TextChunk, stream_text, top_tokens
from regard.text.tokenizer import SPACE_MARK
from regard.translate.corpus import Load
from regard.translate.pipeline import Translator
from regard.translate.search import SearchInput, search_in_batches

_TOKENS_PER_WORD = 4  # upper bound of the mean number of tokens per word, in any language
_NEAR_THE_END = 0.85  # share of the words after which the text may end with a sentence
_WORD = re.compile(r"\s*\S+(?=\s)")
_SENTENCE_END = re.compile(r"[.!?…][\"'\u201d\u2019»)]*$")


def continue_text(
    model: StepModel,
    translator: Translator,
    prompt: Prompt,
    decode: DecodeConfig,
    *,
    number: int = 0,
    stops: Sequence[str] = (),
    num_top: int = 0,
) -> Iterator[TextChunk]:
    """A chunk for each step; num_top: most probable tokens shown with each token."""
    prefix = prompt.prefix

    def steps() -> Iterator[Step]:
        history: list[StepRecord] | None = [] if num_top else None
        given = Constraints(prefix=prefix)
        for emission in stream(model, prompt.source, decode, constraints=given, history=history, number=number):
            yield emission, top_tokens(translator.target, history[-1], 0, num_top) if history else ()
            if history:
                history.clear()

    return stream_text(translator.target, text_after(translator, prefix), steps(), (*stops, *prompt.stops))


def write(
    translator: Translator, text: str, settings: Mapping[str, Any], length: int, number: int = 0
) -> Iterator[str]:
    """The continuation word by word, at most `length` words; near the end it stops after a sentence.

    settings: changes to the model's own settings.
    """
    [prompt], decode = _prompts(translator, [text], settings, length)
    chunks = continue_text(translator.engine, translator, prompt, decode, number=number)
    return _words(chunks, length, starts_apart=text[-1:].isspace())


def write_all(
    translator: Translator, texts: Sequence[str], *, length: int = STORY_WORDS, number: int = 0, **settings: Any
) -> list[str]:
    """The continuation of each text, as `write` gives it for `number` and those after it; all are searched together."""
    prompts, decode = _prompts(translator, texts, settings, length)
    asked = [
        SearchInput([], decode, Constraints(prefix=prompt.prefix), number + place)
        for place, prompt in enumerate(prompts)
    ]
    written: list[str] = []
    for text, prompt, [best] in zip(texts, prompts, search_in_batches(translator.engine, asked), strict=True):
        start = len(prompt.prefix)  # the longest beginning decides how long all may be
        new = text_after(translator, prompt.prefix)(best.tokens[start : start + prompt.num_default])
        written.append("".join(_words(iter([TextChunk(new)]), length, starts_apart=text[-1:].isspace())))
    return written


class LineWriter:
    """A loaded model that a `Job` lets go on with lines of a file; marks stand for the line ends of a text."""

    def __init__(self, load: Load, folder: str, **opening: Any) -> None:
        self._model = load(folder, **opening)

    def translate(self, texts: list[str], **options: Any) -> list[str]:
        given = [to_lines(text) for text in texts]
        written = self._model.write_all(given, **options)
        return [to_one_line(before + after) for before, after in zip(given, written, strict=True)]


def _prompts(
    translator: Translator, texts: Sequence[str], settings: Mapping[str, Any], length: int
) -> tuple[list[Prompt], DecodeConfig]:
    """What is read of each text, and the search with room for `length` words after it."""
    decode, _ = translator.manifest.generate_with({"method": "sample", **settings}, unsampled="greedy")
    room = max_output(translator)
    if not 1 <= length < room:
        raise UsageError(f"length must be from 1 to {room - 1}, as the model has room for: got {length}; give another")
    num_tokens = min(_TOKENS_PER_WORD * length, max(room // 2, length), decode.max_length or room)
    prompts = [text_prompt(translator, text, num_tokens) for text in texts]
    longest = max((len(each.prefix) for each in prompts), default=0)
    return prompts, replace(decode, n_best=1, max_length=min(longest + num_tokens, room))


def _words(chunks: Iterator[TextChunk], length: int, *, starts_apart: bool) -> Iterator[str]:
    waiting, count = "", 0
    for chunk in chunks:
        waiting += chunk.text
        if starts_apart and count == 0:
            waiting = waiting.lstrip(" ")
        while match := _WORD.match(waiting):
            yield match[0]
            waiting = waiting[match.end() :]
            count += 1
            if count == length or (count >= _NEAR_THE_END * length and _SENTENCE_END.search(match[0])):
                return
    if waiting.strip():
        yield waiting


@dataclass(frozen=True, slots=True)
class Choice:
    """A word for a blank."""

    word: str
    probability: float
    text: str  # the text with the word in its place; other blanks stay


def fill(translator: Translator, text: str, count: int) -> list[list[Choice]]:
    """The most probable words for each blank, best first."""
    tokenizer, config, mask = translator.source, translator.config, translator.manifest.tokenizer.mask
    if count < 1:
        raise UsageError(f"n_best must be at least 1: got {count}; give a larger one")
    if not mask:
        raise ModelError("the model must have a token that stands for a blank: it has none")
    parts = text.split(mask)
    if len(parts) == 1:
        raise UsageError(f"a text to fill must have a blank, written {mask}: got {text!r}")
    ids = translator.source_ids(text)
    if config.position == "learned" and len(ids) > config.max_positions:
        raise UsageError(
            f"a text to fill must have at most {config.max_positions} tokens: got {len(ids)}; give a part of it"
        )
    engine: Any = translator.engine
    places = [place for place, id in enumerate(ids) if id == tokenizer.id_of(mask)]
    values = engine.log_probabilities(ids, places)  # [places, vocabulary]
    values[:, sorted(tokenizer.special_ids)] = -np.inf
    found = []
    for number, row in enumerate(values, start=1):
        best = np.argsort(-row, kind="stable")[:count].tolist()
        before, after = mask.join(parts[:number]), mask.join(parts[number:])
        words = [token.replace(SPACE_MARK, "") for token in tokenizer.token_strings(best)]
        pairs = zip(words, np.exp(row[best]).tolist(), strict=True)
        found.append([Choice(word, share, before + word + after) for word, share in pairs])
    return found
