"""The options that several verbs take, each with one name and one sentence of help, and the search they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ModelName = Annotated[
    str | None, typer.Option("--model", "-m", metavar="NAME", help="A model's name or folder.")
]
From = Annotated[
    str | None, typer.Option("--from", metavar="CODE", help="Source language, such as fr.")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="CODE", help="Target language, such as en.")
]
Beam = Annotated[int | None, typer.Option("--beam", "-b", help="Hypotheses kept alive.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Engine = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="auto, onnxruntime or torch.")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu or cuda.")]
Threads = Annotated[int | None, typer.Option("--threads", help="CPU threads.")]
RecipeData = Annotated[
    Path, typer.Option("--data", metavar="FOLDER", help="Where the recipe's files are.")
]
ConvertPickle = Annotated[
    bool,
    typer.Option("--convert-pickle", help="Read pytorch_model.bin too, in a process of its own."),
]


def search_setting(example: str) -> Any:
    """The option --set of a verb that searches, with the setting that its users are likely to want."""
    return typer.Option(
        "--set", metavar="KEY=VALUE", help=f"Any search setting, such as {example}."
    )


BeamSettings = Annotated[list[str] | None, search_setting("length_penalty=1")]
SamplingSettings = Annotated[list[str] | None, search_setting("top_k=40")]


def decode_options(settings: list[str] | None, **flags: Any) -> dict[str, Any]:
    """The search settings that --set and the flags ask for; a flag has the last word."""
    return _options(settings, ["decode"], flags)


def generate_options(settings: list[str] | None, **flags: Any) -> dict[str, Any]:
    """The same with the settings of chat and write."""
    return _options(settings, ["decode", "generate"], flags)


def _options(
    settings: list[str] | None, sections: list[str], flags: dict[str, Any]
) -> dict[str, Any]:
    from regard.train.recipe import parse_settings

    found = parse_settings(settings or (), sections)
    given = {key: value for key, value in flags.items() if value is not None}
    return {**found.get("decode", {}), **found.get("generate", {}), **given}
