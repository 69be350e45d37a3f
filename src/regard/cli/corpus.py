"""The verb translate-corpus: files of any size, block by block, here or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from regard.cli import options as opt


def translate_corpus(
    inputs: Annotated[
        list[Path], Argument(metavar="FILE...", help="Texts, one a line (.gz, .xz).")
    ],
    output: Annotated[
        Path, opt.option("A translation of each file, there.", "FOLDER", "--output", "-o")
    ],
    model: opt.ModelName = None,
    source: opt.From = None,
    target: opt.To = None,
    side: Annotated[
        int | None,
        Option(
            metavar="1|2",
            min=1,
            max=2,
            help="The files hold source TAB target: translate this side only, and write both columns.",
        ),
    ] = None,
    ray: Annotated[opt.Text, opt.option("A Ray cluster: local, auto, or where.", "ADDRESS")] = None,
    workers: Annotated[int | None, opt.option("Processes of the cluster; all by default.")] = None,
    block_bytes: Annotated[
        int, Option(min=1, help="Bytes translated, and lost if stopped, at a time.")
    ] = 1 << 19,
    beam: opt.Beam = None,
    whole: opt.Whole = False,
    settings: Annotated[list[str] | None, opt.search_setting("seed=1")] = None,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
) -> None:
    """Translate files of any size, line by line, here or on a cluster of many machines.

    Each finished block of lines is a file: the same command again continues with the rest. As many lines come out as
    went in, the same ones that translate would write, in the same order.
    """
    from regard.api import load
    from regard.folder.catalogue import find_model
    from regard.translate.corpus import Execute, Job, in_this_process

    options = opt.decode_options(settings, beam=beam)
    execute: Execute = in_this_process(load)
    if ray is not None:
        from regard.translate.ray_corpus import OnRay

        execute = OnRay(load, ray, workers)
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
