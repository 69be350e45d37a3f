"""Protected spans: masked by stand-ins that a model copies, and restored in what it wrote.

A name is masked by a letter and a number, a person by an invented name, a number by a number. Tags are left out, and
restored around the words that translate the words they stood around.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise

from regard.documents.placement import Mark, Placement
from regard.documents.segments import Code, CodeKind, partners
from regard.text import Span
from regard.text.normalise import Normalised, capitals
from regard.text.protected import ProtectedSpan, SpanKind
from regard.text.sentences import has_word
from regard.text.words import Link

_PERSONS = ("Zorvan", "Brelka", "Timuro", "Dalvek", "Nestrov", "Quimba")  # names that no language translates
_FIRST_NUMBER, _STEP = 731, 111  # numbers as short as a count that rarely stand in a text
_VOID = frozenset(["br", "hr", "img", "wbr"])  # tags without a closing tag
_ENDS = ".!?…"


@dataclass(frozen=True, slots=True)
class StandIn:
    text: str
    original: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds it in what the model wrote."""
        return re.compile(rf"(?<![^\W_]){self.text}(?![^\W_])(?![.,]?\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Restored:
    """A text after restoring, and where each character of the written text stands in it."""

    text: str
    starts: list[int]
    ends: list[int]

    def moved(self, span: Span) -> Span:
        return self.starts[span[0]], self.ends[span[1] - 1]


@dataclass(frozen=True, slots=True)
class MaskedSentence:
    """A sentence as the model reads it."""

    given: str
    text: str
    spans: list[ProtectedSpan]  # protected spans of the given sentence
    stand_ins: list[StandIn]
    marks: list[Mark]  # tags, and where they stood in the masked text
    starts: Sequence[int]
    ends: Sequence[int]
    """span in the given sentence of each character of the masked text"""
    in_capitals: bool

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate beside the protected spans."""
        return any(map(has_word, self.outside()))

    def outside(self) -> list[str]:
        """The text before, between and after the protected spans."""
        edges = [0, *(edge for each in self.spans for edge in each.span), len(self.given)]
        return [self.given[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]

    def lacks(self, written: str) -> bool:
        """Whether a text does not hold every stand-in exactly once."""
        return any(len(each.pattern.findall(written)) != 1 for each in self.stand_ins)

    def restore(self, written: str, links: Sequence[Link]) -> Restored:
        """The written text with every stand-in replaced and every tag placed.

        Without room around their words all tags go to the end, in their order.
        """
        found = [(each, match) for each in self.stand_ins for match in each.pattern.finditer(written)]
        edits = sorted((match.span(), each.original) for each, match in found)
        whole = [span for span, _ in edits]
        placement = Placement(self.marks, self.text, written, links, whole)
        positions = placement.places
        if placement.lost:
            positions = [(len(written), index) for index in range(len(self.marks))]
        inserted = [((at, at), self.marks[index].code.raw) for at, index in positions]
        # Sorting is stable: tags in one position keep their order, which is well nested.
        edits = sorted([*edits, *inserted], key=lambda edit: edit[0])
        return _edited(capitals(written) if self.in_capitals else written, edits)


def mask(given: str, normalised: Normalised, spans: Sequence[ProtectedSpan]) -> MaskedSentence:
    """Mask the spans of a sentence, which normalisation has not touched."""
    offsets = normalised.offsets
    if isinstance(offsets, range):
        stops: Sequence[int] = offsets[1:]
    else:
        stops = [max(after, at + 1) for at, after in pairwise(offsets)]
    if not spans:
        return MaskedSentence(given, normalised.text, [], [], [], offsets, stops, normalised.in_capitals)
    free = _free_stand_ins(given)
    tags = _placed_tags([each for each in spans if each.kind == "tag"])
    stand_ins: list[StandIn] = []
    marks: list[Mark] = []
    text, cursor = "", 0
    starts: list[int] = []
    ends: list[int] = []

    def copy(stop: int) -> None:
        """Append the normalised text up to here."""
        nonlocal text
        text += normalised.text[cursor:stop]
        starts.extend(offsets[cursor:stop])
        ends.extend(stops[cursor:stop])

    for each in spans:
        start, end = (bisect_left(offsets, edge) for edge in each.span)
        copy(start)
        cursor = end
        stand_in = ""
        if each in tags:
            code, partner = tags[each]
            # A line break keeps two words apart.
            if text[-1:].isalnum() and given[each.span[1] :][:1].isalnum() and partner is None:
                stand_in = " "
            marks.append(Mark(code, len(text) + len(stand_in), partner))
        else:
            stand_in = next(free[each.kind])
            stand_ins.append(StandIn(stand_in, each.text))
        text += stand_in
        starts += [each.span[0]] * len(stand_in)
        ends += [each.span[1]] * len(stand_in)
    copy(len(normalised.text))
    return MaskedSentence(given, text, list(spans), stand_ins, marks, starts, ends, normalised.in_capitals)


def as_a_part(text: str, part: str) -> str:
    """A translation with the first letter and the end of a part of a sentence."""
    if part[0].islower() and text[:1].isupper() and text[1:2].islower():
        text = text[0].lower() + text[1:]
    return text if part[-1] in _ENDS else text.rstrip(_ENDS)


def _edited(text: str, edits: Sequence[tuple[Span, str]]) -> Restored:
    """The text with other words in these spans, which are in order and apart."""
    new, cursor = "", 0
    starts: list[int] = []
    ends: list[int] = []
    for (start, end), words in [*edits, ((len(text), len(text)), "")]:
        begin = len(new)
        new += text[cursor:start]
        starts += range(begin, len(new))
        ends += range(begin + 1, len(new) + 1)
        starts += [len(new)] * (end - start)
        new += words
        ends += [len(new)] * (end - start)
        cursor = end
    return Restored(new, starts, ends)


def _free_stand_ins(sentence: str) -> dict[SpanKind, Iterator[str]]:
    """Stand-ins of each kind that the sentence does not hold."""
    folded = sentence.casefold()
    names = (f"X{number}" for number in count(1))
    free_names = (each for each in names if each.casefold() not in folded)
    numbers = map(str, count(_FIRST_NUMBER, _STEP))
    persons = (each for each in _PERSONS if each.casefold() not in folded)
    return {
        "name": free_names,
        "tag": free_names,
        "person": chain(persons, free_names),
        "number": (each for each in numbers if each not in folded),
    }


def _placed_tags(tags: Sequence[ProtectedSpan]) -> dict[ProtectedSpan, tuple[Code, int | None]]:
    """The tags that stand around words or between them, each with its partner's place among them.

    A tag that is opened and never closed may be a name, and is masked as one.
    """
    kinds: list[CodeKind] = ["close" if _closes(each, tags[:at]) else "open" for at, each in enumerate(tags)]
    names = [(each.text.strip("</>").split() or [""])[0] for each in tags]
    codes = [Code(each.text, kind, name=name) for each, kind, name in zip(tags, kinds, names, strict=True)]
    pairs = partners(codes)
    alone = [each.raw.endswith("/>") or each.name.lower() in _VOID for each in codes]
    chosen = [at for at in range(len(tags)) if at in pairs or alone[at]]
    order = {at: number for number, at in enumerate(chosen)}
    return {tags[at]: (codes[at], order[pairs[at]] if at in pairs else None) for at in chosen}


def _closes(tag: ProtectedSpan, before: Sequence[ProtectedSpan]) -> bool:
    if tag.text.startswith("<"):
        return tag.text.startswith("</")
    # A mark of stress is the same at both ends.
    return sum(each.text == tag.text for each in before) % 2 == 1
