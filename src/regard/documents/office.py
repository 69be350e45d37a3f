"""Office files and books: zip archives of XML, of which only the members with text are written anew.

.docx and .pptx hold a paragraph as runs, each with its format. The plainest format is the paragraph's own; words
in another one are a pair of tags, as are links and fields. For the time of translation each tag is a number in angle
brackets; if the paragraph has changed, its runs are written anew from these. .odt has real inline elements, and the
chapters of .epub are pages.
"""

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from regard.documents import html
from regard.documents.segments import Code, CodeKind, Item, Languages, Part, Reader, Slot, check_cancelled, parts_of
from regard.documents.xml import Element, escape, parse, text_items
from regard.errors import DataError

_MAX_MEMBERS, _MAX_BYTES, _MAX_TEXT_BYTES = 20_000, 1 << 29, 1 << 25
"""members of an archive, bytes of all when unpacked, and bytes of one that is read as text"""
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
_TAG = re.compile(r"<(/?)(\d+)(/?)>")


def read_members(data: bytes, suffix: str) -> dict[str, tuple[bytes, Reader]]:
    """The members of an archive that have text, and what reads them; refuses what no writer makes."""
    found: dict[str, tuple[bytes, Reader]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check(members)
            for pattern, reader in _MEMBERS[suffix].items():
                for each in members:
                    if fnmatchcase(each.filename, pattern) and each.filename not in found:
                        if each.file_size > _MAX_TEXT_BYTES:
                            _refuse(f"{_MAX_TEXT_BYTES >> 20} MiB of text in a member", each.filename)
                        found[each.filename] = archive.read(each), reader
    except _DAMAGE as error:
        raise DataError(f"the file must be a whole {suffix} file: got {error}; save it again") from error
    if not found:
        raise DataError(f"the file must be a {suffix} file: it has no member with text; check its suffix")
    return found


def _check(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > _MAX_MEMBERS:
        _refuse(f"{_MAX_MEMBERS} members", str(len(members)))
    if (size := sum(each.file_size for each in members)) > _MAX_BYTES:
        _refuse(f"{_MAX_BYTES >> 20} MiB unpacked", f"{size >> 20}")
    if len({each.filename for each in members}) < len(members):
        raise DataError("the members of an archive must have different names: got one name twice; save the file again")
    if any(each.flag_bits & 1 for each in members):
        raise DataError("the file must be readable: got one with a password; save it without")


def _refuse(limit: str, got: str) -> None:
    raise DataError(f"an archive must have at most {limit}: got {got}; no office program writes such a file")


def with_members(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """The archive with other contents of some members; the others have theirs, in their order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        new.comment = old.comment
        for member in old.infolist():
            content = changed.get(member.filename)
            new.writestr(member, old.read(member) if content is None else content, member.compress_type)
    return buffer.getvalue()


# --- .docx and .pptx

_WRAPPERS = frozenset("hyperlink ins moveTo smartTag fldSimple customXml sdt sdtContent bdo dir".split())
_DROPPED = frozenset("proofErr lastRenderedPageBreak".split())
"""what programs find out again"""
_BREAKS = frozenset("br tab cr ptab".split())
_OBJECTS = frozenset("drawing pict object AlternateContent oMath oMathPara fld sym pgNum".split())
_OF_PARAGRAPHS = frozenset("pPr endParaRPr".split())
_OF_NO_FORMAT = re.compile(
    r"""<\w+:(?:lang|noProof)\b[^<>]*/>|\s(?:lang|altLang|dirty|err|smtClean|noProof)="[^"]*\""""
)
"""what differs between runs that look alike"""


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
        for paragraph in _outer_paragraphs(element):
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
        for piece in flat:
            if isinstance(piece, tuple) and piece[0].strip():
                letters[_look(piece[1])] += len(piece[0])
        # Emphasis adds to a format, so the shortest one is the plain one.
        own = min(letters, key=lambda look: (len(look), -letters[look]), default="")
        formats = {_look(each[1]): each[1] for each in reversed(flat) if isinstance(each, tuple)}
        context = self.add("", "", f"{paragraph.prefix} {formats.get(own, '')}")
        parts: list[Part] = []
        items: list[Item] = []
        look, number = own, 0
        ended: list[tuple[str, str] | Code | None] = [*flat, None]
        for each in ended:  # None is the end of the paragraph
            is_tag = isinstance(each, Code) and each.kind in ("open", "close", "break")
            new = _look(each[1]) if isinstance(each, tuple) else own if each is None or is_tag else look
            if new != look:
                if look != own:
                    items.append(Code(f"</{number}>", "close", name=str(number)))
                if new != own:
                    number = self.add("", "", f"{paragraph.prefix} {formats[new]}")
                    items.append(Code(f"<{number}>", "open", name=str(number)))
                look = new
            if isinstance(each, tuple):
                items += text_items(each[0])
            elif each is not None:
                items.append(each)
            if each is None or isinstance(each, Code) and each.kind == "break":
                end = [items.pop().raw] if each is not None else []
                parts += [*parts_of(items, escape), *end]
                items = []
        return context, parts

    def nested(self, element: Element) -> tuple[str, list[Part]]:
        """An element with paragraphs inside, as parts."""
        number = self.add("")
        parts: list[Part] = [f"<{number}>"]
        cursor = element.start
        for paragraph in _outer_paragraphs(element):
            if content := _content(paragraph):
                context, inner = self.paragraph(paragraph)
                self.tags[context].opening = self.text[cursor : content[0].start]
                parts += [f"<{context}>", *inner, f"</{context}>"]
                cursor = content[-1].end
        self.tags[number].closing = self.text[cursor : element.end]
        parts.append(f"</{number}>")
        return _raw(parts), parts

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
    fields: list[int] = field(default_factory=list)
    """fields whose result has begun"""
    beginning: str = ""
    """runs of a field before its result"""
    depth: int = 0

    def flat(self, elements: Sequence[Element]) -> list[tuple[str, str] | Code]:
        self._walk(elements)
        if self.beginning:
            self._code(self.beginning, "alone")
        # The result of such a field goes on in the next paragraph.
        endless = {f"<{number}>": f"<{number}/>" for number in self.fields}
        return [
            Code(endless[each.raw], "alone") if isinstance(each, Code) and each.raw in endless else each
            for each in self.found
        ]

    def _walk(self, elements: Sequence[Element]) -> None:
        for each in elements:
            raw = self.runs.text[each.start : each.end]
            if each.name == "r" and each.prefix == self.prefix:
                self._run(each, raw)
            elif each.name in _WRAPPERS and each.children:
                number = self.runs.add(self.runs.text[each.start : each.inner], self.runs.text[each.stop : each.end])
                self.found.append(Code(f"<{number}>", "open", name=str(number)))
                self._walk(each.children)
                self.found.append(Code(f"</{number}>", "close", name=str(number)))
            elif each.name not in _DROPPED:
                self._element(each, raw)

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
                elif child.name not in _DROPPED and child is not properties:
                    inner = self.runs.text[child.start : child.end]
                    opening = self.runs.text[run.start : run.inner] + format
                    self._element(child, f"{opening}{inner}</{run.prefix}:{run.name}>", opening)

    def _element(self, element: Element, raw: str, opening: str = "") -> None:
        if next(_outer_paragraphs(element), None):
            nested, parts = self.runs.nested(element)
            before, after = raw.split(self.runs.text[element.start : element.end], 1)
            number = self.runs.add(before, after)
            parts = [f"<{number}>", *parts, f"</{number}>"]
            self.found.append(Code(f"<{number}>{nested}</{number}>", "object", parts=tuple(parts)))
        elif element.name in _BREAKS:
            self._code(raw, "break")
        else:
            self._code(raw, "object" if element.name in _OBJECTS else "alone")

    def _code(self, raw: str, kind: CodeKind) -> None:
        self.found.append(Code(f"<{self.runs.add(raw)}/>", kind))


def _look(format: str) -> str:
    return _OF_NO_FORMAT.sub("", format).replace("<w:rPr></w:rPr>", "")


def _raw(parts: Sequence[Part]) -> str:
    return "".join(part if isinstance(part, str) else part.raw for part in parts)


def _content(paragraph: Element) -> list[Element]:
    return [child for child in paragraph.children if child.name not in _OF_PARAGRAPHS]


def _outer_paragraphs(element: Element, *names: str) -> Iterator[Element]:
    """The paragraphs of an element that are in no other paragraph of it."""
    for child in element.children:
        if child.name in (names or ("p",)):
            yield child
        else:
            yield from _outer_paragraphs(child, *names)


def _read_runs(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    return list(_Runs(text).slots(parse(text))), []


# --- .odt

_PAIRS = frozenset("span a meta meta-field ruby ruby-base".split())
_ODF_PARAGRAPHS = ("p", "h")
_ODF_BREAKS = ("tab", "line-break")
_UNSEEN = re.compile(r"(?:bookmark|reference|change|toc|index|alphabetical|user-index|soft-page|annotation).*|note")


def _read_odf(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    paragraphs = _outer_paragraphs(parse(text), *_ODF_PARAGRAPHS)
    return [Slot(each.inner, each.stop, _odf_parts(text, each)) for each in paragraphs if each.inner < each.end], []


def _odf_parts(text: str, paragraph: Element) -> list[Part]:
    parts: list[Part] = []
    items: list[Item] = []
    for item in _odf_items(text, paragraph):
        if isinstance(item, Code) and item.name in _ODF_BREAKS:
            parts += [*parts_of(items, escape), item.raw]
            items = []
        else:
            items.append(item)
    return [*parts, *parts_of(items, escape)]


def _odf_items(text: str, element: Element) -> Iterator[Item]:
    check_cancelled()
    cursor = element.inner
    for child in element.children:
        yield from text_items(text[cursor : child.start])
        cursor, raw, name = child.end, text[child.start : child.end], f"{child.name} {child.start}"
        if child.name in _PAIRS and child.inner < child.end:
            yield Code(text[child.start : child.inner], "open", name=name)
            yield from _odf_items(text, child)
            yield Code(text[child.stop : child.end], "close", name=name)
        elif child.name == "s":
            yield Code(raw, "break", " ")
        elif child.name in _ODF_BREAKS:
            yield Code(raw, "alone", name=child.name)
        else:
            yield Code(raw, "alone" if _UNSEEN.fullmatch(child.name) else "object", parts=_odf_nested(text, child))
    yield from text_items(text[cursor : element.stop])


def _odf_nested(text: str, element: Element) -> tuple[Part, ...]:
    parts: list[Part] = []
    cursor = element.start
    for paragraph in _outer_paragraphs(element, *_ODF_PARAGRAPHS):
        parts += [text[cursor : paragraph.inner], *_odf_parts(text, paragraph)]
        cursor = paragraph.stop
    return (*parts, text[cursor : element.end]) if parts else ()


# --- .epub


def _read_labels(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    """Table of contents of an older book, and what its package says of it."""
    slots = []
    for each in parse(text).all("text", "title", "description", "subject", "language"):
        raw = text[each.inner : each.stop]
        if each.name != "language":
            slots.append(Slot(each.inner, each.stop, parts_of(text_items(raw), escape)))
        elif all(languages) and raw.strip().lower().split("-")[0] == languages[0]:
            slots.append(Slot(each.inner, each.stop, [languages[1]]))
    return slots, []


_WORD_MEMBERS = "document header* footer* footnotes endnotes comments".split()
_MEMBERS: dict[str, dict[str, Reader]] = {
    ".docx": {f"word/{name}.xml": _read_runs for name in _WORD_MEMBERS},
    ".pptx": dict.fromkeys(("ppt/slides/slide*.xml", "ppt/notesSlides/notesSlide*.xml"), _read_runs),
    ".odt": dict.fromkeys(("content.xml", "styles.xml"), _read_odf),
    ".epub": {**dict.fromkeys(("*.xhtml", "*.html", "*.htm"), html.read), "*.opf": _read_labels, "*.ncx": _read_labels},
}
