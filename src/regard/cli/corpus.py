"""The verb translate-corpus: files of any size, block by block, here or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import (
    Beam,
    Device,
    Engine,
    From,
    ModelName,
    To,
    decode_options,
    search_setting,
)


def translate_corpus(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Texts, one a line (.gz, .xz).")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="A translation for each, there."),
    ],
    model: ModelName = None,
    source: From = None,
    target: To = None,
    side: Annotated[
        int | None,
        typer.Option(
            "--side",
            metavar="1|2",
            min=1,
            max=2,
            help="The files hold pairs with a tab between: translate this side, and write it with its "
            "translation, in the same columns.",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option("--ray", metavar="ADDRESS", help="Of a Ray cluster; local, auto or where."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes of the cluster; all if not said.")
    ] = None,
    block_bytes: Annotated[
        int, typer.Option("--block-bytes", min=1, help="What is done, and lost, at a time.")
    ] = 1 << 19,
    beam: Beam = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Take each line as one sentence, not to be cut.")
    ] = False,
    settings: Annotated[list[str] | None, search_setting("seed=1")] = None,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads of each.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Translate files of any size, line by line, here or on a cluster of many machines.

    Each block of lines is a file when it is done: the same command again goes on with what is left. As many lines come
    out as went in, the same ones that translate would write, in the same order.
    """
    from regard.folder.catalogue import find_model
    from regard.translate.blockwise import Execute, Job, here

    options = decode_options(settings, beam=beam)
    execute: Execute = here
    if ray is not None:
        from regard.translate.on_ray import OnRay

        execute = OnRay(ray, workers)
        threads = threads or 1
    job = Job(
        inputs=tuple(str(path.resolve()) for path in inputs),
        output=str(output.resolve()),
        model=str(find_model(model, source, target).resolve()),
        opening={"engine": engine, "device": device, "threads": threads},
        options={**options, "split": not whole},
        block_bytes=block_bytes,
        side=side,
    )

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    num_lines = job.run(execute, say)
    say(f"{num_lines:,} lines translated into {output}")
