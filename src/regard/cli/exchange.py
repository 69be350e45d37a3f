"""The verbs import and export: models in the formats of other programs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError

Output = Annotated[Path, Argument(help="The folder to write.")]


def export(
    model: Annotated[str, Argument(help="A model's name or folder.")],
    output: Output,
    to: Annotated[
        str,
        Option(
            "--to", metavar="FORMAT", help="regard, safetensors, huggingface, ctranslate2 or onnx."
        ),
    ] = "regard",
    weights: Annotated[
        str | None,
        Option("--weights", metavar="FORM", help="int8, fp16 or fp32; regard's own default: int8."),
    ] = None,
    mix: Annotated[
        list[str] | None,
        Option(
            "--mix",
            metavar="MODEL=SHARE",
            help="Mix in a share of another model's weights, such as runs/first=0.25; repeatable.",
        ),
    ] = None,
) -> None:
    """Write a model in another format, with smaller or larger weights, or mixed with others.

    In regard's own format it also gets the graphs that the CPU engine runs.
    """
    from regard.api import export as export_model

    export_model(model, output, weights=weights, to=to, mix=[*map(_share, mix or [])])
    _tell_size(output)


def import_model(
    folder: Annotated[Path, Argument(metavar="PATH", help="A Hugging Face folder.")],
    output: Output,
    weights: Annotated[
        str, Option("--weights", metavar="FORM", help="int8, fp16 or fp32.")
    ] = "fp32",
    source: Annotated[
        str, Option("--from", metavar="CODE", help="Source language, such as fr.")
    ] = "",
    target: Annotated[
        str, Option("--to", metavar="CODE", help="Target language, such as en.")
    ] = "",
    prompt: Annotated[
        str,
        Option(
            "--prompt",
            metavar="TEXT",
            help='Text before every input, such as "translate English to German: ".',
        ),
    ] = "",
    convert_pickle: opt.ConvertPickle = False,
) -> None:
    """Read a model of Marian, BART, Pegasus, T5, GPT-2 or BERT, and write a model folder.

    It is then used like any other: translate, write, fill, look, serve.
    """
    from regard.api import import_model as import_folder

    import_folder(
        folder,
        output,
        weights=weights,
        source_language=source,
        target_language=target,
        prompt=prompt,
        convert_pickle=convert_pickle,
    )
    _tell_size(output)


def _share(text: str) -> tuple[str, float]:
    """
    >>> _share("runs/first=0.25")
    ('runs/first', 0.25)
    """
    model, _, share = text.rpartition("=")
    if model:
        with suppress(ValueError):
            return model, float(share)
    raise UsageError(
        f"--mix must be a model and a share, runs/first=0.25: got {text!r}; write it so"
    )


def _tell_size(output: Path) -> None:
    size = sum(path.stat().st_size for path in output.iterdir())
    typer.echo(f"{output}: {size / 1e6:.1f} MB", err=True)
