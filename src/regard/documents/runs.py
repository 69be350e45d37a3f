"""Paragraphs of .docx and .pptx, which hold their text as runs, each with its format.

The plainest format is the paragraph's own; words in another one are a pair of tags, as are links and fields. For the time
of translation each tag is a number in angle brackets; if the paragraph has changed, its runs are written anew from these.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from regard.documents.segments import Code, CodeKind, Item, Languages, Part, Slot, check_cancelled, parts_of
from regard.documents.xml import Element, escape, parse, text_items

_TAG = re.compile(r"<(/?)(\d+)(/?)>")
_WRAPPERS = frozenset("hyperlink ins moveTo smartTag fldSimple customXml sdt sdtContent bdo dir".split())
_DROPPED = frozenset("proofErr lastRenderedPageBreak softHyphen".split())
"""elements that office programs compute anew, and hyphens of words that are not there any more"""
_BREAKS = frozenset("br tab cr ptab".split())
_OBJECTS = frozenset("drawing pict object AlternateContent oMath oMathPara fld sym pgNum".split())
_OF_PARAGRAPHS = frozenset("pPr endParaRPr".split())
_OF_NO_FORMAT = re.compile(
    r"""<\w+:(?:lang|noProof)\b[^<>]*/>|\s(?:lang|altLang|dirty|err|smtClean|noProof)="[^"]*\""""
)
"""properties without an effect on how a run looks"""


@dataclass(slots=True)
class _Tag:
    """What a number stands for: XML before and after its content, and the format of text in it."""

    opening: str
    closing: str = ""
    format: str | None = None


@dataclass(slots=True)
class _Runs:
    """The paragraphs of a member; formats and other XML by their numbers."""

    text: str
    tags: list[_Tag] = field(default_factory=list)

    def slots(self, element: Element) -> Iterator[Slot]:
        for paragraph in outer_paragraphs(element):
            content = _content(paragraph)
            if content:
                start, end = content[0].start, content[-1].end
                context, parts = self.paragraph(paragraph)
                yield Slot(start, end, parts, finish=self._finish(_raw(parts), self.text[start:end], context))

    def _finish(self, before: str, raw: str, context: int) -> Callable[[str], str]:
        return lambda written: raw if written == before else self.written(written, context)

    def add(self, opening: str, closing: str = "", format: str | None = None) -> int:
        self.tags.append(_Tag(opening, closing, format))
        return len(self.tags) - 1

    def paragraph(self, paragraph: Element) -> tuple[int, list[Part]]:
        """The number of its own format, and its parts; line breaks and tabs end a segment."""
        check_cancelled()
        flat = _Flattener(self, paragraph.prefix).flat(_content(paragraph))
        letters: Counter[str] = Counter()
        for run in flat:
            if isinstance(run, tuple) and run[0].strip():
                letters[_visible_format(run[1])] += len(run[0])
        # Emphasis adds to a format, so the shortest one is the plain one.
        own = min(letters, key=lambda format: (len(format), -letters[format]), default="")
        formats = {_visible_format(each[1]): each[1] for each in reversed(flat) if isinstance(each, tuple)}
        context = self.add("", "", f"{paragraph.prefix} {formats.get(own, '')}")
        items: list[Item] = []
        current, number = own, 0
        ended: list[tuple[str, str] | Code | None] = [*flat, None]
        for each in ended:  # None is the end of the paragraph
            is_tag = isinstance(each, Code) and each.kind in ("open", "close", "end")
            new = _visible_format(each[1]) if isinstance(each, tuple) else own if each is None or is_tag else current
            if new != current:
                if current != own:
                    items.append(Code(f"</{number}>", "close", name=str(number)))
                if new != own:
                    number = self.add("", "", f"{paragraph.prefix} {formats[new]}")
                    items.append(Code(f"<{number}>", "open", name=str(number)))
                current = new
            if isinstance(each, tuple):
                items += text_items(each[0])
            elif each is not None:
                items.append(each)
        return context, parts_of(items, escape)

    def nested(self, element: Element, opening: str, closing: str) -> list[Part]:
        """An element with paragraphs inside, as parts, between two texts."""
        number = self.add(opening)
        parts: list[Part] = [f"<{number}>"]
        cursor = element.start
        for paragraph in outer_paragraphs(element):
            if content := _content(paragraph):
                context, inner = self.paragraph(paragraph)
                self.tags[context].opening = self.text[cursor : content[0].start]
                parts += [f"<{context}>", *inner, f"</{context}>"]
                cursor = content[-1].end
        self.tags[number].closing = self.text[cursor : element.end] + closing
        return [*parts, f"</{number}>"]

    def written(self, numbered: str, context: int) -> str:
        """Runs for the text between the tags, each in the format that it stands in."""
        written, cursor = "", 0
        formats = [self.tags[context].format or ""]
        for match in [*_TAG.finditer(numbered), None]:
            end = match.start() if match else len(numbered)
            if text := numbered[cursor:end]:
                prefix, _, format = formats[-1].partition(" ")
                space = ' xml:space="preserve"' if prefix == "w" else ""
                written += f"<{prefix}:r>{format}<{prefix}:t{space}>{text}</{prefix}:t></{prefix}:r>"
            if match is None:
                break
            cursor, tag = match.end(), self.tags[int(match[2])]
            written += tag.closing if match[1] else tag.opening
            if match[1]:
                formats.pop()
            elif not match[3]:
                formats.append(formats[-1] if tag.format is None else tag.format)
        return written


@dataclass(slots=True)
class _Flattener:
    """The content of a paragraph in a row: text with its format, and codes."""

    runs: _Runs
    prefix: str
    found: list[tuple[str, str] | Code] = field(default_factory=list)
    fields: list[int] = field(default_factory=list)  # fields whose result has begun
    beginning: str = ""  # runs of a field before its result
    depth: int = 0

    def flat(self, elements: Sequence[Element]) -> list[tuple[str, str] | Code]:
        self._walk(elements)
        if self.beginning:
            self._code(self.beginning, "alone")
        # The result of such a field goes on in the next paragraph.
        unclosed = {f"<{number}>": f"<{number}/>" for number in self.fields}
        return [
            Code(unclosed[each.raw], "alone") if isinstance(each, Code) and each.raw in unclosed else each
            for each in self.found
        ]

    def _walk(self, elements: Sequence[Element]) -> None:
        for each in elements:
            if each.name == "r" and each.prefix == self.prefix:
                self._run(each, self.runs.text[each.start : each.end])
            elif each.name in _WRAPPERS and each.children:
                number = self.runs.add(self.runs.text[each.start : each.inner], self.runs.text[each.stop : each.end])
                self.found.append(Code(f"<{number}>", "open", name=str(number)))
                self._walk(each.children)
                self.found.append(Code(f"</{number}>", "close", name=str(number)))
            elif each.name not in _DROPPED:
                self._element(each)

    def _run(self, run: Element, raw: str) -> None:
        marks = [child.attributes.get(f"{child.prefix}:fldCharType", "") for child in run.children]
        if "begin" in marks or self.beginning:
            self.beginning += raw
            self.depth += marks.count("begin") - marks.count("end")
            if "separate" in marks and self.depth == 1:
                self.fields.append(self.runs.add(self.beginning))
                self.found.append(Code(f"<{self.fields[-1]}>", "open", name=f"field {self.fields[-1]}"))
                self.beginning, self.depth = "", 0
            elif not self.depth:
                self._code(self.beginning, "alone")
                self.beginning = ""
        elif "end" in marks and self.fields:
            number = self.fields.pop()
            self.runs.tags[number].closing = raw
            self.found.append(Code(f"</{number}>", "close", name=f"field {number}"))
        else:
            properties = run.child("rPr")
            format = self.runs.text[properties.start : properties.end] if properties else ""
            for child in run.children:
                if child.name == "t":
                    self.found.append((self.runs.text[child.inner : child.stop], format))
                elif child.name == "noBreakHyphen":
                    self.found.append(("\u2011", format))
                elif child.name not in _DROPPED and child is not properties:
                    opening = self.runs.text[run.start : run.inner] + format
                    self._element(child, opening, f"</{run.prefix}:{run.name}>")

    def _element(self, element: Element, opening: str = "", closing: str = "") -> None:
        if next(outer_paragraphs(element), None):
            parts = self.runs.nested(element, opening, closing)
            self.found.append(Code(_raw(parts), "object", parts=tuple(parts)))
            return
        kind: CodeKind = "end" if element.name in _BREAKS else "object" if element.name in _OBJECTS else "alone"
        self._code(opening + self.runs.text[element.start : element.end] + closing, kind)

    def _code(self, raw: str, kind: CodeKind) -> None:
        self.found.append(Code(f"<{self.runs.add(raw)}/>", kind))


def _visible_format(format: str) -> str:
    return _OF_NO_FORMAT.sub("", format).replace("<w:rPr></w:rPr>", "")


def _raw(parts: Sequence[Part]) -> str:
    return "".join(part if isinstance(part, str) else part.raw for part in parts)


def _content(paragraph: Element) -> list[Element]:
    return [child for child in paragraph.children if child.name not in _OF_PARAGRAPHS]


def outer_paragraphs(element: Element, *names: str) -> Iterator[Element]:
    """The paragraphs of an element that are in no other paragraph of it."""
    for child in element.children:
        if child.name in (names or ("p",)):
            yield child
        else:
            yield from outer_paragraphs(child, *names)


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    return list(_Runs(text).slots(parse(text))), []
