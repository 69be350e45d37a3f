"""Shapes are checked in the first calls of every test: those of a loop are the same ones again, and cost as much as the loop."""

from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import beartype

MOST = 400
_checked = [0]


def begin() -> None:
    """A test begins: its calls are checked."""
    _checked[0] = 0
    jaxtyping.config.update("jaxtyping_disable", False)


def first_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    """What checks one function's arguments, and once more with its result."""
    check = beartype(function)

    def counted(*args: Any, **kwargs: Any) -> Any:
        _checked[0] += 1
        if _checked[0] == MOST:
            jaxtyping.config.update("jaxtyping_disable", True)
        return check(*args, **kwargs)

    return counted
