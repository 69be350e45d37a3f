"""The regular expressions of the package, as they are used, on texts made to keep them busy.

    python benchmarks/pattern_safety.py [--save]

Names every pattern that takes longer than 0.1 s for 100,000 characters, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from re import _compiler as compiler
from re import _constants as op
from re import _parser as parser
from typing import Any

from record import save

SOURCE = Path(__file__).parents[1] / "src"
NUM_CHARACTERS = 100_000
MAX_SECONDS = 0.1
MAX_TIMES_PLAIN = 7
"""what a plain pattern takes, where that is more: on a machine that is slow, or slowed down by its neighbours"""

# Looked at on the whole text is what took too long for a part of it, or grew much faster than the text did.
NUM_FIRST = NUM_CHARACTERS // 40
NUM_LEAST = NUM_FIRST // 5

UNITS = [*" \n\taA1é_.,:;!?-'\"«»()[]{}<>/\\&%$#@`*|=~+^♪字\xa0", " a", "a ", "\n ", "1,", "--", "<!--"]

# Patterns that only ever read what another program has found to be in order, or has written itself.
ORDERLY = {
    "regard.documents.xml._NOT_TEXT": "expat has found the text well formed",
    "regard.documents.xml._TAG_END": "expat has found the tag",
    "regard.text.tokenizer: Vocabulary size too high .* <= (\\d+)": "a message of SentencePiece",
}

KNOWN_SLOW = [
    r" +(?=[.,])",
    r"a\s*\d?\s*:",
    r"<!--.*?-->",
    r"(?<!\w)'\w[^']*(?:'\w[^']*)*?\w'(?!\w)",
    r"<[^\s<>]{1,2000}[.:][^\s<>]{1,2000}>",
]
"""Patterns that must be found slow, or this program proves nothing."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
METHODS = ("match", "fullmatch", "search", "sub", "findall", "finditer", "split", "subn")


@dataclass(frozen=True)
class Use:
    """A pattern and how it is applied: at one place, to a whole text, or all over it."""

    name: str
    pattern: re.Pattern[Any]
    way: str

    def seconds(self, text: str) -> float:
        begun = time.process_time()
        if self.way == "sub":
            self.pattern.sub(b"" if self.is_bytes else "", self.given(text))
        else:
            getattr(self.pattern, self.way)(self.given(text))
        return time.process_time() - begun

    def given(self, text: str) -> Any:
        return text.encode() if self.is_bytes else text

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.pattern.pattern, bytes)


@dataclass(frozen=True)
class Hostile:
    """A text that nearly matches again and again, or goes on for ever where a pattern repeats something."""

    start: str
    unit: str
    times: int

    def of(self, length: int) -> str:
        one = self.start + self.unit * min(self.times, length)
        return (one * (length // len(one) + 1))[:length] + "\x01"


def uses() -> list[Use]:
    trees = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): tree
        for path in sorted(SOURCE.glob("regard/**/*.py"))
        if "re." in (text := path.read_text())
        for tree in [ast.parse(text)]
    }
    ways = _ways(trees)
    found = [use for module, tree in trees.items() for use in _of_functions(module, tree)]
    for module, tree in trees.items():
        if any(_calls_compile(node) for node in tree.body if not isinstance(node, _DEFINITIONS)):
            for name, value in vars(importlib.import_module(module)).items():
                for pattern in _patterns(value):
                    local = ways[module, name] if name.startswith("_") else ways["", name]
                    found += [Use(f"{module}.{name}", pattern, way) for way in sorted(local or {"fullmatch", "sub"})]
    return list({(use.pattern, use.way): use for use in reversed(found)}.values())


def _ways(trees: dict[str, ast.Module]) -> dict[tuple[str, str], set[str]]:
    """How each name is used: one of a module by itself, one that others may import by all of them."""
    ways: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.attr in METHODS:
                    name = node.value.id
                    ways[module if name.startswith("_") else "", name].add(_way(node.attr))
    return ways


def _way(method: str) -> str:
    return method if method in ("match", "fullmatch") else "sub"


