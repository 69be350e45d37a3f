"""XLIFF 1.2 and 2, and TMX: each unit without a translation gets one; the others keep theirs."""

from html import escape as quote
from typing import Literal

from regard.documents.segments import CodeKind, Item, Languages, Part, Slot, parts_of, segments_of
from regard.documents.xml import Element, escape, items_of, parse
from regard.errors import DataError

_Kinds = dict[str, CodeKind | Literal["pair"]]
_XLIFF_KINDS: _Kinds = {
    "g": "pair", "mrk": "pair", "pc": "pair", "sub": "alone", "x": "object", "ph": "object", "it": "alone",
    "bx": "open", "bpt": "open", "sc": "open", "sm": "open",
    "ex": "close", "ept": "close", "ec": "close", "em": "close",
}  # fmt: skip
_UNTRANSLATED = ("new", "needs-translation", "initial")  # states in which a target may be a copy of the source
_TMX_KINDS: _Kinds = {"hi": "pair", "bpt": "open", "ept": "close"}


def read_xliff(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    root = parse(text, "xliff")
    slots = _language_slots(root, languages[1]) if languages[1] else []
    for unit in root.all("trans-unit", "segment"):
        source, target = unit.child("source"), unit.child("target")
        if source is None or unit.inherited("translate") == "no":
            continue
        parts = parts_of(items_of(text, source, lambda name: _XLIFF_KINDS.get(name, "alone")), escape)
        if any(segments_of(parts)) and (target is None or _is_open(text, unit, source, target)):
            slots.append(_target_slot(text, unit, source, target, parts))
    return sorted(slots, key=lambda slot: slot.start), []


def _is_open(text: str, unit: Element, source: Element, target: Element) -> bool:
    content = text[target.inner : target.stop]
    state = target.attributes.get("state") or unit.attributes.get("state", "")
    is_copy = content == text[source.inner : source.stop]
    return not content.strip() or (state in _UNTRANSLATED and is_copy)


def _target_slot(text: str, unit: Element, source: Element, target: Element | None, parts: list[Part]) -> Slot:
    closing = f"</{source.prefixed('target')}>"
    if target is None:
        end = (unit.child("seg-source") or source).end
        opening = f"{_space_before(text, source)}<{source.prefixed('target')}>"
        return Slot(end, end, [opening, *parts, closing])
    if target.inner == target.end:
        opening = text[target.start : target.end].removesuffix("/>").rstrip() + ">"
        return Slot(target.start, target.end, [opening, *parts, closing])
    return Slot(target.inner, target.stop, parts)


def _language_slots(root: Element, language: str) -> list[Slot]:
    """XLIFF with targets has to name their language."""
    if root.attributes.get("version", "").startswith("2"):
        holders, attribute = [root], "trgLang"
    else:
        holders, attribute = list(root.all("file")), "target-language"
    ends = [holder.inner - len(">") for holder in holders if holder.children and attribute not in holder.attributes]
    return [Slot(end, end, [f' {attribute}="{quote(language)}"']) for end in ends]


def read_tmx(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    root = parse(text, "tmx")
    header = root.child("header")
    source_language = languages[0] or (header.attributes.get("srclang", "") if header else "")
    if not languages[1]:
        raise DataError("a translation memory needs the target's language: got none; name it")
    slots: list[Slot] = []
    num_without = 0
    for unit in root.all("tu"):
        source, target = variant(unit, source_language), variant(unit, languages[1])
        segment = source.child("seg") if source else None
        if source is None or segment is None:
            num_without += 1
            continue
        parts = parts_of(tmx_items(text, segment), escape)
        if any(segments_of(parts)):
            slots += _variant_slots(text, source, target, languages[1], parts)
    warnings = [f"{num_without} unit(s) have no text in {source_language}"] if num_without else []
    return slots, warnings


def tmx_items(text: str, segment: Element) -> list[Item]:
    return items_of(text, segment, lambda name: _TMX_KINDS.get(name, "alone"))


def variant(unit: Element, language: str) -> Element | None:
    """The text of a unit in a language; `fr-CA` counts as `fr`."""
    for child in unit.children:
        given = child.attributes.get("xml:lang") or child.attributes.get("lang") or ""
        if child.name == "tuv" and given.lower().split("-")[0] == language.lower().split("-")[0]:
            return child
    return None


def _variant_slots(text: str, source: Element, target: Element | None, language: str, parts: list[Part]) -> list[Slot]:
    variant, seg = source.prefixed("tuv"), source.prefixed("seg")
    if target is None:
        opening = f'{_space_before(text, source)}<{variant} xml:lang="{quote(language)}"><{seg}>'
        return [Slot(source.end, source.end, [opening, *parts, f"</{seg}></{variant}>"])]
    segment = target.child("seg")
    if segment is None or text[segment.inner : segment.stop].strip():
        return []
    return [Slot(segment.start, segment.end, [f"<{seg}>", *parts, f"</{seg}>"])]


def _space_before(text: str, element: Element) -> str:
    """Line end and indent before an element, for a new one beside it."""
    before = text[max(0, element.start - 1000) : element.start]
    return before[len(before.rstrip()) :]
