"""Settings as fields of a dataclass: read from files, checked, described."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

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
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                texts[field.target.id] = str(after.value.value)
    return texts


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


class Rule(NamedTuple):
    """What a number must be, and what to do where it is not."""

    holds: Callable[[Any], bool]
    rule: str
    remedy: str


POSITIVE = Rule(lambda value: value > 0, "be above 0", "give a larger one")
NOT_NEGATIVE = Rule(lambda value: value >= 0, "not be negative", "give 0 or more")
FRACTION = Rule(lambda value: 0 <= value <= 1, "lie between 0 and 1", "give one between them")
HYPOTHESES = Rule(
    lambda value: value <= MOST_HYPOTHESES,
    f"be at most {MOST_HYPOTHESES}, or memory runs out",
    "give a smaller one, 4 to 8 is usual",
)
BELOW_1 = Rule(
    lambda value: value < 1, "be below 1, at which nothing is learnt", "give a smaller one"
)
WITHIN_10 = Rule(lambda value: -10 <= value <= 10, "be from -10 to 10", "give one nearer to 0")


def at_most(most: int) -> Rule:
    """Beyond it an output is noise, or empty."""
    return Rule(lambda value: value <= most, f"be at most {most}", "give a smaller one")


def check(config: Any, rule: Rule, *names: str) -> None:
    """Numbers that are None are left to be chosen, and not checked."""
    for name in names:
        value = getattr(config, name)
        if value is not None and not rule.holds(value):
            raise UsageError(f"{name} must {rule.rule}: got {value}; {rule.remedy}")
