"""The page's modules as one script: each becomes a function that is called once, in the order of its imports.

It knows the forms that the page uses, named imports and exports of declarations, and refuses any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_IMPORT = re.compile(
    r'^import\s+(?:\{([^{}]*)\}\s+from\s+|\*\s+as\s+(\w+)\s+from\s+)?"\./([\w./-]+)";?[ \t]*$',
    re.MULTILINE,
)
_DECLARED = re.compile(
    r"^export\s+((?:async\s+)?function(?:\s*\*)?|class|const)\s+(\w+)", re.MULTILINE
)
_LISTED = re.compile(r"^export\s+\{([^{}]*)\};?[ \t]*$", re.MULTILINE)
_LEFT = re.compile(r"^[ \t]*(?:import\b(?!\.)|export\b).*$", re.MULTILINE)


def link(entry: str, read: Callable[[str], str]) -> str:
    """The module `entry` and all it imports; `read` gives the text of a file."""
    order: list[str] = []
    open_files: list[str] = []
    linked: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        assert name not in open_files, f"{' > '.join([*open_files, name])}: imports go in a circle"
        open_files.append(name)
        text = read(name)
        for match in _IMPORT.finditer(text):
            visit(match.group(3))
        open_files.pop()
        order.append(name)
        linked.append(_wrapped(name, text))

    visit(entry)
    return '"use strict";\n' + "\n".join(linked)


def _wrapped(name: str, text: str) -> str:
    exports = [(each, each) for _, each in _DECLARED.findall(text)]
    for names in _LISTED.findall(text):
        exports += [(inside, outside) for outside, inside in _pairs(names)]
    text = _IMPORT.sub(_binding, text)
    text = _LISTED.sub("", _DECLARED.sub(r"\1 \2", text))
    left = _LEFT.search(text)
    assert left is None, f"{name}: cannot link {left.group()!r}" if left else ""
    given = ", ".join(f"{outside}: {inside}" for inside, outside in exports)
    return f"const {_variable(name)} = (() => {{\n{text}\nreturn {{ {given} }};\n}})();"


def _binding(match: re.Match[str]) -> str:
    names, whole, path = match.groups()
    if whole:
        return f"const {whole} = {_variable(path)};"
    if names is None:
        return ""
    inside = ", ".join(f"{theirs}: {ours}" for ours, theirs in _pairs(names))
    return f"const {{ {inside} }} = {_variable(path)};"


def _pairs(names: str) -> list[tuple[str, str]]:
    """`a, b as c` as what it is called after the `as`, and before it."""
    pairs = []
    for each in filter(None, (part.strip() for part in names.split(","))):
        before, _, after = each.partition(" as ")
        pairs.append((after.strip() or before.strip(), before.strip()))
    return pairs


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)
