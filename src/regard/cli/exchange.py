"""The verbs import and export: models in the formats of other programs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument

from regard.cli import options as opt
from regard.errors import UsageError

Output = Annotated[Path, Argument(help="The folder to write.")]


def export(
    model: Annotated[str, Argument(help="A model's name or folder.")],
    output: Output,
    to: Annotated[
        str, opt.option("regard, safetensors, huggingface, ctranslate2 or onnx.", "FORMAT")
    ] = "regard",
    weights: Annotated[
        opt.Text, opt.option("int8, fp16 or fp32; regard's own default: int8.", "FORM")
    ] = None,
    mix: Annotated[
        opt.Texts,
        opt.option(
            "Mix in a share of another model's weights, such as runs/first=0.25; repeatable.",
            "MODEL=SHARE",
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
    weights: Annotated[str, opt.option("int8, fp16 or fp32.", "FORM")] = "fp32",
    source: opt.From = "",
    target: opt.To = "",
    prompt: Annotated[
        str, opt.option('Text before every input, such as "translate English to German: ".', "TEXT")
    ] = "",
    convert_pickle: opt.ConvertPickle = False,
) -> None:
    """Read a model of Marian, BART, Pegasus, T5, GPT-2 or BERT, and write a model folder.

    It is then used like any other: translate, write, fill, look, serve.
    """
    from regard.api import import_model as import_folder

    about: dict[str, Any] = {"source_language": source, "target_language": target}
    about |= {"weights": weights, "prompt": prompt, "convert_pickle": convert_pickle}
    import_folder(folder, output, **about)
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
