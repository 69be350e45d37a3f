"""Options that several verbs share, and the search settings and the model they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

if TYPE_CHECKING:
    from regard.api import Model


def option(help: str, metavar: str | None = None, *names: str) -> Any:
    """An option; without names it is called like its parameter."""
    return Option(*names, metavar=metavar, help=help)


def search_setting(example: str) -> Any:
    return option(f"Any search setting, such as {example}.", "KEY=VALUE", "--set")


Text = str | None
File = Path | None
Texts = list[str] | None

ModelName = Annotated[Text, option("A model's name or folder.", "NAME", "--model", "-m")]
From = Annotated[Text, option("Source language, such as fr.", "CODE", "--from")]
To = Annotated[Text, option("Target language, such as en.", "CODE", "--to")]
Beam = Annotated[int | None, option("Hypotheses kept at each step.", None, "--beam", "-b")]
Whole = Annotated[bool, Option("--whole", help="Take each text as one sentence; do not split it.")]
Temperature = Annotated[float | None, option("Sample: below 1 sharper, above 1 flatter; 0: don't.")]
Seed = Annotated[int | None, option("The same seed gives the same text.")]
OutputFile = Annotated[File, option("Write here, not to stdout.", "FILE", "--output", "-o")]
AsJson = Annotated[bool, Option("--json", help="Write JSON, for programs.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show no progress.")]
Encoding = Annotated[Text, option("Of files that do not declare it.", "NAME")]
Engine = Annotated[str, option("auto, onnxruntime or torch.", "NAME")]
Device = Annotated[str, option("auto, cpu or cuda.", "NAME")]
Threads = Annotated[int | None, option("CPU threads.")]
RecipeData = Annotated[Path, option("Where the recipe's files are.", "FOLDER", "--data")]
ConvertPickle = Annotated[
    bool, Option("--convert-pickle", help="Read pytorch_model.bin too, in a separate process.")
]
BeamSettings = Annotated[Texts, search_setting("length_penalty=1")]
SamplingSettings = Annotated[Texts, search_setting("top_k=40")]


def decode_options(settings: list[str] | None, **flags: Any) -> dict[str, Any]:
    """The search settings from --set and from flags; a flag overrides --set."""
    return generate_options(settings, ("decode",), **flags)


def generate_options(
    settings: list[str] | None, sections: Sequence[str] = ("decode", "generate"), **flags: Any
) -> dict[str, Any]:
    """The same with the settings of chat and write."""
    from regard.train.recipe import parse_settings

    found = parse_settings(settings or (), sections)
    given = {key: value for key, value in flags.items() if value is not None}
    return {**found.get("decode", {}), **found.get("generate", {}), **given}


def load_for(task: str, model: str | None, **opening: Any) -> Model:
    """The model that is named, or the first one for this task."""
    from regard.api import load
    from regard.folder.catalogue import find_by_task

    return load(model or find_by_task(task), **opening)
