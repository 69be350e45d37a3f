"""The verbs that judge translations: score, evaluate."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.options import (
    AsJson,
    Beam,
    BeamSettings,
    Device,
    Engine,
    From,
    ModelName,
    Threads,
    To,
    decode_options,
)
from regard.errors import UsageError


def score(
    pair: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE TARGET]", help="A text, its translation.")
    ] = None,
    model: ModelName = None,
    source: From = None,
    target: To = None,
    source_file: Annotated[
        Path | None, typer.Option("--source", metavar="FILE", help="Source sentences, one a line.")
    ] = None,
    target_file: Annotated[
        Path | None, typer.Option("--target", metavar="FILE", help="Their translations.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, not to stdout."),
    ] = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Write the log-probability of given translations.

    They are two arguments, two files, or the lines of stdin: source TAB target; an empty one stays empty.
    """
    from regard.api import load
    from regard.cli import lines as cli_lines

    if pair and len(pair) != 2:
        raise UsageError(
            f"score takes a source and its translation: got {len(pair)} texts; quote each of the two"
        )
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
    loaded = load(model, source_language=source, target_language=target, **opening)
    with cli_lines.Writer(output) as writer:
        for pairs in cli_lines.pairs(pair, source_file, target_file):
            for answer in cli_lines.scored(loaded, pairs, as_json):
                writer.write(answer + "\n")


def evaluate(
    model: Annotated[str, typer.Argument(help="A model's name or folder.")],
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="Source sentences.")],
    reference: Annotated[
        Path, typer.Option("--reference", metavar="FILE", help="Their translations.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Keep the model's translations here."),
    ] = None,
    beam: Beam = None,
    settings: BeamSettings = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate a test set and print BLEU and chrF."""
    from regard.api import load
    from regard.cli import lines as cli_lines
    from regard.data.corpus import read_pairs
    from regard.translate.evaluate import evaluate as evaluate_lines
    from regard.translate.evaluate import require_metrics

    require_metrics()
    corpus = read_pairs([source], [reference], strict=True, sides=("--source", "--reference"))
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
    loaded = load(model, **opening)
    options = decode_options(settings, beam=beam)
    hypotheses: list[str] = []
    with cli_lines.Writer(output) if output else contextlib.nullcontext() as writer:
        for sources in cli_lines.with_progress(corpus.sources, "translating"):
            hypotheses += loaded.translate(sources, split=False, number=len(hypotheses), **options)
        result = evaluate_lines(hypotheses, corpus.targets, name=reference.stem)
        if writer is not None:
            writer.write("".join(f"{cli_lines.on_one_line(text)}\n" for text in hypotheses))
    typer.echo(json.dumps(result.to_dict()) if as_json else str(result))
