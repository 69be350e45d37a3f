"""Settings as fields of a frozen dataclass: read from files, checked against their types and ranges."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from regard.errors import UsageError, suggest

_Config = TypeVar("_Config")
_Entry = TypeVar("_Entry")
MAX_HYPOTHESES = 256  # of one sentence
RULES: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "positive": (lambda value: value > 0, "be above 0", "give a larger one"),
    "not negative": (lambda value: value >= 0, "not be negative", "give 0 or more"),
    "fraction": (lambda value: 0 <= value <= 1, "lie between 0 and 1", "give one between them"),
    "below 1": (lambda value: value < 1, "be below 1, at which nothing is learnt", "give less"),
    "hypotheses": (lambda value: value <= MAX_HYPOTHESES, f"be at most {MAX_HYPOTHESES}", "give fewer"),
    # Beyond these an output is noise, or empty.
    "at most 2": (lambda value: value <= 2, "be at most 2", "give less"),
    "at most 10": (lambda value: value <= 10, "be at most 10", "give less"),
    "within 10": (lambda value: abs(value) <= 10, "be from -10 to 10", "give one nearer to 0"),
}
"""Rules that stand in the `Annotated` type of a field: a test, what a number must do, and the remedy."""
Count = Annotated[int, "positive"]


class Settings:
    """A frozen dataclass that refuses impossible values; None is left to be chosen."""

    __slots__ = ()

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, (hint, rules) in _fields(kind).items():
            value, choices = getattr(self, name), _choices(hint)
            if choices and value not in choices:
                near = suggest(str(value), map(str, choices))
                raise UsageError(f"{name} must be {_type_name(hint)}: got {value!r}{near}; use one of these")
            for holds, wanted, remedy in map(RULES.__getitem__, rules):
                if value is not None and not holds(value):
                    raise UsageError(f"{name} must {wanted}: got {value}; {remedy}")
        for sentence in self.mistakes():
            raise UsageError(sentence)

    def mistakes(self) -> Iterable[str]:
        """A sentence for each combination of fields that cannot be."""
        return ()


def from_dict(kind: type[_Config], values: Mapping[str, Any], where: str) -> _Config:
    """Build a config from parsed TOML or JSON; refuse unknown keys and wrong types."""
    return kind(**check_types(kind, values, where))


def check_types(kind: type, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values as the fields hold them; refuse unknown keys and values of a wrong type."""
    fields, found = _fields(kind), {}
    for key, value in values.items():
        if key not in fields:
            raise UsageError(
                f"{where}: unknown key {key!r}{suggest(key, fields)}; known keys: {', '.join(sorted(fields))}"
            )
        hint, _ = fields[key]
        try:
            if isinstance(value, Mapping) and hasattr(hint, "__dataclass_fields__"):
                found[key] = from_dict(hint, value, f"{where}: {key}")
            else:
                found[key] = _converted(value, hint)
        except TypeError:
            raise UsageError(f"{where}: {key} must be {_type_name(hint)}: got {value!r}; correct it") from None
    return found


def registered(registry: Mapping[str, _Entry], name: str, kind: str) -> _Entry:
    """What a registry has for a kind; one that it does not have is refused."""
    if kind not in registry:
        known = ", ".join(registry)
        raise UsageError(f"{name} must be one of {known} here: got {kind!r}{suggest(kind, registry)}; use one of these")
    return registry[kind]


def to_dict(config: Any) -> dict[str, Any]:
    return dataclasses.asdict(config)


@functools.cache  # reading the types takes longer than all checks
def _fields(kind: Any) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """The type of each field, and its rules."""
    hints = get_type_hints(kind)
    rich = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: (hints[name], getattr(rich[name], "__metadata__", ())) for name in names}


def _choices(hint: Any) -> tuple[Any, ...]:
    """The choices of a Literal; None among them if it may be left out."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    found = tuple(choice for part in get_args(hint) for choice in _choices(part))
    return (*found, None) if found else ()


def _converted(value: Any, hint: Any) -> Any:
    """The value as a field of this type holds it; a TypeError where it is of another."""
    allowed = get_args(hint) or (hint,)
    if choices := _choices(hint):
        fits = value in choices
    elif get_origin(hint) is tuple:
        listed = [value] if isinstance(value, str) else value
        if fits := isinstance(listed, list | tuple):
            return tuple(_converted(each, allowed[0]) for each in listed)
    elif isinstance(value, bool):
        fits = bool in allowed
    elif isinstance(value, int) and float in allowed:
        return float(value)
    else:
        fits = isinstance(value, allowed)
    if not fits:
        raise TypeError(value)
    return value


def _type_name(hint: Any) -> str:
    if choices := _choices(hint):
        return "one of " + ", ".join(str(choice) for choice in choices if choice is not None)
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is tuple:
        return "a text or a list of texts" if kinds[0] is str else "a list of whole numbers"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return " or ".join(names[kind] for kind in kinds if kind in names) or "an object"
