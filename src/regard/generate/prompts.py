"""What a model reads before it writes: a text to continue, or the last turns of a conversation.

A chat model that regard trained reads a conversation as one line, because a line was one example in its training files.
The mark between two turns is Unicode's line separator between spaces, so that the word after it has its usual tokens. In
typed text the mark is white space, so nobody can fake a turn with it.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from regard.config import GenerateConfig
from regard.errors import UsageError
from regard.text.normalise import known_signs
from regard.text.sentences import without_emoji
from regard.translate.pipeline import Translator

REPLY_TOKENS = 128
STORY_TOKENS = 192
CHAT_TOKENS = 512  # of a chat model with a template
"""default length of an output, in tokens"""
MARK = "\u2028"
_MARKED = re.compile(f" ?{MARK} ?")
MAX_TURNS = 7  # turns of a conversation that a chat model reads where it says nothing else, the one to answer included
MAX_WORDS = 120  # words of so many turns together; the turn to answer is always read whole


@dataclass(frozen=True, slots=True)
class Prompt:
    """The source that an encoder reads, and the prefix that the output begins with, in token ids."""

    source: list[int]
    prefix: list[int]
    num_default: int  # tokens to write when nobody says how many
    stops: tuple[str, ...] = ()  # texts that end the output, besides those of a request

    @property
    def num_tokens(self) -> int:
        return len(self.source) + len(self.prefix)


def chat_prompt(translator: Translator, turns: Sequence[str], options: GenerateConfig | None = None) -> Prompt:
    """The last turns that fit; the first of them loses its beginning where it is too long."""
    options = options or translator.manifest.generate
    if options.chat_template != "lines":
        return _templated(translator, turns, options)
    if not translator.config.has_encoder:
        text = "\n".join([*recent(turns, options.num_turns), ""])
        return replace(text_prompt(translator, text, REPLY_TOKENS), stops=("\n",))
    text = "\n".join(translator.normaliser(without_emoji(turn)) for turn in recent(turns, options.num_turns))
    ids = translator.source.encode(to_one_line(text) if _marks_lines(translator) else text)
    room = translator.longest - 1
    return Prompt([*ids[-room:], translator.config.eos_id], [], REPLY_TOKENS)


def _templated(translator: Translator, turns: Sequence[str], options: GenerateConfig) -> Prompt:
    """A conversation as the model learnt to read it: marks, which no typed text can be, around what each side said."""
    own, room = translator.target, max_output(translator) - CHAT_TOKENS

    def written(first: int) -> list[int]:
        ids: list[int] = []
        for part in _PARTS[options.chat_template](options.system, turns[first:]):
            mark = own.id_of(part) if part in _MARKS else None
            ids += own.encode(part) if mark is None else [mark]
        return ids

    # The oldest pairs of turns go, where not all have room.
    found = next((ids for first in range(0, len(turns), 2) if len(ids := written(first)) <= room), None)
    return Prompt([], (found or written(len(turns) - 1))[-max(room, 1) :], CHAT_TOKENS)


def _roles(system: str, turns: Sequence[str]) -> list[tuple[str, str]]:
    told = [("system", system)] if system else []
    return told + list(zip(itertools.cycle(("user", "assistant")), turns, strict=False))


def _chatml(system: str, turns: Sequence[str]) -> Iterator[str]:
    for role, text in _roles(system, turns):
        yield from ("<|im_start|>", f"{role}\n{text}", "<|im_end|>", "\n")
    yield from ("<|im_start|>", "assistant\n")


def _llama3(system: str, turns: Sequence[str]) -> Iterator[str]:
    for role, text in [*_roles(system, turns), ("assistant", "")]:
        yield from ("<|start_header_id|>", role, "<|end_header_id|>", f"\n\n{text.strip()}")
        if text:
            yield "<|eot_id|>"


def _llama2(system: str, turns: Sequence[str]) -> Iterator[str]:
    told = f"<<SYS>>\n{system}\n<</SYS>>\n\n" if system else ""
    for number, text in enumerate(turns):
        asks = f"[INST] {told if number == 0 else ''}{text.strip()} [/INST]"
        yield from (f" {text.strip()} ", "</s>", "<s>") if number % 2 else (asks,)


_PARTS = {"chatml": _chatml, "llama2": _llama2, "llama3": _llama3}
_MARKS = {"<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<s>", "</s>"}


def text_prompt(translator: Translator, text: str, num_default: int = STORY_TOKENS) -> Prompt:
    """The end of the text, as much as leaves room for the continuation."""
    if translator.config.has_encoder:
        raise UsageError("going on with a text takes a language model: got one that reads a source; name another")
    ids = translator.target.encode(known_signs(text, translator.target))
    room = max_output(translator)
    return Prompt([], ids[-max(room - num_default, room // 2, 1) :], num_default)


def max_output(translator: Translator) -> int:
    """Tokens that an output can have, its prefix included and its end not."""
    config = translator.config
    return (config.max_positions if config.position in ("learned", "rotary") else 1 << 16) - 1


def text_of(translator: Translator, ids: Sequence[int]) -> str:
    """The output of a model, with its line marks turned into line ends."""
    text = translator.target.decode(ids)
    return to_lines(text) if _marks_lines(translator) else text


def text_after(translator: Translator, prefix: Sequence[int]) -> Callable[[Sequence[int]], str]:
    """A function from tokens to the text that they add to a prefix."""
    start = len(text_of(translator, prefix))
    return lambda ids: text_of(translator, [*prefix, *ids])[start:]


def to_one_line(text: str) -> str:
    """The lines of a text with the mark between them."""
    return f" {MARK} ".join(" ".join(line.split()) for line in text.split("\n"))


def to_lines(text: str) -> str:
    """The lines of a marked text; a space at its end may be the beginning of a mark, and is left out."""
    return _MARKED.sub("\n", text).rstrip(" ")


def recent(turns: Sequence[str], most: int = MAX_TURNS) -> list[str]:
    """The last turns of a conversation, as many as a chat model is trained to read, each on one line."""
    kept: list[str] = []
    num_words = 0
    for turn in reversed(turns[-most:]):
        words = turn.split()
        num_words += len(words)
        if kept and num_words > MAX_WORDS * most // MAX_TURNS:
            break
        kept.append(" ".join(words))
    return kept[::-1]


def _marks_lines(translator: Translator) -> bool:
    """Whether regard trained the model on files of pairs."""
    return translator.config.has_encoder and translator.manifest.tokenizer.kind == "sentencepiece"
