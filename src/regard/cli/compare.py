"""The verb compare: models trained alike, side by side in one report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli import options as opt
from regard.errors import needs_extra


def compare(
    recipe: Annotated[str, typer.Option(help="A named comparison or a TOML file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Models, results, report.")
    ] = Path("compare"),
    data: opt.RecipeData = Path("data"),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", help="Parallel trainings; by default one a core, or one on a GPU."
        ),
    ] = None,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Write the report again; train nothing.")
    ] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train models alike, measure them, and write one report.

    What is finished is not done again: the same command continues after an interruption. report.html stands alone;
    its figures are also in FOLDER/figures as PNGs.
    """
    from regard.cli.train import keep_memory

    keep_memory()
    with needs_extra("torch", "comparing models"):
        from regard.compare.run import compare as run
    report = run(
        recipe, output, data=data, jobs=jobs, only_report=only_report, show_progress=not quiet
    )
    typer.echo(str(report))
