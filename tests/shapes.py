"""Shapes are checked in every function's first calls in a test: those of a loop are the same ones again, and cost as much as the loop."""

import dataclasses
import functools
import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any, get_type_hints

import jaxtyping
from beartype import beartype

MAX_CALLS = 3
calls: Counter[Callable[..., Any]] = Counter()
"""of each function in this test"""
_check_all = jaxtyping.jaxtyped


def _has_shapes(function: Callable[..., Any]) -> bool:
    try:
        return "jaxtyping." in str(get_type_hints(function))
    except NameError:  # one that only the type checker knows
        return True


def first_calls(found: Any) -> Any:
    """A function, or a dataclass's fields, checked in the first calls."""
    if inspect.isclass(found):
        if dataclasses.is_dataclass(found):
            found.__init__ = first_calls(found.__init__)  # type: ignore[misc]
        return found
    checked: Callable[..., Any] | None = None

    @functools.wraps(found)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal checked
        if calls[counted] >= MAX_CALLS:
            return found(*args, **kwargs)
        calls[counted] += 1
        if checked is None:
            checked = _check_all(found, typechecker=beartype) if _has_shapes(found) else found
        return checked(*args, **kwargs)

    return counted


# Its own decorator would check every call of everything, with shapes or without.
jaxtyping.jaxtyped = lambda *, typechecker: typechecker
