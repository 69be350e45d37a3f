"""Settings as fields of a dataclass: read from files, checked, described."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from regard.errors import UsageError, suggest

_Config = TypeVar("_Config")
MOST_HYPOTHESES = 256
"""Maximum hypotheses of one sentence."""


def from_dict(kind: type[_Config], values: Mapping[str, Any], where: str) -> _Config:
    """Build a config from parsed TOML or JSON; refuse unknown keys and wrong types."""
    check_types(kind, values, where)
    hints = _field_types(kind)
    return kind(**{key: _convert(value, hints[key]) for key, value in values.items()})


def check_types(kind: type, values: Mapping[str, Any], where: str) -> None:
    """Refuse unknown keys and values of a wrong type."""
    hints = _field_types(kind)
    for key, value in values.items():
        if key not in hints:
            raise UsageError(
                f"{where}: unknown key {key!r}{suggest(key, hints)}; known keys: {', '.join(sorted(hints))}"
            )
        if not _fits(value, hints[key]):
            raise UsageError(
                f"{where}: {key} must be {_type_name(hints[key])}: got {value!r}; correct it"
            )


def to_dict(config: Any) -> dict[str, Any]:
    return dataclasses.asdict(config)


def describe(kind: type) -> dict[str, str]:
    """The documentation string under each field of a config class."""
    body: Any = ast.parse(inspect.getsource(kind)).body[0]
    fields = [pair for pair in pairwise(body.body) if isinstance(pair[0], ast.AnnAssign)]
    return {field.target.id: text.value.value for field, text in fields}


# Cached, since it takes longer than all other checks.
_field_types: Callable[[Any], dict[str, Any]] = functools.cache(get_type_hints)


def _choices(hint: Any) -> tuple[Any, ...]:
    """The choices of a Literal; None among them if it may be left out."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    found = tuple(choice for part in get_args(hint) for choice in _choices(part))
    return (*found, None) if found else ()


def _fits(value: Any, hint: Any) -> bool:
    if choices := _choices(hint):
        return value in choices
    if get_origin(hint) is tuple:
        kind = get_args(hint)[0]
        return (kind is str and isinstance(value, str)) or (
            isinstance(value, (list, tuple)) and all(_fits(item, kind) for item in value)
        )
    allowed = get_args(hint) or (hint,)
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int) and float in allowed:
        return True
    return isinstance(value, tuple(kind for kind in allowed if isinstance(kind, type)))


def _convert(value: Any, hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return (value,) if isinstance(value, str) else tuple(value)
    kinds = get_args(hint) or (hint,)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and float in kinds and int not in kinds else value


def _type_name(hint: Any) -> str:
    if choices := _choices(hint):
        return "one of " + ", ".join(str(choice) for choice in choices if choice is not None)
    if get_origin(hint) is tuple:
        texts = get_args(hint)[0] is str
        return "a text or a list of texts" if texts else "a list of whole numbers"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return " or ".join(names[kind] for kind in (get_args(hint) or (hint,)) if kind in names)


def check_choices(config: Any) -> None:
    for name, hint in _field_types(type(config)).items():
        choices, value = _choices(hint), getattr(config, name)
        if choices and value not in choices:
            raise UsageError(
                f"{name} must be {_type_name(hint)}: got {value!r}{suggest(str(value), map(str, choices))}; "
                "use one of these"
            )


RULES: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "positive": (lambda value: value > 0, "be above 0", "give a larger one"),
    "not negative": (lambda value: value >= 0, "not be negative", "give 0 or more"),
    "fraction": (lambda value: 0 <= value <= 1, "lie between 0 and 1", "give one between them"),
    "below 1": (
        lambda value: value < 1,
        "be below 1, at which nothing is learnt",
        "give a smaller one",
    ),
    "hypotheses": (
        lambda value: value <= MOST_HYPOTHESES,
        f"be at most {MOST_HYPOTHESES}, or memory runs out",
        "give a smaller one, 4 to 8 is usual",
    ),
    # Beyond these an output is noise, or empty.
    "at most 2": (lambda value: value <= 2, "be at most 2", "give a smaller one"),
    "at most 10": (lambda value: value <= 10, "be at most 10", "give a smaller one"),
    "within 10": (lambda value: abs(value) <= 10, "be from -10 to 10", "give one nearer to 0"),
}
"""For each rule its test, what a number must be, and the remedy."""


def check(config: Any, rule: str, *names: str) -> None:
    """Refuse numbers that break the rule; None is left to be chosen."""
    holds, wanted, remedy = RULES[rule]
    for name in names:
        value = getattr(config, name)
        if value is not None and not holds(value):
            raise UsageError(f"{name} must {wanted}: got {value}; {remedy}")
