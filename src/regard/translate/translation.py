"""What a translation is: a text, its sentences, their candidates, and what a user should know of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.text.sentences import Parts
from regard.text.word_alignment import Link


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to translate a sentence."""

    text: str
    tokens: list[str]
    """without beginning and end"""
    score: float
    """what candidates are ranked by: the log-probability after length and coverage penalty"""
    log_probability: float
    token_log_probabilities: list[float]
    """one for each piece, and one more for the end where the model ended"""
    stop: str
    """end, or length: the candidate was cut at the limit"""
    alignment: list[Link] | None = None
    """which word became which, from where to where in the sentence and in this text; where it is asked for"""


FLAGS = {
    "cut": "sentence(s) of more than {longest} pieces, the most the model was trained for, were cut and "
    "translated in parts",
    "copied": "word(s) of more than {longest} pieces were copied, not translated",
    "repetition": "translation(s) went round in circles and were searched again without repetition",
    "length": "translation(s) were cut at the limit of their length",
    "glossary": "translation(s) lack a word that the glossary asks for",
    "parts": "sentence(s) were translated in parts, around what had to come back letter for letter",
    "lost": "translation(s) lack an address, a placeholder or the like that should have come back letter for letter",
}
"""what a user should know of a sentence, and how a warning says it"""

_NUM_SHOWN = 40
_MOST_NAMES = 5
"""texts that a warning names, and letters that it shows of one that has no name"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of the text that was translated as one, and its candidates, best first."""

    source: str
    candidates: list[Candidate]
    flags: list[str] = field(default_factory=list)
    """some of FLAGS; empty where nothing is wrong"""
    source_start: int = 0
    """where it stands in the source"""
    start: int = 0
    """where its best candidate stands in the text"""


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated text, with everything the search knows about it."""

    source: str
    text: str
    alternatives: list[str]
    """the whole text n_best times: of each sentence the best candidate, then the second, and so on;
    fewer where the search finds no more that differ"""
    sentences: list[Sentence]

    @property
    def alignment(self) -> list[Link] | None:
        """Which word of the source became which word of the text; None where it was not asked for."""
        links: list[Link] = []
        for sentence in self.sentences:
            found = sentence.candidates[0].alignment
            if found is None:
                return None
            links += [
                Link(
                    _moved(link.source, sentence.source_start),
                    _moved(link.target, sentence.start),
                    link.weight,
                )
                for link in found
            ]
        return links

    @property
    def in_parts(self) -> bool:
        """Whether a sentence had to be cut to keep something letter for letter."""
        return any("parts" in sentence.flags for sentence in self.sentences)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def copied(sentence: str) -> Sentence:
    whole = (0, len(sentence))
    candidate = Candidate(sentence, [], 0.0, 0.0, [], "end", [Link(whole, whole, 1.0)])
    return Sentence(sentence, [candidate], ["copied"])


_NO_SENTENCE = tuple("0123456789$£€¥%)")


def without_added_stop(sentence: Sentence) -> Sentence:
    """Of a label that ends in a number, such as a price, a model may make a sentence: the full stop is taken away."""
    if not sentence.source.endswith(_NO_SENTENCE):
        return sentence
    return replace(sentence, candidates=[_without_stop(each) for each in sentence.candidates])


def _without_stop(candidate: Candidate) -> Candidate:
    text = candidate.text.removesuffix(".")
    if text == candidate.text or not text.endswith(_NO_SENTENCE):
        return candidate
    pieces, probabilities = list(candidate.tokens), list(candidate.token_log_probabilities)
    last = pieces.pop().removesuffix(".") if pieces else ""
    if last:
        pieces.append(last)
    else:
        del probabilities[len(pieces)]
    links = candidate.alignment
    if links is not None:
        ends = [min(link.target[1], len(text)) for link in links]
        links = [
            replace(link, target=(link.target[0], end))
            for link, end in zip(links, ends, strict=True)
            if link.target[0] < end
        ]
    return replace(
        candidate,
        text=text,
        tokens=pieces,
        token_log_probabilities=probabilities,
        alignment=links,
    )


def put_together(text: str, parts: Parts, sentences: list[Sentence]) -> Translation:
    if not sentences:
        return Translation(text, text, [text], [])
    alternatives = []
    for place in range(max(len(sentence.candidates) for sentence in sentences)):
        texts = [each.candidates[min(place, len(each.candidates) - 1)].text for each in sentences]
        alternatives.append(parts.join(texts))
    placed: list[Sentence] = []
    source_start = start = 0
    for place, (sentence, glue) in enumerate(zip(sentences, parts.glue, strict=False)):
        source_start, start = source_start + len(glue), start + len(glue)
        flags = ["cut", *sentence.flags] if place in parts.cut else sentence.flags
        placed.append(Sentence(sentence.source, sentence.candidates, flags, source_start, start))
        source_start += len(sentence.source)
        start += len(sentence.candidates[0].text)
    return Translation(text, alternatives[0], alternatives, placed)


def messages(
    results: Sequence[Translation],
    num_cut: int,
    longest: int,
    where: Callable[[int], str] | None = None,
) -> Iterator[str]:
    """What a user should know of these translations, a sentence for each flag, with the place of the first ones."""
    for flag, meaning in FLAGS.items():
        flagged = [
            (place, sentence)
            for place, each in enumerate(results)
            for sentence in each.sentences
            if flag in sentence.flags
        ]
        if not flagged:
            continue
        number = num_cut if flag == "cut" else len(flagged)
        message = f"{number} {meaning.format(longest=longest)}"
        if where is None:
            shown = flagged[0][1].source
            cut = shown[:_NUM_SHOWN] + "…" * (len(shown) > _NUM_SHOWN)
            yield f"{message}: {cut!r}" if number == 1 else f"{message}, the first: {cut!r}"
            continue
        names = [where(place) for place in dict.fromkeys(place for place, _ in flagged)]
        others = f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
        yield f"{message}: {', '.join(names[:_MOST_NAMES])}{others}"


def _moved(span: tuple[int, int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by
