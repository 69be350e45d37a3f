"""Stand-ins for a model, and the documents: of every format one with everything in it that must come back."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.text.words import Link


@dataclass(frozen=True)
class Answer:
    text: str
    alignment: list[Link] | None = None


def same(texts: list[str]) -> list[Answer]:
    return [Answer(text) for text in texts]


def translator(change: Callable[[str], str]) -> Callable[[list[str]], list[Answer]]:
    return lambda texts: [Answer(change(text)) for text in texts]


# What a bad model may do to a text.
HOSTILE: dict[str, Callable[[str], str]] = {
    "backwards": lambda text: " ".join(reversed(text.split(" "))),
    "loud": str.upper,
    "silent": lambda text: "",
    "one word": lambda text: "word",
    "twice": lambda text: f"{text} {text}",
    "markup": lambda text: f"<b>& {text}</i> <x id='9'/> %s {{0}} &amp; <!-- ",
    "lines": lambda text: text.replace(" ", "\n") + "\n\n1\n00:00:01,000 --> 00:00:02,000\r\n# - ",
    "marks": lambda text: f"*_`[{text}](x)~~ \\ \" ' \u2028 \x00 \x1b",
    "letters": lambda text: re.sub(r"\w", "é", text),
}

FOLDER = Path(__file__).parent / "documents"
SUFFIXES = (".html", ".srt", ".vtt", ".po", ".xliff", ".xlf", ".tmx", ".md", ".txt")


def encoded(suffix: str) -> bytes:
    return (FOLDER / f"sample{suffix}").read_bytes()


DOCUMENTS = {suffix: encoded(suffix).decode("latin-1" if suffix == ".tmx" else "utf-8") for suffix in SUFFIXES}

# Those whose translations stand beside the source, not in its place.
BILINGUAL = (".po", ".xliff", ".xlf", ".tmx")
