"""Whole documents: read, translated segment by segment, and written with everything else as it was.

A segment is given to the model as it reads. If a placeholder does not come back, the segment is tried again with names
in place of the placeholders. If that fails, or a tag finds no room, the words between the codes are translated on their
own and the codes stay where they were. Such a segment is doubtful, and a warning names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from regard.documents.encoding import decode, encode
from regard.documents.rendering import ShownSegment, TranslatedText
from regard.documents.segments import Code, Item, Languages, Segment, Slot, cancelled_when, parts_of
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
SUFFIXES = tuple(_READERS)

Reader = Callable[[str, Languages], tuple[list[Slot], list[str]]]
"""from a file's text to its slots, in order, and to warnings"""
Translate = Callable[[list[str]], Sequence[TranslatedText]]

_NUM_SHOWN = 60
"""characters of a doubtful segment in its warning"""
_IN_PARTS = "had to be translated in parts, to keep their tags and placeholders"
_NOT_WHOLE = "could not be translated in whole without harm to their placeholders"


@dataclass(frozen=True, slots=True)
class TranslatedSegment:
    source: str
    """as the model saw it"""
    written: str
    """as the file has it"""
    doubt: str = ""
    """why a person should look at it; empty where nothing is wrong"""


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
    reader: Reader = getattr(import_module(f"regard.documents.{module}"), function)
    return reader


def segment_texts(data: bytes, suffix: str, encoding: str | None = None) -> list[str]:
    """What there is to translate in a file, as a reader sees it."""
    # TMX asks for a target language even if nothing is written.
    slots, _ = reader_of(suffix)(decode(data, suffix, encoding).content, ("", "und"))
    return [segment.text for segment in _segments(slots)]


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
        read = reader_of(suffix)
        text = decode(data, suffix, encoding)
        slots, warnings = read(text.content, languages)
        segments = translate_segments(_segments(slots), translate, languages[1])
        content = _filled(text.content, slots, segments)
    written, num_lost = encode(replace(text, content=content), suffix)
    doubtful: dict[str, list[str]] = {}
    for segment in segments:
        doubtful.setdefault(segment.doubt, []).append(segment.source)
    warnings += [
        f"{len(sources)} segment(s) {doubt}, the first: {sources[0][:_NUM_SHOWN]!r}"
        for doubt, sources in doubtful.items()
        if doubt
    ]
    if num_lost:
        warnings.append(f"{num_lost} character(s) have no place in {text.encoding}: ? stands there")
    return TranslatedDocument(written, warnings, segments)


def _segments(slots: Iterable[Slot]) -> list[Segment]:
    return [
        part
        for slot in slots
        for parts in (slot.parts, *slot.asides)
        for part in parts
        if isinstance(part, Segment)
    ]


def _filled(content: str, slots: Iterable[Slot], segments: Iterable[TranslatedSegment]) -> str:
    """The content with the slots written anew; `segments` in the order of the slots."""
    following = iter(segments)
    pieces: list[str] = []
    cursor = 0
    for slot in slots:
        filled = [
            [next(following) if isinstance(part, Segment) else part for part in parts]
            for parts in (slot.parts, *slot.asides)
        ]
        doubtful = any(getattr(part, "doubt", "") for parts in filled for part in parts)
        written, *asides = (
            "".join(part if isinstance(part, str) else part.written for part in parts)
            for parts in filled
        )
        pieces += [content[cursor : slot.start], slot.finish(written, asides, doubtful)]
        cursor = slot.end
    return "".join(pieces) + content[cursor:]


def translate_segments(
    segments: Sequence[Segment], translate: Translate, language: str = ""
) -> list[TranslatedSegment]:
    """Each segment translated; equal ones are translated once."""
    known: dict[Segment, TranslatedSegment] = {}
    left = list(dict.fromkeys(segments))
    for stand_ins in (False, True):
        shown = [ShownSegment(segment, stand_ins=stand_ins) for segment in left]
        shown = [each for each in shown if not each.needs_parts and (each.kept or not stand_ins)]
        for each, found in zip(shown, _translated(shown, translate, language), strict=True):
            if found is not None:
                known[each.segment] = found
        left = [segment for segment in left if segment not in known]
    known.update(zip(left, _in_parts(left, translate, language), strict=True))
    return [known[segment] for segment in segments]


def _translated(
    shown: Sequence[ShownSegment], translate: Translate, language: str
) -> list[TranslatedSegment | None]:
    """The translation of each segment; None where a placeholder or a tag was lost."""
    texts = list(dict.fromkeys(each.text for each in shown))
    answers = dict(zip(texts, translate(texts), strict=True)) if texts else {}
    found: list[TranslatedSegment | None] = []
    for each in shown:
        answer = answers[each.text]
        written = each.render(answer, language)
        # The translator may have cut the sentence itself, for the same reason.
        doubt = _IN_PARTS if getattr(answer, "in_parts", False) else ""
        segment = TranslatedSegment(each.segment.text, written or "", doubt)
        found.append(None if written is None else segment)
    return found


def _in_parts(
    segments: Sequence[Segment], translate: Translate, language: str
) -> list[TranslatedSegment]:
    """Only the words between codes are translated; words that gain a placeholder stay as they were."""
    cut = [_between_codes(segment) for segment in segments]
    wanted = dict.fromkeys(part for parts in cut for part in parts if isinstance(part, Segment))
    shown = [ShownSegment(part) for part in wanted]
    answers = dict(zip(wanted, _translated(shown, translate, language), strict=True))
    found: list[TranslatedSegment] = []
    for segment, parts in zip(segments, cut, strict=True):
        source, written, doubt = "", "", _IN_PARTS
        for part in parts:
            raw = answer = part if isinstance(part, str) else part.raw
            if isinstance(part, Segment):
                if (translated := answers[part]) is not None:
                    answer = translated.written
                else:
                    doubt = _NOT_WHOLE
            # A word that a comma separated from a placeholder must not touch it now.
            if _touch(written, answer) and not _touch(source, raw):
                written += " "
            written += answer
            source += raw
        found.append(TranslatedSegment(segment.text, written, doubt))
    return found


def _between_codes(segment: Segment) -> list[str | Segment]:
    parts: list[str | Segment] = []
    run: list[Item] = []
    for item in segment.items:
        if isinstance(item, Code) and item.kind != "break":
            parts += [*parts_of(run, segment.escape), item.raw]
            run = []
        else:
            run.append(item)
    return [*parts, *parts_of(run, segment.escape)]


def _touch(left: str, right: str) -> bool:
    return left[-1:].isalnum() and right[:1].isalnum()
