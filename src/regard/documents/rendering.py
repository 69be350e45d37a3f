"""A segment as the model sees it, and its translation as the file has it."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Protocol

from regard.documents.placement import Mark, Placement, overlaps_any
from regard.documents.punctuation import with_edges_of
from regard.documents.segments import Code, Item, Segment, check_cancelled, partners
from regard.documents.segments import shown as show
from regard.text import Span
from regard.text.protected import placeholders
from regard.text.words import Link

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""line ends and terminal controls; an output has none unless the source has"""
_MAX_CODES = 200  # codes of a segment; with more, only the source's order is sure to be right
_NUM_NEXT = 8  # items after an object that are looked at
_STARTS_A_BLOCK = re.compile(r"[-–—+*#>=|~`:<]|\d+[.)]")
"""the beginning of a list, a heading, a quotation or a speech"""
_OPENERS = "([{«\"'“‘’"
_KEPT = 100.0  # weight of the link of a placeholder: more than that of all words around it
_SPACE = re.compile(r"(?<![\s«]) (?![\s?!;:»])")  # a space that may become a line end; French marks keep theirs


class TranslatedText(Protocol):
    """A translator's answer for one text."""

    @property
    def text(self) -> str: ...
    @property
    def alignment(self) -> Sequence[Link] | None:
        """word links; None where they are not known"""


class ShownSegment:
    """A segment as the model sees it. With stand-ins, placeholders look like names."""

    def __init__(self, segment: Segment, *, stand_ins: bool = False) -> None:
        check_cancelled()
        self.segment = segment
        self.kept: list[tuple[Span, str, Code]] = []
        """placeholders: where they stand, and what is shown of them"""
        self.breaks: list[tuple[int, Code]] = []
        self.keys: list[Code] = []
        self.lost: list[int] = []
        """tags that found no place in the last translation, as places among the items"""
        tags: list[tuple[Code, int]] = []
        self._tag_items: list[int] = []
        # Every model copies a letter with a number; a pipeline of ours protects a number in braces.
        form = "X{}" if stand_ins else "{{{}}}"
        taken = set(re.findall(r"X\d+|\{\d+\}", segment.text))
        names = (name for name in map(form.format, count(1)) if name not in taken)
        self.text = ""
        for number, item in enumerate(segment.items):
            shown, at = show(item), len(self.text)
            if isinstance(item, Code):
                following = segment.items[number + 1 : number + _NUM_NEXT]
                words = _as_word(item, self.text, following) if item.kind == "object" else None
                if item.kind == "kept" or words:
                    frame, item = words or ("%s", item)
                    name = next(names) if stand_ins or words else shown
                    shown = frame % name
                    self.kept.append(((at, at + len(shown.rstrip() if frame[0] == "%" else shown)), name, item))
                elif item.kind == "break":
                    self.breaks.append((at, item))
                elif item.kind == "key":
                    self.keys.append(item)
                else:
                    tags.append((item, at))
                    self._tag_items.append(number)
            self.text += shown
        pairs = partners([code for code, _ in tags])
        self.marks = [Mark(*tag, pairs.get(index)) for index, tag in enumerate(tags)]

    @property
    def needs_parts(self) -> bool:
        """Whether only the source's order is sure to be right: tags overlap, one never ends, or there are too many."""
        if len(self.marks) + len(self.kept) > _MAX_CODES:
            return True
        alone = [mark.code for mark in self.marks if mark.partner is None]
        opened = {code.name for code in alone if code.kind == "open"}
        unclosed = [place for place, mark in enumerate(self.marks) if mark.code.kind == "open" and mark.partner is None]
        if any(first < place < (mark.partner or 0) for place in unclosed for first, mark in enumerate(self.marks)):
            return True
        return any(code.kind == "close" and code.name in opened for code in alone)

    def render(self, translated: TranslatedText, language: str = "") -> str | None:
        """The translation as the file has it; None where a placeholder or a tag would be lost."""
        check_cancelled()
        control = "[\r\n]" if _CONTROL.search(self.text) else _CONTROL
        target, num_lost = with_edges_of(self.text, re.sub(control, " ", translated.text), language)
        if target == self.text:
            return self.segment.raw
        kept = self._find_kept(target)
        if kept is None or not any(map(str.isalnum, target)):
            return None
        whole = [span for span, _, _ in kept]
        links = self._links(translated.alignment, kept, num_lost)
        placement = Placement(self.marks, self.text, target, links, whole)
        self.lost = [self._tag_items[index] for index in placement.lost]
        keys = [(place_key(key, target, whole), key.raw) for key in self.keys]
        if self.lost or any(at is None for at, _ in keys):
            return None
        edits = [(at, at, _spaced(self.marks[index].code, target, at)) for at, index in placement.places]
        edits += [(at, at, raw) for at, raw in keys if at is not None]
        edits += [(*span, code.raw) for span, _, code in kept]
        edits += [(at, at + 1, code.raw) for at, code in self._find_breaks(target, whole)]
        # Sorting is stable: tags at one position stay in their order, which is well nested.
        found = self._written(target, sorted(edits, key=lambda edit: edit[0]))
        return found if found in (None, self.segment.raw) else self.segment.finish(found)

    def _written(self, target: str, edits: Sequence[tuple[int, int, str]]) -> str | None:
        """The target with other texts from some places to others, and the rest escaped where it has to be."""
        segment = self.segment
        # Unnecessary escapes would be seen by everyone who reads the file.
        for escape in (str, segment.escape) if segment.has_same_marks else (segment.escape,):
            written, cursor = "", 0
            for start, end, raw in edits:
                written += escape(target[cursor:start]) + raw
                cursor = end
            written += escape(target[cursor:])
            if not segment.has_same_marks or segment.has_same_marks(segment.raw, written):
                return written
        return None

    def _find_kept(self, target: str) -> list[tuple[Span, Span, Code]] | None:
        """Each placeholder in the target and in the source; None unless each is there exactly once."""
        if placeholders(target) != placeholders(self.text):
            return None
        if not self.kept:
            return []
        waiting: dict[str, list[tuple[Span, Code]]] = {}
        for span, name, code in self.kept:
            waiting.setdefault(name, []).append((span, code))
        shown = "|".join(map(re.escape, sorted(waiting, key=len, reverse=True)))
        # A letter at its edge must not touch another one.
        matches = list(re.finditer(rf"(?:\b|(?!\w))(?:{shown})(?:\b|(?<!\w))", target))
        if Counter(match.group() for match in matches) != Counter(each[1] for each in self.kept):
            return None
        found = []
        for match in matches:
            span, code = waiting[match.group()].pop(0)
            is_padded = span[1] - span[0] > len(match.group())
            around = re.compile(r" ?" + re.escape(match.group()) + " ?").match(target, max(0, match.start() - 1))
            found.append((around.span() if is_padded and around else match.span(), span, code))
        return found

    def _links(
        self, links: Sequence[Link] | None, kept: Sequence[tuple[Span, Span, Code]], num_lost: int
    ) -> list[Link] | None:
        """The model's links, with the placeholders' own in place of what it found for their parts."""
        if links is None:
            return None
        found = [Link(source, target, _KEPT) for target, source, _ in kept]
        targets, sources = [each[0] for each in kept], [each[1] for each in kept]
        for link in links:
            target = max(0, link.target[0] - num_lost), max(0, link.target[1] - num_lost)
            if not overlaps_any(link.source, sources) and not overlaps_any(target, targets):
                found.append(replace(link, target=target))
        return found

    def _find_breaks(self, target: str, whole: Sequence[Span]) -> list[tuple[int, Code]]:
        """For each break a space about as far along; without a free space the line goes on."""
        spaces = [
            match.start()
            for match in _SPACE.finditer(target.rstrip(), 1)
            if not overlaps_any(match.span(), whole) and not _STARTS_A_BLOCK.match(target, match.end())
        ]
        found: list[tuple[int, Code]] = []
        free = 0
        for position, code in self.breaks:
            wanted = position / len(self.text) * len(target)
            near = bisect(spaces, wanted, lo=free)
            choices = [index for index in (near - 1, near) if free <= index < len(spaces)]
            if choices:
                nearest = min(choices, key=lambda index: abs(spaces[index] - wanted))
                found.append((spaces[nearest], code))
                free = nearest + 1
        return found


