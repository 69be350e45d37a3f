"""A sentence as a model sees it, with stand-ins for what it must not touch, and what it wrote with this put back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, count

from regard.documents.placement import Mark, place
from regard.documents.segments import Code, partners
from regard.text.kept import Stretch
from regard.text.word_alignment import Link, Span
from regard.translate.translation import Candidate

_NAME = "X{}"
_PERSONS = ("Zorvan", "Brelka", "Timuro", "Dalvek", "Nestrov", "Quimba")
"""whom nobody has heard of, so that no language has a name of its own for them"""
_VOID = frozenset(["br", "hr", "img", "wbr"])
"""tags that need no other to close them"""
_FIRST_NUMBER, _STEP = 731, 111
"""of numbers as short as a count, and rarely one"""
_TIMES = ("10:31", "11:42", "9:53", "10:24", "11:17", "9:38", "10:46", "11:58")
"""of the morning, which are the same on a clock of twelve hours and on one of twenty-four"""
_MINUTES = (41, 43, 47, 52, 37, 58)
_B = "[ \u00a0\u202f▁]"
_HALF = rf"(?:{_B}?[ap](?:m\b|\.m(?:\.(?!\Z))?))?"


@dataclass(frozen=True, slots=True)
class _Edit:
    """What stands from start to end, and what is to stand there."""

    start: int
    end: int
    text: str


class View:
    """A sentence as the model sees it: with stand-ins, and without the tags that are placed by its words."""

    def __init__(self, sentence: str, held: Sequence[Stretch]) -> None:
        self.sentence = sentence
        free = _free_stand_ins(sentence)
        tags = _placed_tags([each for each in held if each.kind == "tag"])
        self.kept: list[tuple[str, Stretch, Span]] = []
        """the stand-in of each stretch, and where it stands in what is shown"""
        self.marks: list[Mark] = []
        self.edits: list[_Edit] = []
        """that make what is shown of the sentence"""
        shown, cursor = "", 0
        for each in held:
            shown += sentence[cursor : each.span[0]]
            cursor = each.span[1]
            stand_in = ""
            if each in tags:
                code, partner = tags[each]
                # Two lines that a break holds apart are not one word; it begins the second.
                if (
                    shown[-1:].isalnum()
                    and sentence[cursor : cursor + 1].isalnum()
                    and partner is None
                ):
                    stand_in = " "
                self.marks.append(Mark(code, len(shown) + len(stand_in), partner))
            else:
                stand_in = next(free[each.kind] if each.kind in free else free["name"])
                if each.kind == "clock" and "h" in each.text.lower():
                    stand_in = stand_in.replace(":", " h ")
                if each.kind in ("clock", "length") and each.text.isupper():
                    stand_in = stand_in.upper()
                self.kept.append((stand_in, each, (len(shown), len(shown) + len(stand_in))))
            self.edits.append(_Edit(*each.span, stand_in))
            shown += stand_in
        self.shown = shown + sentence[cursor:]

    def written(self, candidate: Candidate) -> Candidate | None:
        """The candidate with what is kept in its place; None unless each stand-in is there once."""
        spans: list[tuple[Span, Stretch, Span]] = []
        for stand_in, stretch, source in self.kept:
            matches = list(re.finditer(_image(stand_in), candidate.text, re.IGNORECASE))
            if len(matches) != 1:
                return None
            spans.append((matches[0].span(), stretch, source))
        links = candidate.alignment or []
        whole = [span for span, _, _ in spans]
        marks = place(self.marks, self.shown, candidate.text, links, whole)
        if marks is None:
            return None
        edits = [_edit(candidate.text, span, stretch.written) for span, stretch, _ in spans]
        edits += [_Edit(at, at, self.marks[index].code.raw) for at, index in marks]
        # Sorting is stable: tags in one place stay in their order, which is well nested.
        edits.sort(key=lambda edit: (edit.start, edit.end))
        back = [_reverse(edit, self.edits, place_) for place_, edit in enumerate(self.edits)]
        moved = [
            Link(_moved(link.source, back), _moved(link.target, edits), link.weight)
            for link in links
        ]
        pieces, probabilities = _merged(candidate, self.kept)
        return replace(
            candidate,
            text=_applied(candidate.text, edits),
            tokens=pieces,
            token_log_probabilities=probabilities,
            alignment=moved,
        )


def corrected(candidate: Candidate, corrections: Sequence[tuple[Span, str]]) -> Candidate:
    """The candidate with other words in some places, from left to right."""
    edits = [_edit(candidate.text, span, written) for span, written in corrections]
    pieces, probabilities = list(candidate.tokens), list(candidate.token_log_probabilities)
    # Other tokenizers than SentencePiece mark their pieces otherwise; theirs stay as the model wrote them.
    before = len("".join(pieces)) - len(candidate.text)
    if "".join(pieces)[before:].replace("▁", " ").casefold() == candidate.text.casefold():
        for edit in reversed(edits):
            _merge(pieces, probabilities, (edit.start + before, edit.end + before), edit.text)
    links = candidate.alignment
    if links is not None:
        links = [replace(link, target=_moved(link.target, edits)) for link in links]
    return replace(
        candidate,
        text=_applied(candidate.text, edits),
        tokens=pieces,
        token_log_probabilities=probabilities,
        alignment=links,
    )


def _free_stand_ins(sentence: str) -> dict[str, Iterator[str]]:
    """By kind, what the sentence does not hold and a model copies."""
    folded = sentence.casefold()
    names = (_NAME.format(number) for number in count(1))
    numbers = (str(number) for number in count(_FIRST_NUMBER, _STEP))
    free_names = (each for each in names if each.casefold() not in folded)
    free_numbers = (each for each in numbers if each not in folded)
    persons = (each for each in _PERSONS if each.casefold() not in folded)
    times = (each for each in _TIMES if each[-2:] not in folded)
    minutes = (f"{each} minutes" for each in _MINUTES if str(each) not in folded)
    return {
        "name": free_names,
        "person": chain(persons, free_names),
        "count": free_numbers,
        "number": free_numbers,
        "amount": free_numbers,
        "clock": chain(times, free_names),
        "length": chain(minutes, free_names),
    }


def _placed_tags(tags: Sequence[Stretch]) -> dict[Stretch, tuple[Code, int | None]]:
    """The tags that stand around words or between them, as the placement takes them.

    Each with its partner's place among them, if it has one; one that opens and is never closed may be a name.
    """
    codes = [
        Code(each.text, "close" if _closes(each, tags[:place_]) else "open", name=_name(each.text))
        for place_, each in enumerate(tags)
    ]
    pairs = partners(codes)
    chosen = [
        place_
        for place_, each in enumerate(tags)
        if place_ in pairs or each.text.endswith("/>") or _name(each.text).lower() in _VOID
    ]
    order = {place_: number for number, place_ in enumerate(chosen)}
    return {
        tags[place_]: (codes[place_], order[pairs[place_]] if place_ in pairs else None)
        for place_ in chosen
    }


def _closes(tag: Stretch, before: Sequence[Stretch]) -> bool:
    if tag.text.startswith("<"):
        return tag.text.startswith("</")
    # A mark of stress, the same at both ends.
    return sum(each.text == tag.text for each in before) % 2 == 1


def _name(tag: str) -> str:
    return tag.strip("</>").split()[0] if tag.strip("</>") else ""


def _alone(stand_in: str) -> str:
    return rf"(?<![^\W_]){stand_in}(?![^\W_])(?![.,]?\d)"


def _image(stand_in: str) -> str:
    """What a model makes of a stand-in: of a time, this in the manner of its language."""
    time = re.fullmatch(r"(\d+)(?: [hH] |:)(\d\d)", stand_in)
    if time is None:
        return _alone(stand_in.lower()).replace(" minutes", rf"(?:{_B}minutes|-minute)")
    return rf"(?<![\w:.,])0?{time[1]}(?:{_B}?h{_B}?|:){time[2]}(?![\w:])(?:{_B}?min\b)?{_HALF}"


def _edit(text: str, span: Span, written: str) -> _Edit:
    """The stop of an abbreviation, such as p.m., is also that of the sentence; a 75-minute film has no plural."""
    if text[slice(*span)].endswith("-minute"):
        written = re.sub(r" (hour|minute)s?", r"-\1", written).replace(" and ", "-")
    is_doubled = written.endswith(".") and text[span[1] : span[1] + 1] == "."
    return _Edit(*span, written[:-1] if is_doubled else written)


def _applied(text: str, edits: Sequence[_Edit]) -> str:
    written, cursor = "", 0
    for edit in edits:
        written += text[cursor : edit.start] + edit.text
        cursor = edit.end
    return written + text[cursor:]


def _reverse(edit: _Edit, edits: Sequence[_Edit], number: int) -> _Edit:
    """The edit that takes another one back, in the text that all of them have made."""
    grown = sum(len(each.text) - (each.end - each.start) for each in edits[:number])
    start = edit.start + grown
    return _Edit(start, start + len(edit.text), " " * (edit.end - edit.start))


def _moved(span: Span, edits: Sequence[_Edit]) -> Span:
    """Where a span stands after the edits; one that an edit meets is all that stands there then."""
    start, end = span
    by = widened = 0
    first = None
    for edit in edits:
        growth = len(edit.text) - (edit.end - edit.start)
        if edit.end <= start:
            by += growth
        elif edit.start < end:
            first = edit.start + by if first is None else first
            widened += growth
            end = max(end, edit.end)
    begin = min(start + by, first if first is not None else start + by)
    return begin, end + by + widened


def _merged(
    candidate: Candidate, kept: Sequence[tuple[str, Stretch, Span]]
) -> tuple[list[str], list[float]]:
    """The pieces with those of a stand-in as one, which is what it stood for."""
    pieces, probabilities = list(candidate.tokens), list(candidate.token_log_probabilities)
    for stand_in, stretch, _ in kept:
        match = re.search(_image(stand_in), "".join(pieces), re.IGNORECASE)
        if match is not None:
            _merge(pieces, probabilities, match.span(), stretch.written)
    return pieces, probabilities


def _merge(pieces: list[str], probabilities: list[float], span: Span, written: str) -> None:
    """One piece of those that a span of them all joined meets."""
    ends = list(accumulate(map(len, pieces)))
    first = next(number for number, end in enumerate(ends) if end > span[0])
    last = next(number for number, end in enumerate(ends) if end >= span[1])
    begin = ends[first] - len(pieces[first])
    one = "".join(pieces[first : last + 1])
    pieces[first : last + 1] = [one[: span[0] - begin] + written + one[span[1] - begin :]]
    probabilities[first : last + 1] = [sum(probabilities[first : last + 1])]
