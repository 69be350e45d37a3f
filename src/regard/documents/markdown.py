"""Markdown: paragraphs, headings, list items, quotations and cells are translated; code, targets and marks stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from regard.documents import html
from regard.documents.markdown_inline import (
    escape,
    inline,
    marks_of,
    put_back_images,
    take_out_images,
)
from regard.documents.segments import LINE, Code, Item, Languages, Slot, parts_of

_MARKER = re.compile(r"[ \t]{0,3}(?:>[ \t]?|(?:[-+*]|\d{1,9}[.)])(?:[ \t]+(?:\[[ xX]\][ \t]+)?|$))")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,}|\$\$)")
_RULE = re.compile(
    r"[ \t]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*|-+[ \t]*)$"
)
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?:[ \t]+|$)")
_HEADING_END = re.compile(r"(?<![ \t])[ \t]++#++[ \t]*$")
_DEFINITION = re.compile(r"[ \t]{0,3}\[([^\]\n]{1,200})\]:[ \t]*")
_UNDERLINED = {"=": 1, "-": 2}
"""level of a heading, by its underline"""
_DEFINED = re.compile(r"[ \t]{0,3}:[ \t]+(?=\S)")
"""mark of a term's meaning, in the line after the term"""
_HTML = re.compile(r"[ \t]{0,3}</?[A-Za-z][\w-]*(?:[\s/>]|$)")
_INLINE_HTML = re.compile(r"[ \t]{0,3}</?(?:a|abbr|b|big|cite|code|del|em|i|img|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|br)\b")  # fmt: skip
# HTML blocks with an end of their own; all others end at an empty line.
_HTML_ENDS = tuple(
    (re.compile(rf"[ \t]{{0,3}}{begin}", re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for begin, end in (
        (r"<(?:script|pre|style|textarea)(?:[\s>]|$)", "</(?:script|pre|style|textarea)>"),
        ("<!--", "-->"),
        (r"<\?", r"\?>"),
        ("<![a-z]", ">"),
        (r"<!\[CDATA\[", r"\]\]>"),
    )
)
_DELIMITERS = re.compile(
    r"[ \t]*+(?:\|[ \t]*+)?:?-+:?[ \t]*+(?:\|[ \t]*+:?-+:?[ \t]*+)*(?:\|[ \t]*)?$"
)
_CELL = re.compile(r"(?:[^|\\`]|\\.|`[^`]*`|`)+")
_HARD_BREAK = re.compile(r"(?:[ \t]{2}|(?<!\\)(?:\\\\)*(\\))$")
_NOT_A_START = re.compile(r"(?:[-+*>:]|#{1,6})(?=\s|$)|\d{1,9}(?=[.)](?:\s|$))")
"""a beginning that would make something else of a paragraph"""


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    return _MarkdownReader(text).read(), []


class _MarkdownReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [match.span(1) for match in LINE.finditer(text)]
        self.texts = [text[slice(*line)] for line in self.lines]
        self.labels = {match[1].casefold() for match in map(_DEFINITION.match, self.texts) if match}
        self.slots: list[Slot] = []
        self.paragraph: list[tuple[int, int]] = []
        self.depth = 0
        """number of quotations around the paragraph"""
        self.in_list = False
        self.indent = 0
        """indent of the list item's text"""
        self.in_note = False
        """whether the paragraph is a footnote or the meaning of a term"""
        self.is_blank = True

    def read(self) -> list[Slot]:
        number = self._front_matter()
        while number < len(self.lines):
            number = self._line(number)
        self._end_paragraph()
        return self.slots

    def _front_matter(self) -> int:
        """The first line after front matter, which is for programs."""
        first = self.texts[0].rstrip()
        if first in ("---", "+++"):
            for number, line in enumerate(self.texts[1:], 1):
                if line.rstrip() in (first, "..."):
                    return number + 1
        return 0

    def _line(self, number: int) -> int:
        """Read one line, or the block that begins with it; returns the number of the next line."""
        start, end = self.lines[number]
        content = self._content(start, end)
        line = self.text[content:end]
        if not line.strip():
            self._end_paragraph()
            self.is_blank = content == start
            return number + 1
        was_blank, self.is_blank = self.is_blank, False
        marks = self.text[start:content]
        if marks.replace(" ", "") != ">" * self.depth or _HEADING.match(line):
            self._end_paragraph()
        self.depth = marks.count(">")
        self._note_list(marks, start, was_blank)
        if fence := _FENCE.match(line):
            self._end_paragraph()
            return self._after_fence(number + 1, fence[1])
        if _indent(line) >= self.indent + 4 and not self.paragraph:
            return number + 1
        if _RULE.match(line):
            signs = set(line.strip())
            self._end_paragraph(level=_UNDERLINED.get(signs.pop(), 0) if len(signs) == 1 else 0)
        elif heading := _HEADING.match(line):
            tail = _HEADING_END.search(line, heading.end())
            place = (content + heading.end(), content + tail.start() if tail else end)
            self._add([place], level=heading.group().count("#"))
        # A link is not defined inside a paragraph; a footnote may be.
        elif (defined := _DEFINITION.match(line)) and (
            defined[1].startswith("^") or self.in_note or not self.paragraph
        ):
            self._end_paragraph()
            if defined[1].startswith("^"):
                self._begin_indented(content + defined.end(), end)
        elif defined := _DEFINED.match(line):
            self._end_paragraph()
            self._begin_indented(content + defined.end(), end)
        elif self._begins_html(line):
            self._end_paragraph()
            return self._html(number, content)
        elif not self.paragraph and self._is_table(number):
            return self._table(number)
        else:
            self._continue(content + len(line) - len(line.lstrip()), end)
        return number + 1

    def _continue(self, start: int, end: int) -> None:
        """Add a line to the paragraph; a hard break ends the segment."""
        hard = _HARD_BREAK.search(self.text[start:end])
        self.paragraph.append((start, end - 1 if hard and hard[1] else end))
        if hard:
            self._end_paragraph()

    def _begin_indented(self, start: int, end: int) -> None:
        """A footnote or a term's meaning: indented lines below belong to it."""
        self.in_list, self.indent, self.in_note = True, 4, True
        self._continue(start, end)

    def _content(self, start: int, end: int) -> int:
        """Where a line's own text begins, after the marks of lists and quotations."""
        line = self.text[start:end]
        if _RULE.match(line):
            return start
        cursor = len(line) - len(line.lstrip(" \t")) if self.in_list else 0
        if not _MARKER.match(line, cursor):
            cursor = 0
        while match := _MARKER.match(line, cursor):
            cursor = match.end()
        return start + cursor

    def _note_list(self, marks: str, start: int, was_blank: bool) -> None:
        if marks.strip("> \t"):
            self.in_list, self.indent = True, len(marks.expandtabs(4))
        elif was_blank and not self.text[start].isspace():
            self.in_list, self.indent = False, 0

    def _after_fence(self, number: int, fence: str) -> int:
        closing = re.compile(rf"[ \t>]*{re.escape(fence)}{re.escape(fence[0])}*[ \t]*$")
        while number < len(self.lines) and not closing.match(self.texts[number]):
            number += 1
        return number + 1

    def _begins_html(self, line: str) -> bool:
        is_block = _HTML.match(line) and not _INLINE_HTML.match(line) and not self.paragraph
        return bool(is_block or _ending_of(line))

    def _html(self, number: int, begin: int) -> int:
        number = self._after_html(number, begin)
        end = self.lines[number - 1][1]
        for slot in html.read(self.text[begin:end], ("", ""))[0]:
            self.slots.append(replace(slot, start=begin + slot.start, end=begin + slot.end))
        return number

    def _after_html(self, number: int, begin: int) -> int:
        """The line after an HTML block."""
        line = self.text[begin : self.lines[number][1]]
        ending = _ending_of(line)
        while not (ending and ending.search(line)):
            number += 1
            if number == len(self.lines):
                return number
            line = self.texts[number]
            is_outside = self.depth > 0 and not line.lstrip().startswith(">")
            if is_outside or not (ending or line.strip()):
                return number
        return number + 1

    def _is_table(self, number: int) -> bool:
        lines = self.texts[number : number + 2]
        has_bars = len(lines) == 2 and all("|" in line for line in lines)
        return has_bars and bool(_DELIMITERS.match(lines[1]))

    def _table(self, number: int) -> int:
        first = number
        while number < len(self.lines) and "|" in self.texts[number]:
            if number != first + 1:
                start, end = self.lines[number]
                for cell in _CELL.finditer(self.text, self._content(start, end), end):
                    self._add([cell.span()])
                    self.slots[-1] = replace(self.slots[-1], row=start, is_head=number == first)
            number += 1
        return number

    def _end_paragraph(self, level: int = 0) -> None:
        if self.paragraph:
            self._add(self.paragraph, level)
        self.paragraph, self.in_note = [], False

    def _add(self, lines: list[tuple[int, int]], level: int = 0) -> None:
        start, end = lines[0][0], lines[-1][1]
        between = [self.text[a[1] : b[0]] for a, b in zip(lines, lines[1:], strict=False)]
        joined = "\n".join(self.text[slice(*line)] for line in lines)
        items = list(_with_line_ends(inline(joined, self.labels), iter(between)))
        sentence, images = take_out_images(items)
        raw = self.text[start:end]

        def finish(written: str, asides: list[str], doubtful: bool) -> str:
            written = put_back_images(written, images, asides) if images else written
            match = _NOT_A_START.match(written)
            if written == raw or not match:
                return written
            at = match.end() if match.group().isdigit() else 0
            return f"{written[:at]}\\{written[at:]}"

        parts = parts_of(sentence, escape, self._has_same_marks)
        asides = [parts_of(image, escape, self._has_same_marks) for image in images]
        self.slots.append(Slot(start, end, parts, asides, finish, level))

    def _has_same_marks(self, one: str, other: str) -> bool:
        return marks_of(one, self.labels) == marks_of(other, self.labels)


def _ending_of(line: str) -> re.Pattern[str] | None:
    """The end of the HTML block that begins with a line; None where it has no end of its own."""
    return next((end for begin, end in _HTML_ENDS if begin.match(line)), None)


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip(" "))


def _with_line_ends(items: list[Item], between: Iterator[str]) -> Iterator[Item]:
    """Items whose line ends are those of the file, with quotation marks and indents."""
    for item in items:
        if isinstance(item, Code) and "\n" in item.raw:
            first, *others = item.raw.split("\n")
            item = replace(item, raw=first + "".join(next(between) + other for other in others))
        yield item
