"""The verb that makes models: train."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.errors import MissingExtra, UsageError

KEEPING_MEMORY = {"MIMALLOC_PURGE_DELAY": "-1"}
"""for the allocator in torch's builds for ARM, read when torch is loaded: a step asks for what the last one gave
back, and fetching it from the system anew takes 7 % of the time"""


Files = list[str] | None


def train(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The run and the model.")
    ],
    source: Annotated[Files, typer.Option(help="Source sentences, one a line (.gz, .xz).")] = None,
    target: Annotated[Files, typer.Option(help="Their translations.")] = None,
    pairs: Annotated[Files, typer.Option(help="Files of source TAB target.")] = None,
    text: Annotated[
        Files, typer.Option(help="Running text, for a decoder-only or encoder-only model.")
    ] = None,
    valid_source: Annotated[Files, typer.Option(help="Validation; else held out.")] = None,
    valid_target: Annotated[Files, typer.Option(help="Its translations.")] = None,
    test_source: Annotated[Files, typer.Option(help="Scored once at the end.")] = None,
    test_target: Annotated[Files, typer.Option(help="Its references.")] = None,
    valid_text: Annotated[Files, typer.Option(help="Of running text: validation.")] = None,
    test_text: Annotated[Files, typer.Option(help="Of running text: measured at the end.")] = None,
    size: Annotated[str | None, typer.Option(help="tiny, small, base or big.")] = None,
    architecture: Annotated[
        str | None,
        typer.Option(help="transformer, decoder-only, encoder-only, or the older rnn, gru, lstm."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="translation, language, masked, or contrastive, for search."),
    ] = None,
    attention: Annotated[
        str | None, typer.Option(help="Of the older: additive, dot, general or none.")
    ] = None,
    embeddings: Annotated[Files, typer.Option(help="Word vectors to start from.")] = None,
    freeze_embeddings: Annotated[
        bool, typer.Option("--freeze-embeddings", help="Leave those vectors as they are.")
    ] = False,
    recipe: Annotated[str | None, typer.Option(help="A named recipe or a TOML file.")] = None,
    data: Annotated[
        Path, typer.Option("--data", metavar="FOLDER", help="Where the recipe's files are.")
    ] = Path("data"),
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    init: Annotated[str | None, typer.Option(help="A model to start from.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any setting, such as steps=2000."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the scores.")] = False,
) -> None:
    """Train a model from raw parallel text or running text, and score it."""
    from regard.recipe import SECTIONS, Recipe, parse_settings, read_recipe

    files = {
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
    }
    asked: dict[str, dict[str, Any]] = {
        "data": {key: value for key, value in files.items() if value}
    }
    architecture = "encoder-decoder" if architecture == "transformer" else architecture
    shape = {"size": size, "architecture": architecture, "attention": attention}
    asked["model"] = {key: value for key, value in shape.items() if value}
    asked["train"] = {} if seed is None else {"seed": seed}
    if objective:
        asked["train"]["objective"] = objective
    if freeze_embeddings:
        asked["train"]["freeze_embeddings"] = True
    start = read_recipe(recipe).with_files(data) if recipe else Recipe()
    plan = start.changed(asked, "the command line")
    plan = plan.changed(parse_settings(settings or (), SECTIONS), "--set")
    if not (plan.data.source or plan.data.pairs or plan.data.text or resume):
        raise UsageError(
            "training needs text: got none; give --source and --target, --pairs, or --text"
        )
    if init:
        from regard.catalogue import find

        init = str(find(init))
    train_from, request = _trainer()
    result = train_from(
        request(
            data=plan.data,
            train=plan.train,
            size=plan.size,
            model=plan.model,
            decode=plan.decode,
            init=Path(init) if init else None,
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
        from regard.checkpoint import read_manifest

        trying = read_manifest(result.folder).task
        typer.echo(
            f"finished in {result.seconds:,.0f} s; try  regard {trying} --model {result.folder}",
            err=True,
        )


def _trainer() -> tuple[Callable[..., Any], Callable[..., Any]]:
    for name, value in KEEPING_MEMORY.items():
        os.environ.setdefault(name, value)
    try:
        from regard.train.request import Request
        from regard.train.run import train as run
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "torch", "training") from error
    return run, Request
