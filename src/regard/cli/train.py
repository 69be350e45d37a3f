"""The verb that makes models: train."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import RecipeData
from regard.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from regard.train.recipe import Recipe

KEEPING_MEMORY = {"MIMALLOC_PURGE_DELAY": "-1"}
"""for the allocator in torch's builds for ARM, read when torch is loaded: a step asks for what the last one gave
back, and fetching it from the system anew takes 7 % of the time"""

Files = list[str] | None

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="The run and the model.")
]
Source = Annotated[Files, typer.Option(help="Source sentences, one a line (.gz, .xz).")]
Target = Annotated[Files, typer.Option(help="Their translations.")]
Pairs = Annotated[Files, typer.Option(help="Files of source TAB target.")]
Text = Annotated[
    Files, typer.Option(help="Running text, for a decoder-only or encoder-only model.")
]
ValidSource = Annotated[Files, typer.Option(help="Validation; else held out.")]
ValidTarget = Annotated[Files, typer.Option(help="Its translations.")]
TestSource = Annotated[Files, typer.Option(help="Scored once at the end.")]
TestTarget = Annotated[Files, typer.Option(help="Its references.")]
ValidText = Annotated[Files, typer.Option(help="Of running text: validation.")]
TestText = Annotated[Files, typer.Option(help="Of running text: measured at the end.")]
Size = Annotated[str | None, typer.Option(help="tiny, small, base or big.")]
Architecture = Annotated[
    str | None,
    typer.Option(help="transformer, decoder-only, encoder-only, or the older rnn, gru, lstm."),
]
Objective = Annotated[
    str | None, typer.Option(help="translation, language, masked, or contrastive, for search.")
]
Attention = Annotated[
    str | None, typer.Option(help="Of the older: additive, dot, general or none.")
]
Embeddings = Annotated[Files, typer.Option(help="Word vectors to start from.")]
FreezeEmbeddings = Annotated[
    bool, typer.Option("--freeze-embeddings", help="Leave those vectors as they are.")
]
RecipeName = Annotated[str | None, typer.Option(help="A named recipe or a TOML file.")]
Seed = Annotated[int | None, typer.Option(help="Of everything random.")]
Init = Annotated[str | None, typer.Option(help="A model to start from.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting, such as steps=2000."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in --output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the scores.")]


def train(
    output: Output,
    source: Source = None,
    target: Target = None,
    pairs: Pairs = None,
    text: Text = None,
    valid_source: ValidSource = None,
    valid_target: ValidTarget = None,
    test_source: TestSource = None,
    test_target: TestTarget = None,
    valid_text: ValidText = None,
    test_text: TestText = None,
    size: Size = None,
    architecture: Architecture = None,
    objective: Objective = None,
    attention: Attention = None,
    embeddings: Embeddings = None,
    freeze_embeddings: FreezeEmbeddings = False,
    recipe: RecipeName = None,
    data: RecipeData = Path("data"),
    seed: Seed = None,
    init: Init = None,
    settings: Settings = None,
    resume: Resume = False,
    quiet: Quiet = False,
) -> None:
    """Train a model from raw parallel text or running text, and score it."""
    flags: dict[str, dict[str, Any]] = {
        "data": {
            "source": source,
            "target": target,
            "pairs": pairs,
            "text": text,
            "valid_text": valid_text,
            "test_text": test_text,
            "valid_source": valid_source,
            "valid_target": valid_target,
            "test_source": test_source,
            "test_target": test_target,
            "embeddings": embeddings,
        },
        "model": {
            "size": size,
            "architecture": "encoder-decoder" if architecture == "transformer" else architecture,
            "attention": attention,
        },
        "train": {
            "seed": seed,
            "objective": objective,
            "freeze_embeddings": freeze_embeddings or None,
        },
    }
    plan = _plan(recipe, data, flags, settings)
    if not (plan.data.source or plan.data.pairs or plan.data.text or resume):
        raise UsageError(
            "training needs text: got none; give --source and --target, --pairs, or --text"
        )
    _run(plan, output, init, resume=resume, quiet=quiet)


def _plan(
    recipe: str | None,
    data: Path,
    flags: dict[str, dict[str, Any]],
    settings: list[str] | None,
) -> Recipe:
    """The recipe, then the flags that were given, then --set: each has the last word over those before it."""
    from regard.train.recipe import SECTIONS, Recipe, parse_settings, read_recipe

    start = read_recipe(recipe).with_files(data) if recipe else Recipe()
    asked = {
        section: {key: value for key, value in values.items() if value not in (None, "", [])}
        for section, values in flags.items()
    }
    plan = start.changed(asked, "the command line")
    return plan.changed(parse_settings(settings or (), SECTIONS), "--set")


def _run(plan: Recipe, output: Path, init: str | None, *, resume: bool, quiet: bool) -> None:
    from regard.folder.catalogue import find

    beginning = find(init) if init else None
    train_from, request = _trainer()
    result = train_from(
        request(
            data=plan.data,
            train=plan.train,
            size=plan.size,
            model=plan.model,
            decode=plan.decode,
            generate=plan.generate,
            init=beginning,
        ),
        output,
        resume=resume,
        show_progress=not quiet,
    )
    if result is None:  # one of several processes, of which the first has the result
        return
    for each in result.scores:
        typer.echo(str(each))
    if not quiet:
        from regard.folder.manifest import read_manifest

        trying = read_manifest(result.folder).task
        typer.echo(
            f"finished in {result.seconds:,.0f} s; try  regard {trying} --model {result.folder}",
            err=True,
        )


def keep_memory() -> None:
    """Ask the allocator to keep what it has, unless the user has asked otherwise; before torch is loaded."""
    for name, value in KEEPING_MEMORY.items():
        os.environ.setdefault(name, value)


def _trainer() -> tuple[Callable[..., Any], Callable[..., Any]]:
    keep_memory()
    try:
        from regard.train.request import Request
        from regard.train.run import train as run
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "torch", "training") from error
    return run, Request
