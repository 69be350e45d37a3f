"""A whole document: read, translated segment by segment, and written with everything else as it was.

A segment is given to the model as it reads. If a placeholder does not come back, it is tried again with names in
the placeholders' stead; if that fails, or there is no room for a tag, the words between them are translated on
their own, and what stands between stays where it was. Such a segment is doubtful and is named in a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from regard.documents.abandoning import abandoned_when, never
from regard.documents.encoding import Text, decode, encode
from regard.documents.formats import Languages, reader_of
from regard.documents.rendering import Translated, View
from regard.documents.segments import Code, Item, Segment, parts_of

Translate = Callable[[list[str]], Sequence[Translated]]

_NUM_SHOWN = 60
_IN_PARTS = "had to be translated in parts, to keep their tags and placeholders"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A segment and what became of it."""

    source: str
    """as the model saw it"""
    written: str
    """as it stands in the file"""
    doubt: str = ""
    """why a person should look at it; empty where nothing is wrong"""


@dataclass(frozen=True, slots=True)
class Document:
    """A translated document."""

    data: bytes
    warnings: list[str]
    segments: list[Rendered]


def translate_document(
    data: bytes,
    suffix: str,
    translate: Translate,
    *,
    languages: Languages = ("", ""),
    encoding: str | None = None,
    is_abandoned: Callable[[], bool] = never,
) -> Document:
    """Translate a file's content; its format is known by the suffix of its name, such as `.html`.

    `translate` is called with the texts of all segments, and now and then with some again. `languages` are
    the source's and the target's codes, which TMX has to name. Without an `encoding` it is the one the file
    declares, and UTF-8 where it declares none. `is_abandoned` is asked now and then; when it says yes, `Abandoned`
    is raised.
    """
    with abandoned_when(is_abandoned):
        return _translated(data, suffix, translate, languages, encoding)


def _translated(
    data: bytes, suffix: str, translate: Translate, languages: Languages, encoding: str | None
) -> Document:
    read = reader_of(suffix)
    text = decode(data, suffix, encoding)
    slots, warnings = read(text.content, languages)
    segments = [part for slot in slots for part in slot.parts if isinstance(part, Segment)]
    rendered = render_segments(segments, translate, languages[1])
    written: list[str] = []
    cursor, next_segment = 0, iter(rendered)
    for slot in slots:
        parts, doubtful = [], False
        for part in slot.parts:
            if isinstance(part, Segment):
                each = next(next_segment)
                doubtful |= bool(each.doubt)
                part = each.written
            parts.append(part)
        written += [text.content[cursor : slot.start], slot.finish("".join(parts), doubtful)]
        cursor = slot.end
    written.append(text.content[cursor:])
    return _document(Text("".join(written), text.encoding, text.mark), rendered, warnings, suffix)


def segment_texts(data: bytes, suffix: str, encoding: str | None = None) -> list[str]:
    """What there is to translate in a file, as a reader sees it."""
    # TMX wants to know a language to write, though nothing is written here.
    slots, _ = reader_of(suffix)(decode(data, suffix, encoding).content, ("", "und"))
    return [part.text for slot in slots for part in slot.parts if isinstance(part, Segment)]


def _document(text: Text, rendered: list[Rendered], warnings: list[str], suffix: str) -> Document:
    data, lost = encode(text, suffix)
    doubts: dict[str, list[str]] = {}
    for each in rendered:
        if each.doubt:
            doubts.setdefault(each.doubt, []).append(each.source)
    for doubt, sources in doubts.items():
        first = sources[0][:_NUM_SHOWN]
        warnings = [*warnings, f"{len(sources)} segment(s) {doubt}, the first: {first!r}"]
    if lost:
        warnings = [
            *warnings,
            f"{lost} character(s) have no place in {text.encoding}: ? stands there",
        ]
    return Document(data, warnings, rendered)


def render_segments(
    segments: Sequence[Segment], translate: Translate, language: str = ""
) -> list[Rendered]:
    """Each segment translated; equal ones are translated once."""
    known: dict[Segment, Rendered] = {}
    open_ = list(dict.fromkeys(segments))
    for stand_ins in (False, True):
        views = [View(segment, stand_ins=stand_ins) for segment in open_]
        views = [view for view in views if not view.needs_parts and (view.kept or not stand_ins)]
        for view, rendered in zip(views, _rendered(views, translate, language), strict=True):
            if rendered is not None:
                known[view.segment] = rendered
        open_ = [segment for segment in open_ if segment not in known]
    known.update(zip(open_, _in_parts(open_, translate, language), strict=True))
    return [known[segment] for segment in segments]


def _rendered(
    views: Sequence[View], translate: Translate, language: str
) -> Iterable[Rendered | None]:
    texts = list(dict.fromkeys(view.text for view in views))
    if not texts:
        return []
    answers = dict(zip(texts, translate(texts), strict=True))
    rendered: list[Rendered | None] = []
    for view in views:
        written, answer = view.render(answers[view.text], language), answers[view.text]
        # A translator may have cut the sentence for its own part, to the same end.
        doubt = _IN_PARTS if getattr(answer, "in_parts", False) else ""
        rendered.append(None if written is None else Rendered(view.segment.text, written, doubt))
    return rendered


def _in_parts(segments: Sequence[Segment], translate: Translate, language: str) -> list[Rendered]:
    """Only the words between codes are translated; where even that adds a placeholder the source stays."""
    cut = [_between_codes(segment) for segment in segments]
    wanted = dict.fromkeys(part for parts in cut for part in parts if isinstance(part, Segment))
    views = [View(part) for part in wanted]
    answers = dict(zip(wanted, _rendered(views, translate, language), strict=True))
    rendered: list[Rendered] = []
    for segment, parts in zip(segments, cut, strict=True):
        written, doubt = "", _IN_PARTS
        source = ""
        for part in parts:
            raw = part.raw if isinstance(part, Segment) else part
            found = answers[part] if isinstance(part, Segment) else Rendered(part, part)
            if found is None:
                doubt = "could not be translated in whole without harm to their placeholders"
            answer = raw if found is None else found.written
            # A word that a comma held apart from a placeholder must not run into it.
            if _run_together(written, answer) and not _run_together(source, raw):
                written += " "
            written += answer
            source += raw
        rendered.append(Rendered(segment.text, written, doubt))
    return rendered


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


def _run_together(left: str, right: str) -> bool:
    return left[-1:].isalnum() and right[:1].isalnum()
