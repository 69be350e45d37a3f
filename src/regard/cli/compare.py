"""The verb that sets models side by side: compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import RecipeData
from regard.errors import MissingExtra


def compare(
    recipe: Annotated[str, typer.Option(help="A named comparison or a TOML file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Models, results, report.")
    ] = Path("compare"),
    data: RecipeData = Path("data"),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", help="Trainings at a time; chosen: a core each, or one on a GPU."
        ),
    ] = None,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="From what was measured before; train nothing.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the report's name.")] = False,
) -> None:
    """Train models alike, measure them, and write one report.

    What is finished is not done again: the same command goes on after an interruption. report.html stands alone;
    its figures are also in FOLDER/figures as PNGs.
    """
    from regard.cli.train import keep_memory

    keep_memory()
    try:
        from regard.compare.run import compare as run
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "torch", "comparing models") from error
    report = run(
        recipe, output, data=data, jobs=jobs, only_report=only_report, show_progress=not quiet
    )
    typer.echo(str(report))
