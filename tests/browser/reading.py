"""Numbers as a page shows them, held against those of a trace."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator

from regard.look.run import Run

CHECKS = Path(__file__).with_name("checks.js").read_text("utf-8")
NUMBER = re.compile(r"^−?\d+(?:\.(\d+))?(?:e([+−]\d+))?( %)?$")

COLLECT = """nodes => nodes.map(({ dataset: { name, index, value }, textContent }) => [
    name ?? "", (index ?? "").split(",").filter(Boolean).map(Number), value ?? "", textContent])"""


def script(name: str) -> str:
    """A function of checks.js, for a page or an element to run."""
    return f"(...given) => ({CHECKS}).{name}(...given)"


@dataclass(frozen=True)
class Shown:
    """An element that shows a number: where it says the number is from, what it is, and how it reads."""

    name: str
    index: tuple[int, ...]
    value: float
    text: str

    def reads(self) -> bool:
        return reads_as(self.text, self.value)


def reads_as(text: str, value: float) -> bool:
    """Whether the digits are the value's, rounded at the last of them."""
    text = text.strip()
    if text == "−∞":
        return value == -math.inf
    match = NUMBER.match(text)
    if match is None:
        return False
    decimals, power, percent = match.groups()
    plain = text.removesuffix(" %").replace("−", "-")
    unit = 10.0 ** (int((power or "0").replace("−", "-")) - len(decimals or ""))
    wanted = value * 100 if percent else value
    return abs(float(plain) - wanted) <= 0.5 * unit * (1 + 1e-6)


def shown_in(place: Locator, selector: str = "[data-name][data-value]") -> list[Shown]:
    """Every number under an element."""
    found: list[Any] = place.locator(selector).evaluate_all(COLLECT)
    return [Shown(name, tuple(index), float(value), text) for name, index, value, text in found]


def traced(run: Run, name: str, index: tuple[int, ...]) -> float:
    """The number of that name, from the trace or from the model's weights."""
    if name == "output":
        written = run.at_places
        return float(run.trace["probabilities"][(*index, written[index[0]])])
    found = run.trace[name] if name.startswith("steps.") else run.tensor(name)
    assert found is not None, f"the trace has no {name}"
    value = np.asarray(found)
    assert len(index) == value.ndim, f"{name}{list(index)} is no single number"
    return float(value[index])


def assert_traced(shown: list[Shown], run: Run, at_least: int = 1) -> None:
    """Each number is the trace's own to the last bit, and its digits are those of the number."""
    assert len(shown) >= at_least, f"only {len(shown)} numbers are shown"
    for each in shown:
        wanted = traced(run, each.name, each.index)
        assert each.value == wanted, f"{each} but the trace has {wanted}"
        # A dot in a drawing shows its number when it is pointed at, and the frame of a hidden cell says why.
        if each.text:
            assert each.reads() or not re.search(r"\d", each.text) or _titled(each), each


def _titled(each: Shown) -> bool:
    """A dot's text is its title, which ends with the number."""
    return reads_as(each.text.rsplit(": ", 1)[-1], each.value)
