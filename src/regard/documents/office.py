"""Office files and books: zip archives of XML, of which only the members with text are written anew.

.docx and .pptx hold runs (`runs`), .odt has real inline elements, and the chapters of .epub are pages.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Literal

from regard.documents import html, runs
from regard.documents.runs import outer_paragraphs
from regard.documents.segments import CodeKind, Languages, Part, Reader, Slot, parts_of
from regard.documents.xml import Element, escape, items_of, parse, text_items
from regard.errors import DataError

_MAX_MEMBERS, _MAX_BYTES, _MAX_TEXT_BYTES = 20_000, 1 << 29, 1 << 25
"""members of an archive, bytes of all when unpacked, and bytes of one that is read as text"""
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


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


# --- .odt

_ODF_KINDS: dict[str, CodeKind | Literal["pair"]] = {
    **dict.fromkeys("span a meta meta-field ruby ruby-base".split(), "pair"), "s": "break", "tab": "end", "line-break": "end",
}  # fmt: skip
_ODF_PARAGRAPHS = ("p", "h")
_UNSEEN = re.compile(r"(?:bookmark|reference|change|toc|index|alphabetical|user-index|soft-page|annotation).*|note")


def _read_odf(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    paragraphs = outer_paragraphs(parse(text), *_ODF_PARAGRAPHS)
    return [Slot(each.inner, each.stop, _odf_parts(text, each)) for each in paragraphs if each.inner < each.end], []


def _odf_parts(text: str, paragraph: Element) -> list[Part]:
    return parts_of(items_of(text, paragraph, _odf_kind, partial(_odf_nested, text)), escape)


def _odf_kind(name: str) -> CodeKind | Literal["pair"]:
    return _ODF_KINDS.get(name) or ("alone" if _UNSEEN.fullmatch(name) else "object")


def _odf_nested(text: str, element: Element) -> tuple[Part, ...]:
    parts: list[Part] = []
    cursor = element.start
    for paragraph in outer_paragraphs(element, *_ODF_PARAGRAPHS):
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
    ".docx": {f"word/{name}.xml": runs.read for name in _WORD_MEMBERS},
    ".pptx": dict.fromkeys(("ppt/slides/slide*.xml", "ppt/notesSlides/notesSlide*.xml"), runs.read),
    ".odt": dict.fromkeys(("content.xml", "styles.xml"), _read_odf),
    ".epub": {**dict.fromkeys(("*.xhtml", "*.html", "*.htm"), html.read), "*.opf": _read_labels, "*.ncx": _read_labels},
}
