"""The verbs train and compare: a model from raw text, or several trained alike."""

import os
import threading
import webbrowser
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from regard.cli import options as opt
from regard.config import RECURRENT, recurrent_like
from regard.errors import UsageError, needs_extra

KEEPING_MEMORY = {"MIMALLOC_PURGE_DELAY": "-1"}
"""Settings of the allocator in torch's ARM builds, read when torch is loaded: it keeps freed memory for the next
step. Fetching it from the system again takes 7 % of the time."""

Files = list[str] | None


def train(
    output: Annotated[
        Path | None, opt.option("The run and the model; of a recipe by default runs/ and its name.", "FOLDER", *opt.OUT)
    ] = None,
    source: Annotated[Files, Option(help="Source sentences, one a line (.gz, .xz).")] = None,
    target: Annotated[Files, Option(help="Their translations.")] = None,
    pairs: Annotated[Files, Option(help="Files of source TAB target; FILE@0.3 takes less of one, FILE@3 more.")] = None,
    text: Annotated[Files, Option(help="Running text, for a decoder-only or encoder-only model.")] = None,
    valid_source: Annotated[Files, Option(help="Validation; else held out.")] = None,
    valid_target: Annotated[Files, Option(help="Its translations.")] = None,
    test_source: Annotated[Files, Option(help="Scored once at the end.")] = None,
    test_target: Annotated[Files, Option(help="Its references.")] = None,
    valid_text: Annotated[Files, Option(help="Of running text: validation.")] = None,
    test_text: Annotated[Files, Option(help="Of running text: measured at the end.")] = None,
    size: Annotated[str | None, Option(help="tiny, small, base or big.")] = None,
    architecture: Annotated[
        str | None, Option(help="transformer, decoder-only, encoder-only, or the older rnn, gru, lstm.")
    ] = None,
    objective: Annotated[str | None, Option(help="translation, language, masked, or contrastive, for search.")] = None,
    attention: Annotated[str | None, Option(help="Of rnn, gru, lstm: additive, dot, general or none.")] = None,
    embeddings: Annotated[Files, Option(help="Word vectors to start from.")] = None,
    recipe: Annotated[str | None, Option(help="A named recipe or a TOML file.")] = None,
    data: opt.RecipeData = Path("data"),
    seed: Annotated[int | None, Option(help="Of everything random.")] = None,
    init: Annotated[str | None, Option(help="A model to start from.")] = None,
    keep: Annotated[Files, Option(help="With --init: pairs it must not get worse at.")] = None,
    threads: Annotated[int | None, Option(help="Of a CPU; else chosen by timing a few steps.")] = None,
    adapter: Annotated[bool, Option("--adapter", help="Train small adapters of it (LoRA).")] = False,
    settings: Annotated[Files, opt.option("Any setting, such as steps=2000.", "KEY=VALUE", "--set")] = None,
    resume: Annotated[bool, Option("--resume", help="Continue the run in --output.")] = False,
    force: Annotated[bool, Option("--force", help="Train on text that looks wrong.")] = False,
    look: Annotated[bool, Option("--look", help="A page that shows it learn, from now on until Ctrl-C.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model from raw parallel text or running text, and score it."""
    architecture = "encoder-decoder" if architecture == "transformer" else architecture
    given = {name: value for name, value in locals().items() if value not in (None, [], "") and value is not False}
    from regard.folder.catalogue import find
    from regard.train.recipe import SECTIONS, Request, keys_of, parse_settings, read_recipe

    # The flags named like settings are settings.
    flags = {name: {key: given[key] for key in keys_of(name) if key in given} for name in ("data", "model", "train")}
    changes = parse_settings(settings or (), SECTIONS)
    changed = {*flags["data"], *changes.get("data", {})}
    request = read_recipe(recipe).with_files(data, changed) if recipe else Request()
    if architecture in RECURRENT and recipe and request.size is None and request.architecture not in RECURRENT:
        request = replace(request, model=recurrent_like(request.model, architecture, attention or "additive"))
    request = request.changed(flags, "the command line").changed(changes, "--set")
    request = replace(request, init=find(init) if init else None)
    output = output or (Path("runs", Path(recipe).stem) if recipe else None)
    if output is None:
        raise UsageError("training needs a folder for the run: got none; give --output")
    keep_memory()
    with needs_extra("torch", "training"):
        from regard.train.plan import NUM_SNAPSHOTS
        from regard.train.run import train as run
    if look and not resume and "snapshots" not in request.given("train"):  # a page shows them, of a large model too
        request = request.changed({"train": {"snapshots": NUM_SNAPSHOTS}}, "--look")
    with _page_of(output) if look and os.environ.get("RANK", "0") == "0" else nullcontext() as is_served:
        if (result := run(request, output, resume=resume, show_progress=not quiet)) is not None:
            _tell(result, quiet)
            if is_served is not None:
                _wait(is_served.is_set())


def _tell(result: Any, quiet: bool) -> None:
    from regard.folder.manifest import read_manifest

    for each in result.scores:
        typer.echo(str(each))
    if not quiet:
        manifest = read_manifest(result.folder)
        to = "".join(f" --to {language}" for language in manifest.target_languages[:1])
        advice = f"try  regard {manifest.task} --model {result.folder}{to}"
        typer.echo(f"finished in {result.seconds:,.0f} s; {advice}", err=True)


def _page_of(output: Path) -> AbstractContextManager[threading.Event]:
    """Serve the run's page while it trains; of the processes that torchrun starts, the first has it and the result."""
    from regard.look.live import served_live

    def opened(url: str) -> None:
        typer.echo(f"{url}  shows the run", err=True)
        webbrowser.open(url)

    return served_live(output, opened)


def _wait(is_served: bool) -> None:
    """Wait for Ctrl-C where there is a page."""
    if not is_served:
        typer.echo("no page: this run keeps no snapshots; --set snapshots=16 keeps some", err=True)
        return
    typer.echo("the page stays until Ctrl-C", err=True)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def compare(
    recipe: Annotated[str, Option(help="A named comparison or a TOML file.")],
    output: Annotated[Path, opt.option("Models, results, report.", "FOLDER", "--output", "-o")] = Path("compare"),
    data: opt.RecipeData = Path("data"),
    jobs: Annotated[
        int | None, Option("--jobs", "-j", help="Runs at a time; by default one a core, or eight on a GPU.")
    ] = None,
    only_report: Annotated[bool, Option("--only-report", help="Write the report again; train nothing.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train models alike, measure them, and write one report.

    What is finished is not done again: the same command continues after an interruption. report.html stands alone;
    its figures are also in FOLDER/figures as PNGs.
    """
    keep_memory()
    with needs_extra("torch", "comparing models"):
        from regard.compare.run import compare as run
    report = run(recipe, output, data=data, jobs=jobs, only_report=only_report, show_progress=not quiet)
    typer.echo(str(report))


def keep_memory() -> None:
    """Set the allocator's variables, unless the user has; call it before torch is imported."""
    for name, value in KEEPING_MEMORY.items():
        os.environ.setdefault(name, value)
