"""gettext catalogues (.po): each message without a translation gets one; the others keep theirs.

A doubtful translation is marked fuzzy, the format's own word for it. The others are not: programs ignore fuzzy ones.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import methodcaller

from regard.documents.markup import inline_items
from regard.documents.segments import LINE, Code, Languages, Part, Segment, Slot, TextRun, parts_of
from regard.errors import DataError

_FIELD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*(".*)')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_ESCAPED = re.compile(r'\\(?:x[0-9a-fA-F]{2}|[0-3]?[0-7]{1,2}|["\\abfnrtv])')
_ESCAPES = str.maketrans({sign: f"\\{name}" for sign, name in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)})


@dataclass(slots=True)
class _Message:
    """One message: the text of each field, and the position of its translations."""

    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    start: int = -1


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    ends = re.search(r"\r\n|\r|\n", text)
    newline = ends.group() if ends else "\n"
    slots: list[Slot] = []
    messages = list(_messages(text))
    signs = key_signs(message.texts.get("msgid", "") for message in messages)
    for message in messages:
        missing = [name for name in message.places if not message.texts[name]]
        if not message.texts.get("msgid") or not missing:
            continue
        parts: list[Part] = []
        cursor = message.start
        for name in missing:
            start, end = message.places[name]
            source = _source_of(message, name)
            parts += [text[cursor:start], f"{name} ", *_quoted(source, newline, signs)]
            cursor = end
        slots.append(Slot(message.start, cursor, parts, if_doubtful=f"#, fuzzy{newline}"))
    return slots, []


def _source_of(message: _Message, name: str) -> str:
    """The singular for the first of several forms, the plural for the others and for an only form."""
    num_forms = sum(each.startswith("msgstr[") for each in message.places)
    is_singular = name in ("msgstr", "msgstr[0]") and num_forms != 1
    singular = message.texts["msgid"]
    return singular if is_singular else message.texts.get("msgid_plural", singular)


def _quoted(source: str, newline: str, signs: frozenset[str]) -> list[Part]:
    """The strings of a translation; a message of several lines is translated line by line."""
    lines = source.splitlines(keepends=True)
    parts: list[Part] = [f'""{newline}'] if len(lines) > 1 else []
    for number, line in enumerate(lines):
        at, key = find_key(line, signs) or (len(line), TextRun("", ""))
        found = parts_of([*inline_items(line[:at]), key, *inline_items(line[at + 1 :])])
        parts += [newline if number else "", '"', *map(_escaped, found), '"']
    return parts


def _escaped(part: Part) -> Part:
    if isinstance(part, str):
        return _escape(part)
    return Segment(tuple(replace(item, raw=_escape(item.raw)) for item in part.items), _escape)


_escape = methodcaller("translate", _ESCAPES)


def _messages(text: str) -> Iterator[_Message]:
    """The messages in order; a comment or a msgid after a translation begins a new one."""
    message, current = _Message(), ""
    for number, match in enumerate(LINE.finditer(text), 1):
        line = match[1].strip()
        start = match.start() + len(match[1]) - len(match[1].lstrip())
        found = _FIELD.fullmatch(line)
        is_gap = not line or line.startswith("#")
        if message.places and (is_gap or found and not found[1].startswith("msgstr")):
            yield message
            message = _Message()
        if is_gap:
            current = ""
            continue
        quoted = line
        if found:
            current, quoted = found.groups()
            message.texts[current] = ""
            message.start = start if message.start < 0 else message.start
        string = _STRING.fullmatch(quoted)
        if not current or string is None:
            raise DataError(
                f"line {number} of the catalogue must be a comment, a field such as msgid, or a quoted "
                f"string: got {line[:40]!r}; check it with msgfmt"
            )
        message.texts[current] += _ESCAPED.sub(lambda found: found.group().encode().decode("unicode_escape"), string[1])
        if current.startswith("msgstr"):
            first = message.places.get(current, (start, 0))[0]
            message.places[current] = (first, match.start() + len(match[1].rstrip()))
    if message.places:
        yield message


# --- keyboard letters: `&Open` (Qt, Windows), `_Save` (GTK), `~File`
# The model sees the word without the sign. The sign comes back before the same letter where a word begins with it, else
# before the first. A catalogue uses a sign if some label has it before a word; a label then may have it inside a word.

_LONGEST_LABEL = 80  # characters
_BEFORE_A_WORD = {  # but `&amp;` is a character, `_id` a name and `~5` about five
    "&": re.compile(r"(?<![&\w])&(?=[^\W_])(?!\w{1,31};)"),
    "_": re.compile(r"(?:(?<!\S)(?<!^)_(?=[^\W_])|^_(?=[A-ZÀ-Þ0-9]))(?!\w*_)"),
    "~": re.compile(r"(?<![\w~])~(?=[^\W\d_])"),
}
_INSIDE_A_WORD = {  # before a small letter, for `R&D` is a name; so is `max_count`, but not `E_xit`
    "&": re.compile(r"(?<=[^\W\d_])&(?=[a-zà-ÿ])(?!\w{1,31};)"),
    "_": re.compile(r"(?<!\w)[A-ZÀ-Þ][^\W\d_]{0,40}_(?=[a-zà-ÿ])"),
}


def key_signs(labels: Iterable[str]) -> frozenset[str]:
    """The signs that a catalogue uses."""
    labels = [label for label in labels if len(label) <= _LONGEST_LABEL]
    return frozenset(
        sign
        for sign, pattern in _BEFORE_A_WORD.items()
        if any(label.count(sign) == 1 and pattern.search(label) for label in labels)
    )


def find_key(label: str, signs: frozenset[str]) -> tuple[int, Code] | None:
    """The position of a label's sign, and its code, which is named after the letter."""
    for sign in sorted(signs) if len(label) <= _LONGEST_LABEL else ():
        for pattern in (_BEFORE_A_WORD[sign], _INSIDE_A_WORD.get(sign)):
            if label.count(sign) == 1 and pattern and (match := pattern.search(label)):
                at = match.end() - 1
                return at, Code(sign, "key", name=label[at + 1].casefold())
    return None
