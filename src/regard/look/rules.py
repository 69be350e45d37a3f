"""The rules of the pipeline, for the page's own engine: every pattern of normalisation, protected spans and sentences.

A pattern is translated from Python's syntax into JavaScript's, so that the page cannot differ from `translate` by a rule that
was changed in one place only. Letters, digits, word characters and white space are Unicode's in both.
"""

import functools
import html
import json
import re
from collections.abc import Iterable
from html.entities import html5
from importlib import resources
from typing import Any

from regard.documents import placement
from regard.text import normalise, protected, sentences, words
from regard.translate import protect

_parser: Any = re._parser  # type: ignore[attr-defined]
_WORD = r"\p{L}\p{N}_"
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CLASSES = {"DIGIT": r"\p{Nd}", "SPACE": _SPACE, "WORD": _WORD}
_EDGE = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_ANCHORS = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": "^",
    "AT_END_STRING": "$",
    "AT_BOUNDARY": _EDGE,
    "AT_NON_BOUNDARY": f"(?!{_EDGE})",
}
_CONSTANTS = (normalise, protected, sentences, words, placement, protect)
"""modules whose patterns and plain constants the page reads by their names"""


def rules() -> dict[str, Any]:
    """For each module its constants: patterns as JavaScript, tables, words."""
    found: dict[str, Any] = {}
    for module in _CONSTANTS:
        constants = ((name.lower(), _as_json(each)) for name, each in vars(module).items() if name.isupper())
        found[module.__name__.rsplit(".", 1)[-1]] = {name: each for name, each in constants if each is not None}
    forms = ("&#{};", "&#0{};", "&#x{:x};", "&#x{:X};")
    numbered = [form.format(code) for code in range(8300) for form in forms]
    entities = filter(normalise._ENTITY.fullmatch, [*(f"&{name}" for name in html5), *numbered])
    found["normalise"]["_entities"] = {text: html.unescape(text) for text in entities}
    ends = resources.files("regard.look") / "page" / "engine" / "sentence_ends.json"
    found["sentences"] |= json.loads(ends.read_bytes())
    return found


def _as_json(value: Any) -> Any:
    """A constant as JSON; None for one that the page does not read."""
    if isinstance(value, re.Pattern):
        return {"pattern": javascript(value)}
    if isinstance(value, dict):
        return {chr(key) if isinstance(key, int) else str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [_as_json(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]
    return value if isinstance(value, str | int | float) else None


def javascript(pattern: re.Pattern[str]) -> str:
    """The same pattern for JavaScript's flag u.

    >>> javascript(re.compile(r"(?i:no)\\.++\\s*(?P<mark>[*_])(?P=mark)"))[:24]
    '(?:[nN][oO])(?=(?<a1>(?:'
    """
    assert not pattern.flags & (re.MULTILINE | re.DOTALL), "no pattern of the page takes these"
    return _Translation().sequence(_parser.parse(pattern.pattern, pattern.flags), bool(pattern.flags & re.IGNORECASE))


class _Translation:
    """The translation of one pattern. JavaScript has no atomic groups: a lookahead captures the text, which is then matched."""

    def __init__(self) -> None:
        self.num_atomic = 0

    def sequence(self, items: Iterable[Any], any_case: bool) -> str:
        return "".join(self.item(str(code), value, any_case) for code, value in items)

    def item(self, code: str, value: Any, any_case: bool) -> str:
        inside = functools.partial(self.sequence, any_case=any_case)
        match code, value:
            case "LITERAL", _:
                return (
                    f"[{_both_cases(value)}]" if any_case and _both_cases(value) != _escaped(value) else _escaped(value)
                )
            case "NOT_LITERAL", _:
                return f"[^{_escaped(value)}]"
            case "ANY", _:
                return r"[^\n]"
            case "AT", _:
                return _ANCHORS[str(value)]
            case "IN", _:
                return self.character_class(value, any_case)
            case "BRANCH", (_, branches):
                return f"(?:{'|'.join(map(inside, branches))})"
            case "SUBPATTERN", (group, added, removed, items):
                text = self.sequence(items, (any_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE)
                return f"(?:{text})" if group is None else f"(?<g{group}>{text})"
            case "GROUPREF", _:
                return rf"\k<g{value}>"
            case "ATOMIC_GROUP", _:
                return self.atomic(inside(value))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT", (least, most, items):
                count = f"{{{least},{'' if most == _parser.MAXREPEAT else most}}}"
                text = f"(?:{inside(items)}){count}{'?' * (code == 'MIN_REPEAT')}"
                return self.atomic(text) if code == "POSSESSIVE_REPEAT" else text
            case "ASSERT" | "ASSERT_NOT", (direction, items):
                return f"(?{'<' * (direction < 0)}{'=' if code == 'ASSERT' else '!'}{inside(items)})"
        raise AssertionError(f"no pattern of the page has {code}")

    def atomic(self, text: str) -> str:
        self.num_atomic += 1
        return rf"(?=(?<a{self.num_atomic}>{text}))\k<a{self.num_atomic}>"

    def character_class(self, items: Any, any_case: bool) -> str:
        """A class of characters; the opposite of one inside it becomes an alternative."""
        parts, others, is_not = "", [], False
        for code, value in items:
            match str(code):
                case "NEGATE":
                    is_not = True
                case "LITERAL":
                    parts += _both_cases(value) if any_case else _escaped(value)
                case "RANGE":
                    parts += f"{_escaped(value[0])}-{_escaped(value[1])}"
                case "CATEGORY":
                    kind = str(value).removeprefix("CATEGORY_")
                    if kind.startswith("NOT_"):
                        others.append(f"[^{_CLASSES[kind[4:]]}]")
                    else:
                        parts += _CLASSES[kind]
        own = f"[{'^' * is_not}{parts}]"
        if not others:
            return own
        if is_not:
            # Neither one of these, nor outside of those.
            return f"(?:{''.join(f'(?!{each})' for each in others)}{own})"
        return f"(?:{'|'.join([own] * bool(parts) + others)})"


def _escaped(code: int) -> str:
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else rf"\u{{{code:x}}}"


def _both_cases(code: int) -> str:
    return "".join(
        dict.fromkeys(_escaped(ord(each)) for each in (chr(code).lower(), chr(code).upper()) if len(each) == 1)
    )
