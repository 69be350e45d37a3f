"""XLIFF 1.2 and 2: each unit that has no translation gets one; those that have keep theirs."""

from __future__ import annotations

from html import escape as quote

from regard.documents.formats import Languages
from regard.documents.segments import Segment, Slot, parts_of
from regard.documents.xml import Element, escape, items_of, parse, space_before

_CODES = {
    "g": "pair", "mrk": "pair", "pc": "pair", "sub": "alone",
    "bx": "open", "bpt": "open", "sc": "open", "sm": "open",
    "ex": "close", "ept": "close", "ec": "close", "em": "close",
}  # fmt: skip

# States in which a target is still a copy of the source.
_UNTRANSLATED = ("new", "needs-translation", "initial")


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    root = parse(text, "xliff")
    slots = _language_slots(text, root, languages[1])
    for unit in root.all("trans-unit", "segment"):
        source, target = unit.child("source"), unit.child("target")
        if source is None or unit.inherited("translate") == "no":
            continue
        parts = parts_of(items_of(text, source, _CODES), escape)
        has_words = any(isinstance(part, Segment) for part in parts)
        if has_words and (target is None or _is_open(text, unit, source, target)):
            slots.append(_slot(text, unit, source, target, parts))
    declared = root.inherited("srcLang") or next(
        (file.attributes.get("source-language", "") for file in root.all("file")), ""
    )
    return sorted(slots, key=lambda slot: slot.start), _other_language(declared, languages[0])


def _is_open(text: str, unit: Element, source: Element, target: Element) -> bool:
    content = text[target.inner : target.stop]
    state = target.attributes.get("state") or unit.attributes.get("state", "")
    return not content.strip() or (
        state in _UNTRANSLATED and content == text[source.inner : source.stop]
    )


def _slot(
    text: str, unit: Element, source: Element, target: Element | None, parts: list[str | Segment]
) -> Slot:
    prefix = f"{source.prefix}:" if source.prefix else ""
    if target is None:
        after = unit.child("seg-source") or source
        opening = f"{space_before(text, source)}<{prefix}target>"
        return Slot(after.end, after.end, [opening, *parts, f"</{prefix}target>"])
    if target.inner == target.end:
        opening = text[target.start : target.end].removesuffix("/>").rstrip() + ">"
        return Slot(target.start, target.end, [opening, *parts, f"</{prefix}target>"])
    return Slot(target.inner, target.stop, parts)


def _language_slots(text: str, root: Element, language: str) -> list[Slot]:
    """Where targets are, their language has to be named."""
    if root.attributes.get("version", "").startswith("2"):
        holders, attribute = [root], "trgLang"
    else:
        holders, attribute = list(root.all("file")), "target-language"
    if not language:
        return []
    return [
        Slot(at, at, [f' {attribute}="{quote(language)}"'])
        for holder in holders
        if attribute not in holder.attributes
        for at in [holder.inner - (2 if holder.inner == holder.end else 1)]
    ]


def _other_language(declared: str, source: str) -> list[str]:
    if declared and source and declared.lower()[:2] != source.lower()[:2]:
        return [f"the file says that its source is {declared}, but it is read as {source}"]
    return []
