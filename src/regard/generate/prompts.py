"""What a model reads before it writes: a text to continue, or the last turns of a conversation.

A chat model that regard trained reads a conversation as one line, because a line was one example in its training files.
The mark between two turns is Unicode's line separator between spaces, so that the word after it has its usual tokens. In
typed text the mark is white space, so nobody can fake a turn with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from regard.errors import UsageError
from regard.text.normalise import known_signs
from regard.text.sentences import without_emoji
from regard.translate.pipeline import Translator

REPLY_TOKENS = 128
STORY_TOKENS = 192
"""default length of an output, in tokens"""
MARK = "\u2028"
_MARKED = re.compile(f" ?{MARK} ?")
MOST_TURNS = 7
"""turns of a conversation that a chat model reads, the one to answer included"""
MOST_WORDS = 120
"""words of these turns together; the turn to answer is always read whole"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The source that an encoder reads, and the prefix that the output begins with, in token ids."""

    source: list[int]
    prefix: list[int]
    num_default: int
    """tokens to write when nobody says how many"""
    stops: tuple[str, ...] = ()
    """texts that end the output, besides those of a request"""

    @property
    def num_tokens(self) -> int:
        return len(self.source) + len(self.prefix)


def chat_prompt(translator: Translator, turns: Sequence[str]) -> Prompt:
    """The last turns that fit; the first of them loses its beginning where it is too long."""
    turns = recent(turns)
    if not translator.config.has_encoder:
        text = "\n".join([*turns, ""])
        return replace(text_prompt(translator, text, REPLY_TOKENS), stops=("\n",))
    text = "\n".join(translator.normaliser(without_emoji(turn)) for turn in turns)
    ids = translator.source.encode(to_one_line(text) if _marks_lines(translator) else text)
    room = translator.longest - 1
    return Prompt([*ids[-room:], translator.config.eos_id], [], REPLY_TOKENS)


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
    return (config.max_positions if config.position == "learned" else 1 << 16) - 1


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


def recent(turns: Sequence[str]) -> list[str]:
    """The last turns of a conversation, as many as a chat model is trained to read, each on one line."""
    kept: list[str] = []
    num_words = 0
    for turn in reversed(turns[-MOST_TURNS:]):
        words = turn.split()
        num_words += len(words)
        if kept and num_words > MOST_WORDS:
            break
        kept.append(" ".join(words))
    return kept[::-1]


def _marks_lines(translator: Translator) -> bool:
    """Whether regard trained the model on files of pairs."""
    return translator.config.has_encoder and translator.manifest.tokenizer.kind == "sentencepiece"
