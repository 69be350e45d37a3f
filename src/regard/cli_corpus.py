"""The verb translate-corpus: files of any size, block by block, here or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def translate_corpus(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Texts, one a line (.gz, .xz).")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="A translation for each, there."),
    ],
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="NAME", help="A model's name or folder.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="CODE", help="Source language, such as fr.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Target language, such as en.")
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
    beam: Annotated[int | None, typer.Option("--beam", "-b", help="Hypotheses kept alive.")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Take each line as one sentence, not to be cut.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any search setting, such as seed=1."),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="auto, onnxruntime or torch.")
    ] = "auto",
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="auto, cpu or cuda.")
    ] = "auto",
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads of each.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Translate files of any size, line by line, here or on a cluster of many machines.

    Each block of lines is a file when it is done: the same command again goes on with what is left. As many lines come
    out as went in, the same ones that translate would write, in the same order.
    """
    from regard.api import find_model
    from regard.blockwise import Execute, Job, here
    from regard.recipe import parse_settings

    options: dict[str, Any] = parse_settings(settings or (), ["decode"]).get("decode", {})
    options |= {} if beam is None else {"beam": beam}
    execute: Execute = here
    if ray is not None:
        from regard.on_ray import OnRay

        execute = OnRay(ray, workers)
        threads = threads or 1
    job = Job(
        inputs=tuple(str(path.resolve()) for path in inputs),
        output=str(output.resolve()),
        model=str(find_model(model, source, target).resolve()),
        opening={"engine": engine, "device": device, "threads": threads},
        options={**options, "split": not whole},
        block_bytes=block_bytes,
    )

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    num_lines = job.run(execute, say)
    say(f"{num_lines:,} lines translated into {output}")
