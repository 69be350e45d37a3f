"""The result of a translation: a text, its sentences, their candidates, and warnings about them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.decode.interface import Stop
from regard.text import Span
from regard.text.sentences import SplitText
from regard.text.words import Link
from regard.translate.search import SearchInput


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a sentence. Scores are the model's own, for the text that it wrote."""

    text: str
    written: str
    """output of the model, before protected spans are restored"""
    tokens: list[str] = field(default_factory=list)
    """tokens of the output, without beginning and end; none for a copied sentence"""
    token_ids: list[int] = field(default_factory=list)
    score: float = 0.0
    """rank of the candidate: log-probability after length and coverage penalty"""
    log_probability: float = 0.0
    token_log_probabilities: list[float] = field(default_factory=list)
    """one for each token, and one for the end where the model ended"""
    stop: Stop = "end"
    """end, or length: the candidate was cut at the limit"""
    edited: bool = False
    """whether the text differs from what the model wrote"""
    alignment: list[Link] | None = None
    """word links between the sentence and the text, as character spans; None unless asked for"""


FLAGS: dict[str, str] = tomllib.loads(Path(__file__).with_name("flags.toml").read_text("utf-8"))
"""warnings about a sentence, by flag"""

_NUM_SHOWN = 40
"""characters of a sentence shown in a warning"""
_MAX_NAMES = 5
"""texts named in a warning"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the text at each stage of the pipeline, and its candidates, best first."""

    source: str
    candidates: list[Candidate]
    flags: list[str] = field(default_factory=list)
    """some of FLAGS; empty where nothing is wrong"""
    normalised: str = ""
    protected: str = ""
    """input of the model, with stand-ins for protected spans"""
    source_start: int = 0
    """offset in the source text"""
    start: int = 0
    """offset of the best candidate in the translation"""
    search: SearchInput | None = None
    """search of the best candidate; None for a copied sentence, and for one translated in parts"""
    parts: list[Sentence] = field(default_factory=list)
    """the sentences that were translated instead of this one, around its protected spans"""

    @property
    def searched(self) -> list[Sentence]:
        """The sentence, or its parts."""
        return [one for part in self.parts for one in part.searched] or [self]

    @property
    def stages(self) -> dict[str, str]:
        best = self.candidates[0]
        return {
            "given": self.source,
            "normalised": self.normalised,
            "protected": self.protected,
            "written": best.written,
            "restored": best.text,
        }


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated text, with everything the search knows about it."""

    source: str
    text: str
    alternatives: list[str]
    """the whole text n_best times: of each sentence the best candidate, then the second, and so on;
    fewer where the search finds no more that differ"""
    sentences: list[Sentence]
    between: list[str] = field(default_factory=list)
    """untranslated text before, between and after the sentences"""

    @property
    def alignment(self) -> list[Link] | None:
        """Word alignment of the whole text; None where it was not asked for."""
        links: list[Link] = []
        for sentence in self.sentences:
            found = sentence.candidates[0].alignment
            if found is None:
                return None
            links += [
                Link(shifted(link.source, sentence.source_start), shifted(link.target, sentence.start), link.weight)
                for link in found
            ]
        return links

    @property
    def in_parts(self) -> bool:
        """Whether a sentence had to be cut to copy something letter for letter."""
        return any("parts" in sentence.flags for sentence in self.sentences)

    def stage(self, name: str) -> str:
        """The whole text at a stage of the pipeline."""
        parts = SplitText([""] * len(self.sentences), self.between)
        return parts.join([sentence.stages[name] for sentence in self.sentences])

    def to_dict(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        del values["between"]
        for sentence in values["sentences"]:
            del sentence["search"], sentence["parts"]
        return values


def copied(sentence: str, protected: str | None = None, flags: Sequence[str] = ()) -> Sentence:
    """A sentence that is not translated."""
    whole, read = (0, len(sentence)), sentence if protected is None else protected
    best = Candidate(sentence, read, edited=read != sentence, alignment=[Link(whole, whole, 1.0)])
    return Sentence(sentence, [best], [*flags], sentence, read)


def join(text: str, parts: SplitText, sentences: Sequence[Sentence]) -> Translation:
    """The translation of a text from those of its sentences."""
    if not sentences:
        return Translation(text, text, [text], [], [text])
    alternatives = []
    for place in range(max(len(sentence.candidates) for sentence in sentences)):
        texts = [each.candidates[min(place, len(each.candidates) - 1)].text for each in sentences]
        alternatives.append(parts.join(texts))
    placed: list[Sentence] = []
    source_start = start = 0
    for place, (sentence, separator) in enumerate(zip(sentences, parts.separators, strict=False)):
        source_start, start = source_start + len(separator), start + len(separator)
        flags = ["cut", *sentence.flags] if place in parts.cut else sentence.flags
        if source_start or start or flags is not sentence.flags:
            sentence = dataclasses.replace(sentence, flags=flags, source_start=source_start, start=start)
        placed.append(sentence)
        source_start += len(sentence.source)
        start += len(sentence.candidates[0].text)
    return Translation(text, alternatives[0], alternatives, placed, parts.separators)


def by_way_of(first: Translation, sentences: Sequence[Translation]) -> Translation:
    """A translation whose sentences were translated further, each into one of these."""
    further: list[Sentence] = []
    for sentence, after in zip(first.sentences, sentences, strict=True):
        best, flags = sentence.candidates[0], [flag for each in after.sentences for flag in each.flags]
        through = [Candidate(text, text, stop=best.stop) for text in after.alternatives]
        links = _composed(best.alignment or (), after.alignment or ())
        through[0] = dataclasses.replace(through[0], alignment=links)
        further.append(dataclasses.replace(sentence, candidates=through, flags=[*sentence.flags, *flags], search=None))
    return join(first.source, SplitText([""] * len(further), first.between), further)


def _composed(first: Sequence[Link], second: Sequence[Link]) -> list[Link]:
    """Each word of the second text with its word of the first, by way of the word between."""
    found: list[Link] = []
    for link in second:
        near = [each for each in first if each.target[0] < link.source[1] and link.source[0] < each.target[1]]
        if near:
            best = max(near, key=lambda each: each.weight)
            found.append(Link(best.source, link.target, best.weight * link.weight))
    return found


def messages(
    results: Sequence[Translation], num_cut: int, longest: int, where: Callable[[int], str] | None = None
) -> Iterator[str]:
    """A warning for each flag, with the first places it was found in."""
    for flag, meaning in FLAGS.items():
        found = [
            where(place) if where else repr(sentence.source[:_NUM_SHOWN])
            for place, each in enumerate(results)
            for sentence in each.sentences
            if flag in sentence.flags
        ]
        if found:
            number, names = num_cut if flag == "cut" else len(found), list(dict.fromkeys(found))
            others = f" and {len(names) - _MAX_NAMES} more" * (len(names) > _MAX_NAMES)
            yield f"{number} {meaning.format(longest=longest)}: {', '.join(names[:_MAX_NAMES])}{others}"


def shifted(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by
