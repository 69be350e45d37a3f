"""gettext (.po): each message that has no translation gets one; those that have keep theirs.

A translation that a person should look at is marked fuzzy, the format's own word for it. The others are not, for
programs leave out what is fuzzy: a catalogue of nothing else would change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from regard.documents.accelerators import find, signs_of
from regard.documents.formats import Languages
from regard.documents.markup import inline_items
from regard.documents.segments import Item, Segment, Slot, parts_of
from regard.errors import DataError

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_FIELD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,2})\])?)\s*(".*)')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
_MEANINGS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', **{value: f"\\{key}" for key, value in _MEANINGS.items()}}
_TO_ESCAPE = re.compile("[" + re.escape("".join(_ESCAPES)) + "]")


@dataclass(slots=True)
class _Entry:
    """One message: the text of each field, and where it and its translations stand."""

    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    start: int = -1
    is_done: bool = False


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    ends = re.search(r"\r\n|\r|\n", text)
    newline = ends.group() if ends else "\n"

    def finish(written: str, doubtful: bool) -> str:
        return f"#, fuzzy{newline}{written}" if doubtful else written

    slots: list[Slot] = []
    entries = list(_entries(text))
    signs = signs_of(entry.texts.get("msgid", "") for entry in entries)
    for entry in entries:
        missing = [name for name in entry.places if not entry.texts[name]]
        if not entry.texts.get("msgid") or not missing:
            continue
        parts: list[str | Segment] = []
        cursor = entry.start
        for name in missing:
            start, end = entry.places[name]
            source = _source_of(entry, name)
            parts += [text[cursor:start], f"{name} ", *_quoted(source, newline, signs)]
            cursor = end
        slots.append(Slot(entry.start, cursor, parts, finish))
    return slots, []


def _source_of(entry: _Entry, name: str) -> str:
    """What a translation is of: the first one of several of the singular, if the language has one."""
    forms = [each for each in entry.places if each.startswith("msgstr[")]
    is_singular = name in ("msgstr", "msgstr[0]") and len(forms) != 1
    return entry.texts[
        "msgid" if is_singular or "msgid_plural" not in entry.texts else "msgid_plural"
    ]


def _quoted(source: str, newline: str, signs: frozenset[str]) -> list[str | Segment]:
    """A message of several lines is translated line by line, and has a string for each of them."""
    lines = source.splitlines(keepends=True)
    parts: list[str | Segment] = [f'""{newline}'] if len(lines) > 1 else []
    for number, line in enumerate(lines):
        found = parts_of(_items(line, signs))
        parts += [newline if number else "", '"', *map(_escaped, found), '"']
    return parts


def _items(line: str, signs: frozenset[str]) -> Iterator[Item]:
    if (found := find(line, signs)) is None:
        return inline_items(line)
    at, key = found
    return chain(inline_items(line[:at]), [key], inline_items(line[at + 1 :]))


def _escaped(part: str | Segment) -> str | Segment:
    if isinstance(part, str):
        return _escape(part)
    items = tuple(replace(item, raw=_escape(item.raw)) for item in part.items)
    return Segment(items, _escape, _escape(part.raw))


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: _ESCAPES[match.group()], text)


def _entries(text: str) -> Iterator[_Entry]:
    """The messages in order; a comment or a msgid after a translation begins another."""
    entry, current = _Entry(), ""
    for number, match in enumerate(_LINE.finditer(text), 1):
        line = match.group(1).strip()
        start = match.start() + len(match.group(1)) - len(match.group(1).lstrip())
        if not line or line.startswith("#"):
            if entry.is_done:
                yield entry
                entry = _Entry()
            current = ""
            continue
        if found := _FIELD.fullmatch(line):
            current, quoted = found[1], found[3]
            if entry.is_done and not current.startswith("msgstr"):
                yield entry
                entry = _Entry()
            entry.texts[current] = ""
            entry.start = start if entry.start < 0 else entry.start
            entry.is_done |= current.startswith("msgstr")
        else:
            quoted = line
        string = _STRING.fullmatch(quoted)
        if not current or string is None:
            raise DataError(
                f"line {number} of the catalogue must be a comment, a field such as msgid, or a quoted "
                f"string: got {line[:40]!r}; check it with msgfmt"
            )
        entry.texts[current] += _ESCAPED.sub(_meaning, string[1])
        if current.startswith("msgstr"):
            first = entry.places.get(current, (start, 0))[0]
            entry.places[current] = (first, match.start() + len(match.group(1).rstrip()))
    if entry.is_done:
        yield entry


def _meaning(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code[0] in "01234567" else _MEANINGS.get(code, code)
