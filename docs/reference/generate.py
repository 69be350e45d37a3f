"""Write cli.md, settings.md and api.md from the code: `python docs/reference/generate.py`."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

from typer.main import get_command
from typer.testing import CliRunner

from regard.cli.main import app
from regard.config import SIZES
from regard.train.recipe import SECTIONS, named_recipes

HERE = Path(__file__).parent


def cli_page() -> str:
    """Every command's own help."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    pages = ["# The command line", "", "Written by `docs/reference/generate.py` from the commands' own help.", ""]
    for name in ["", *commands]:
        arguments = [name, "--help"] if name else ["--help"]
        pages += [f"## regard {name}".rstrip(), "", "```text", _help(arguments), "```", ""]
    pages += [
        "Every command ends with 0 when all went well, 1 when the input or a model is at fault, 2 when the",
        "command itself is; 130 and 143 after an interrupt and a termination (`serve` then ends with 0), 141 when",
        "nobody reads its output any more. What went wrong is one sentence on standard error. `NO_COLOR` takes",
        "the colours from the progress bars, and `regard --install-completion` teaches the shell to complete.",
        "",
    ]
    return "\n".join(pages)


def _help(arguments: list[str]) -> str:
    # As wide everywhere, whatever the terminal.
    environment = {"COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    before = {key: os.environ.get(key) for key in environment}
    try:
        os.environ.update(environment)
        output = CliRunner().invoke(app, arguments, prog_name="regard", terminal_width=100).output
    finally:
        for key, value in before.items():
            os.environ.pop(key, None) if value is None else os.environ.update({key: value})
    return "\n".join(line.rstrip() for line in output.strip().split("\n"))


def settings_page() -> str:
    """Every key of a recipe, with its type, its default and its meaning."""
    pages = [
        "# Settings and recipes",
        "",
        "Written by `docs/reference/generate.py` from `regard/config/`.",
        "",
        "A recipe is a TOML file with the sections below; every key may be left out. The same keys work on the",
        "command line: `--set steps=2000`, or `--set data.max_length=100` where two sections share a name.",
        "`none` means that the value is chosen from the corpus and the device, and printed.",
        "",
    ]
    for section, kind in SECTIONS.items():
        pages += [f"## [{section}]", "", "| key | default | meaning |", "|---|---|---|"]
        if section == "model":
            sizes = ", ".join(f"`{size}`" for size in SIZES)
            pages.append(f"| `size` | none | the named shape to start from: {sizes} |")
        texts = describe(kind)
        choices = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            default = "" if field.default is dataclasses.MISSING else _shown(field.default)
            allowed = getattr(choices[field.name], "__args__", ())
            words = [str(each) for each in allowed if isinstance(each, str)]
            note = f" ({', '.join(words)})" if words else ""
            pages.append(f"| `{field.name}` | {default} | {texts[field.name]}{note} |")
        pages.append("")
    pages += ["## Named recipes", ""]
    for name, path in named_recipes().items():
        first = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
        pages.append(f"- `--recipe {name}`: {first}")
    pages += ["", "## Named comparisons", ""]
    for name, path in named_recipes("comparisons").items():
        first = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
        pages.append(f"- `regard compare --recipe {name}`: {first}")
    return "\n".join([*pages, ""])


LIBRARY = {
    "Load and use": ("regard", "load translate available Model Translation Score Trace"),
    "Train": ("regard", "train save compare"),
    "The torch modules": ("regard.model", "build EncoderDecoder DecoderOnly EncoderOnly Layout"),
    "Text": ("regard.text.tokenizer", "Tokenizer"),
    "Other frameworks": ("regard.look", "attention"),
    "Errors": ("regard", "RegardError UsageError DataError ModelError TrainingError MissingExtra RegardWarning"),
}
"""what `import regard` is for, by chapter: a module and names of it"""


def api_page() -> str:
    """Every public name, with its signature and its docstring."""
    pages = ["# The library", "", "Written by `docs/reference/generate.py` from the docstrings.", ""]
    pages += [
        "`ModelConfig`, `DataConfig`, `TrainConfig` and `DecodeConfig` take the [settings](settings.md) by name;",
        "[a training loop of your own](../how-to/own-loop.md) shows what they are for.",
        "",
    ]
    for chapter, (module, names) in LIBRARY.items():
        pages += [f"## {chapter}", ""]
        for name in names.split():
            found = getattr(importlib.import_module(module), name)
            tree = ast.parse(Path(sys.modules[found.__module__].__file__ or "").read_text(encoding="utf-8"))
            [node] = [each for each in tree.body if getattr(each, "name", "") == name and not _is_overload(each)]
            pages += _entry(f"{module}.{name}", node, "###")
    return "\n".join(pages)


def _entry(name: str, node: Any, level: str) -> list[str]:
    lines = [f"{level} {name}", ""]
    if isinstance(node, ast.FunctionDef) and not node.decorator_list:
        own = ast.unparse(_spaced(node.args)).removeprefix("self, ").removeprefix("cls, ").removeprefix("self")
        lines += ["```text", f"{name}({own})" + (f" -> {ast.unparse(node.returns)}" if node.returns else ""), "```", ""]
    if text := ast.get_docstring(node):
        lines += [text, ""]
    for each in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(each, ast.FunctionDef) and not _is_overload(each) and not each.name.startswith("_"):
            lines += _entry(f"{name.rpartition('.')[2]}.{each.name}", each, "####") if ast.get_docstring(each) else []
    return lines


def _spaced(given: ast.arguments) -> ast.arguments:
    """The arguments with spaces around the sign before a default, which `ast` leaves out."""
    plain = given.args[len(given.args) - len(given.defaults) :]
    for each, default in [
        *zip(plain, given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]:
        if default is not None:
            each.arg += (f": {ast.unparse(each.annotation)}" if each.annotation else "") + f" = {ast.unparse(default)}"
            each.annotation = None
    given.defaults, given.kw_defaults = [], [None] * len(given.kwonlyargs)
    return given


def _is_overload(node: Any) -> bool:
    return "overload" in [ast.unparse(each) for each in getattr(node, "decorator_list", ())]


def describe(kind: type) -> dict[str, str]:
    """The documentation string under each field of a config class."""
    body: Any = ast.parse(inspect.getsource(kind)).body[0]
    fields = [pair for pair in pairwise(body.body) if isinstance(pair[0], ast.AnnAssign)]
    return {field.target.id: text.value.value for field, text in fields}


def _shown(value: object) -> str:
    if value is None or value == () or value == "":
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    for name, page in (("cli", cli_page), ("settings", settings_page), ("api", api_page)):
        (HERE / f"{name}.md").write_text(page(), encoding="utf-8")
