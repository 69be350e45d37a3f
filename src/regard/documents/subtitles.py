"""Subtitles, SubRip (.srt) and WebVTT (.vtt): speech is translated; numbers, timings, notes and styles stay."""

import re
from collections.abc import Iterator

from regard.documents.markup import VOID, escape, inline_items, split_items
from regard.documents.segments import LINE, Code, Languages, Part, Slot, parts_of
from regard.text import Span

_TIME = r"(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}"
_TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]*")
_NUMBER = re.compile(r"[ \t]*\d+[ \t]*")

# The beginning of a speech: a dash, or a name, which is translated with the rest (WOMAN: ...).
_TAGS = r"(?:<[^<>]{0,50}>|\{\\[^{}]{0,50}\})*\s*"
_SPEAKER = re.compile(rf"{_TAGS}[-–—]\s*")
_CAPITALS = re.compile(rf"{_TAGS}[A-ZÀ-Þ][A-ZÀ-Þ0-9 .'’#-]{{0,30}}:(?:\s|$)")
_SOUND = re.compile(rf"{_TAGS}(?:\[[^\[\]]*\]|\([^()]*\)){_TAGS}")  # a line such as [door closes]
_NAME = r"[A-ZÀ-Þ0-9#][\w.'’-]{0,20}"
_NAMED = re.compile(rf"{_TAGS}{_NAME}(?: {_NAME}){{0,2}} ?:(?:\s|$)")

_SIGNS = re.compile(r"<[^<>]*>|(\{\\[^{}]{0,100}\}|[♪♫♬]+)")
"""group 1: player commands and music notes, outside of tags"""
_WITHOUT_END = VOID | {"v"}  # tags that need no end: WebVTT's voice lasts to the end of the cue


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    is_vtt = text.startswith("WEBVTT")
    speeches = [span for cue in _cues(text) for span in _speeches(text, cue)]
    slots = [Slot(start, end, _parts(text[start:end], is_vtt)) for start, end in speeches]
    if not slots and text.strip():
        return [], ["no subtitle was found: there is no line like 00:00:01,000 --> 00:00:02,000"]
    return slots, []


def _cues(text: str) -> Iterator[list[Span]]:
    """The lines of text under each timing."""
    lines = [match.span(1) for match in LINE.finditer(text)]
    timed = [bool(_TIMING.fullmatch(text, *line)) for line in lines] + [False]
    cue: list[Span] | None = None
    for index, (start, end) in enumerate(lines):
        next_begins = timed[index + 1] and _NUMBER.fullmatch(text, start, end)
        if timed[index] or not text[start:end].strip() or next_begins:
            if cue:
                yield cue
            cue = [] if timed[index] else None
        elif cue is not None:
            cue.append((start, end))
    if cue:
        yield cue


def _speeches(text: str, cue: list[Span]) -> list[Span]:
    """The lines of a cue, those of one speaker together."""
    speeches = cue[:1]
    # A name in small letters counts only if the first line begins with one; else it may be a word.
    name = _NAMED if _NAMED.match(text, *cue[0]) else _CAPITALS
    for line, (start, end) in zip(cue, cue[1:], strict=False):
        is_sound = any(_SOUND.fullmatch(text, *each) for each in (line, (start, end)))
        if is_sound or name.match(text, start, end) or _SPEAKER.match(text, start, end):
            speeches.append((start, end))
        else:
            speeches[-1] = (speeches[-1][0], end)
    return speeches


def _parts(raw: str, is_vtt: bool) -> list[Part]:
    dash = _SPEAKER.match(raw)
    begin = dash.end() if dash else 0
    items = split_items(
        raw[begin:],
        _SIGNS,
        lambda found: Code(found[0], "alone") if found[1] else None,
        lambda text: inline_items(text, _WITHOUT_END),
    )
    # In SubRip nothing can be escaped, and an arrow would look like a timing.
    parts = parts_of(items, escape if is_vtt else lambda text: text.replace("-->", "→"))
    return [raw[:begin], *parts]
