"""Whole documents: read, translated segment by segment, and written with everything else as it was.

A segment is given to the model as it reads. If a placeholder does not come back, the segment is tried again with names
in place of the placeholders. If that fails, the words between the codes are translated on their own and the codes stay
where they were. If the words of a tag have no place in the translation, they are translated on their own, and the rest
again around a placeholder for them. Such segments are doubtful, and a warning names them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from regard.documents import office
from regard.documents.plain import DecodedText, check_target, decode, encode
from regard.documents.rendering import ShownSegment, TranslatedText
from regard.documents.segments import Code, Languages, Part, Reader, Segment, Slot, cancelled_when, segments_of
from regard.errors import UsageError, suggest

_READERS = {
    **dict.fromkeys((".txt", ".text"), "plain.read"),
    **dict.fromkeys((".md", ".markdown"), "markdown.read"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html.read"),
    **dict.fromkeys((".srt", ".vtt"), "subtitles.read"),
    **dict.fromkeys((".po", ".pot"), "gettext.read"),
    **dict.fromkeys((".xliff", ".xlf"), "bilingual.read_xliff"),
    ".tmx": "bilingual.read_tmx",
}
ARCHIVES = (".docx", ".odt", ".pptx", ".epub")
SUFFIXES = (*_READERS, *ARCHIVES)

Translate = Callable[[list[str]], Sequence[TranslatedText]]

_NUM_SHOWN = 60  # characters of a doubtful segment in its warning
_IN_PARTS = "had to be translated in parts, to keep their tags and placeholders"


@dataclass(frozen=True, slots=True)
class TranslatedSegment:
    source: str  # text that the model read
    written: str  # text in the file
    doubt: str = ""  # why a person should look at it; empty where nothing is wrong


@dataclass(frozen=True, slots=True)
class TranslatedDocument:
    data: bytes
    warnings: list[str]
    segments: list[TranslatedSegment]


def reader_of(suffix: str) -> Reader:
    """The reader of a format; imported when it is asked for."""
    if suffix not in _READERS:
        raise UsageError(
            f"a document must be one of {' '.join(SUFFIXES)}: got {suffix or 'a name without suffix'}"
            f"{suggest(suffix, SUFFIXES)}; translate it line by line with --input"
        )
    module, function = _READERS[suffix].split(".")
    return getattr(import_module(f"regard.documents.{module}"), function)


@dataclass(frozen=True, slots=True)
class _Member:
    """A text with places to write anew: a file, or a member of an archive."""

    text: DecodedText
    slots: Sequence[Slot]

    def written(self, known: dict[Segment, TranslatedSegment]) -> DecodedText:
        written, cursor = "", 0
        for slot in self.slots:
            is_doubtful = any(known[segment].doubt for segment in segments_of(slot.parts))
            written += self.text.content[cursor : slot.start] + slot.if_doubtful * is_doubtful
            written += slot.finish(_filled(slot.parts, known))
            cursor = slot.end
        return replace(self.text, content=written + self.text.content[cursor:])


def _read(data: bytes, suffix: str, languages: Languages, encoding: str | None) -> tuple[dict[str, _Member], list[str]]:
    """The texts of an archive by the names of its members, or the text of a file under an empty name; and warnings."""
    if suffix not in ARCHIVES:
        text = decode(data, suffix, encoding)
        slots, warnings = reader_of(suffix)(text.content, languages)
        return {"": _Member(text, slots)}, warnings
    members: dict[str, _Member] = {}
    for name, (content, reader) in office.read_members(data, suffix).items():
        text = decode(content, ".xhtml")
        members[name] = _Member(text, reader(text.content, languages)[0])
    return members, []


def _segments(members: dict[str, _Member]) -> list[Segment]:
    return [segment for each in members.values() for slot in each.slots for segment in segments_of(slot.parts)]


def segment_texts(data: bytes, suffix: str, encoding: str | None = None) -> list[str]:
    """What there is to translate in a file, as a reader sees it."""
    # TMX asks for a target language even if nothing is written.
    return [segment.text for segment in _segments(_read(data, suffix, ("", "und"), encoding)[0])]


def translate_document(
    data: bytes,
    suffix: str,
    translate: Translate,
    *,
    languages: Languages = ("", ""),
    encoding: str | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> TranslatedDocument:
    """Translate a file's content; the suffix of its name, such as `.html`, gives the format.

    `translate` is called with the texts of all segments, and again with some of them if needed. `languages` are the
    codes of source and target, which TMX has to name. Without an `encoding` it is the one the file declares, else UTF-8.
    `is_cancelled` is asked again and again; once it is true, `Cancelled` is raised.
    """
    with cancelled_when(is_cancelled):
        check_target(data, suffix, languages[1], encoding)
        members, warnings = _read(data, suffix, languages, encoding)
        segments = _segments(members)
        known = translate_segments(segments, translate, languages[1])
        changed: dict[str, bytes] = {}
        for name, member in members.items():
            text = member.written(known)
            if text.content == member.text.content:
                continue
            changed[name], num_lost = encode(text, suffix if suffix in _READERS else ".xhtml")
            if num_lost:
                warnings.append(f"{num_lost} character(s) have no place in {text.encoding}: ? stands there")
    if changed:
        data = office.with_members(data, changed) if suffix in ARCHIVES else changed[""]
    found = [known[segment] for segment in segments]
    if doubtful := [each.source for each in found if each.doubt]:
        warnings.insert(0, f"{len(doubtful)} segment(s) {_IN_PARTS}, the first: {doubtful[0][:_NUM_SHOWN]!r}")
    return TranslatedDocument(data, warnings, found)


def _filled(parts: Iterable[Part], known: dict[Segment, TranslatedSegment]) -> str:
    return "".join(part if isinstance(part, str) else known[part].written for part in parts)


def translate_segments(
    segments: Iterable[Segment], translate: Translate, language: str = ""
) -> dict[Segment, TranslatedSegment]:
    """The translation of each segment; equal ones are translated once."""
    inner = [each for segment in segments for each in segments_of([segment]) if each is not segment]
    known = translate_segments(inner, translate, language) if inner else {}
    # The codes of a segment get the translations of their own texts first.
    filled = {segment: _with_codes(segment, known) for segment in segments}
    found: dict[Segment, TranslatedSegment] = {}
    left = list(dict.fromkeys(filled.values()))
    cut: dict[Segment, Segment] = {}
    for stand_ins in (False, True):
        shown = [ShownSegment(segment, stand_ins=stand_ins) for segment in left if segment not in cut]
        shown = [each for each in shown if not each.needs_parts and (each.kept or not stand_ins)]
        found |= _translated(shown, translate, language)
        left = [segment for segment in left if segment not in found]
        cut |= {each.segment: each.segment.without_words_of(each.lost) for each in shown if each.lost}
    if cut:
        again = translate_segments(cut.values(), translate, language)
        for segment, each in cut.items():
            written = _with_single_stops(segment, again[each].written)
            found[segment] = TranslatedSegment(segment.text, written, _IN_PARTS)
    found |= _in_parts([segment for segment in left if segment not in cut], translate, language)
    return known | {segment: found[each] for segment, each in filled.items()}


def _with_codes(segment: Segment, known: dict[Segment, TranslatedSegment]) -> Segment:
    items = tuple(
        replace(item, raw=_filled(item.parts, known), parts=()) if isinstance(item, Code) and item.parts else item
        for item in segment.items
    )
    return replace(segment, items=items)


def _translated(shown: Sequence[ShownSegment], translate: Translate, language: str) -> dict[Segment, TranslatedSegment]:
    """The translations of those segments that lost no placeholder and no tag."""
    texts = list(dict.fromkeys(each.text for each in shown))
    answers = dict(zip(texts, translate(texts), strict=True)) if texts else {}
    found: dict[Segment, TranslatedSegment] = {}
    for each in shown:
        answer = answers[each.text]
        rendered = each.render(answer, language)
        if rendered is not None:
            # The translator may have cut the sentence itself, for the same reason.
            doubt = _IN_PARTS if getattr(answer, "in_parts", False) else ""
            found[each.segment] = TranslatedSegment(each.segment.text, rendered, doubt)
    return found


def _in_parts(segments: Sequence[Segment], translate: Translate, language: str) -> dict[Segment, TranslatedSegment]:
    """Only the words between codes are translated; words that gain a placeholder stay as they were."""
    cut = {segment: segment.between_codes() for segment in segments}
    wanted = dict.fromkeys(segments_of(part for parts in cut.values() for part in parts))
    answers = _translated([ShownSegment(part) for part in wanted], translate, language)
    found: dict[Segment, TranslatedSegment] = {}
    for segment, parts in cut.items():
        source = target = ""
        for part in parts:
            raw = part if isinstance(part, str) else part.raw
            new = answers[part].written if part in answers else raw
            # A word that a comma separated from a placeholder must not touch it now.
            touch = [left[-1:].isalnum() and right[:1].isalnum() for left, right in ((source, raw), (target, new))]
            target += " " * (touch == [False, True]) + new
            source += raw
        target = target if target == segment.raw else segment.finish(_with_single_stops(segment, target))
        found[segment] = TranslatedSegment(segment.text, target, _IN_PARTS)
    return found


def _with_single_stops(segment: Segment, written: str) -> str:
    """Without the full stop behind a tag that ends in one already, as in `5 p.m.</b>.`"""
    codes = {re.escape(item.raw) for item in segment.items if isinstance(item, Code) and item.raw}
    doubled = re.compile(rf"(?<=\w)\.((?:{'|'.join(codes)})*)\.(?![.\w])")
    return written if doubled.search(segment.raw) else doubled.sub(r".\1", written)