def _as_word(code: Code, before: str, following: Sequence[Item]) -> tuple[str, Code] | None:
    """How the model sees an object, and what takes its place; None where it belongs to a word that it touches.

    Between two letters it is shown with spaces, which it takes away again.
    """
    took_space = code.raw.endswith(" ") and before.endswith(" ")
    left, right = before[-1:], " " if took_space else next(filter(None, map(show, following)), "")[:1]
    if left.isalnum() or right.isalnum():
        return (" %s ", code) if left.isalnum() and right.isalnum() else None
    if left.strip() and left not in _OPENERS:
        return None
    return ("%s ", replace(code, raw=code.raw[:-1])) if took_space else ("%s", code)


def _spaced(code: Code, target: str, at: int) -> str:
    """A single tag that took the space after it gives it back on the other side, if it stands there."""
    took_space = code.kind in ("alone", "object") and code.raw.endswith(" ")
    is_after_word = bool(target[:at]) and not target[at - 1].isspace()
    return f" {code.raw[:-1]}" if took_space and is_after_word else code.raw


def place_key(key: Code, target: str, taken: Sequence[tuple[int, int]]) -> int | None:
    """The letter of a translation that gets the sign; none inside the `taken` spans."""
    firsts = [match.start() for match in re.finditer(r"(?<!\w)[^\W_]", target)]
    letters = [at for at, letter in enumerate(target) if letter.isalnum()]
    same = [at for at in firsts if target[at].casefold() == key.name]
    free = (at for at in (*same, *firsts, *letters) if not overlaps_any((at, at + 1), taken))
    return next(free, None)