def _calls_compile(statement: ast.stmt) -> bool:
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func) == "re.compile" for call in calls)


def _patterns(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _patterns(each)


def _of_functions(module: str, tree: ast.Module) -> Iterator[Use]:
    """What is written where it is used, such as re.split("[-/]", text)."""
    inside = [each for each in ast.walk(tree) if isinstance(each, _DEFINITIONS)]
    for node in (node for each in inside for node in ast.walk(each) if isinstance(node, ast.Call)):
        called = ast.unparse(node.func).removeprefix("re.")
        if called in (*METHODS, "compile") and isinstance(next(iter(node.args), None), ast.Constant):
            text = node.args[0].value
            yield Use(f"{module}: {text}", re.compile(text), _way(called))


def hostile(pattern: re.Pattern[Any]) -> Iterator[Hostile]:
    for start, unit, times in product(beginnings(pattern), UNITS, (1, 1000, NUM_CHARACTERS)):
        yield Hostile(start, unit, times)


def beginnings(pattern: re.Pattern[Any]) -> list[str]:
    """Something that is matched up to each repetition or choice, up to each end, and nothing at all."""
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    flags = pattern.flags & ~re.UNICODE if isinstance(source, bytes) else pattern.flags
    return list(dict.fromkeys(("", *_beginnings(parser.parse(text, flags), ""))))


def _beginnings(nodes: Iterable[Any], before: str) -> list[str]:
    """The last is the whole, with the first of all alternatives."""
    found: list[str] = []
    for kind, value in nodes:
        if kind is op.BRANCH:
            ways = [_beginnings(way, before) for way in value[1]]
            found += [before, *(each for way in ways for each in way)]
            before = ways[0][-1]
        elif kind in (op.SUBPATTERN, op.ATOMIC_GROUP):
            found += _beginnings(value[-1] if kind is op.SUBPATTERN else value, before)
            before = found[-1]
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, _, inner = value
            found += [before, *_beginnings(inner, before)]
            before += found[-1][len(before) :] * max(least, 1)
        else:
            before += _character(kind, value)
    return [*found, before]


def _character(kind: Any, value: Any) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind in (op.IN, op.NOT_LITERAL, op.ANY):
        single = compiler.compile(parser.SubPattern(parser.State(), [(kind, value)]))
        return next((each for each in "".join(["a1 ", *UNITS]) if single.match(each)), "")
    return ""


def slow_text(use: Use) -> Hostile | None:
    """A text that the pattern takes too long for."""
    most = most_seconds()
    for text in hostile(use.pattern):
        if is_suspicious(use, text, most):
            # The best of three, so that a busy machine is not taken for a slow pattern.
            whole = text.of(NUM_CHARACTERS)
            if all(use.seconds(whole) >= most_seconds() for _ in range(3)):
                return text
    return None


def most_seconds() -> float:
    plain = Use("plain", re.compile(r"\w"), "sub")
    return max(MAX_SECONDS, MAX_TIMES_PLAIN * plain.seconds("a" * NUM_CHARACTERS))


def is_suspicious(use: Use, text: Hostile, most: float) -> bool:
    seconds = use.seconds(text.of(NUM_FIRST))
    share = NUM_FIRST / NUM_CHARACTERS
    if seconds > most * share:
        return True
    is_quadratic = seconds > 10 * use.seconds(text.of(NUM_LEAST))
    return seconds > most * share**2 / 2 and is_quadratic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    arguments = parser.parse_args()
    for pattern in KNOWN_SLOW:
        use = Use(pattern, re.compile(pattern), "sub")
        assert any(is_suspicious(use, text, MAX_SECONDS) for text in hostile(use.pattern)), pattern
    checked = [use for use in uses() if use.name not in ORDERLY]
    slow = {f"{use.name} {use.way}": text for use in checked if (text := slow_text(use))}
    for name, text in slow.items():
        print(f"{name}: {text}")
    print(f"{len(checked)} patterns, {len(slow)} slow")
    if arguments.save:
        save("pattern_safety", [{"patterns": len(checked), "slow": len(slow)}], {})
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
