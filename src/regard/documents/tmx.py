"""TMX: each unit that lacks the target language gets it."""

from __future__ import annotations

from html import escape as quote

from regard.documents.formats import Languages
from regard.documents.segments import Segment, Slot, parts_of
from regard.documents.xml import Element, escape, items_of, parse, space_before
from regard.errors import DataError

_CODES = {"hi": "pair", "bpt": "open", "ept": "close"}


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    root = parse(text, "tmx")
    header = root.child("header")
    declared = header.attributes.get("srclang", "") if header else ""
    source_language = languages[0] or declared
    if not languages[1]:
        raise DataError("a translation memory needs the target's language: got none; name it")
    slots: list[Slot] = []
    num_without = 0
    for unit in root.all("tu"):
        source, target = _variant(unit, source_language), _variant(unit, languages[1])
        segment = source.child("seg") if source else None
        if source is None or segment is None:
            num_without += 1
            continue
        parts = parts_of(items_of(text, segment, _CODES), escape)
        if any(isinstance(part, Segment) for part in parts):
            slots += _slots(text, source, target, languages[1], parts)
    warnings = [f"{num_without} unit(s) have no text in {source_language}"] if num_without else []
    return slots, warnings


def _variant(unit: Element, language: str) -> Element | None:
    """The text of a unit in a language; `fr-CA` is as good as `fr`."""
    for child in unit.children:
        told = child.attributes.get("xml:lang") or child.attributes.get("lang") or ""
        if child.name == "tuv" and told.lower().split("-")[0] == language.lower().split("-")[0]:
            return child
    return None


def _slots(
    text: str, source: Element, target: Element | None, language: str, parts: list[str | Segment]
) -> list[Slot]:
    prefix = f"{source.prefix}:" if source.prefix else ""
    segment = target.child("seg") if target else None
    opening, closing = f"<{prefix}seg>", f"</{prefix}seg>"
    if target is None:
        opening = f'{space_before(text, source)}<{prefix}tuv xml:lang="{quote(language)}">{opening}'
        return [Slot(source.end, source.end, [opening, *parts, f"{closing}</{prefix}tuv>"])]
    if segment is None or text[segment.inner : segment.stop].strip():
        return []
    return [Slot(segment.start, segment.end, [opening, *parts, closing])]
