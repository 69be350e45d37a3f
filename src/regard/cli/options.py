"""Options that several verbs share, and the search settings and the model they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

if TYPE_CHECKING:
    from regard.api import Model

ModelName = Annotated[
    str | None, Option("--model", "-m", metavar="NAME", help="A model's name or folder.")
]
From = Annotated[str | None, Option("--from", metavar="CODE", help="Source language, such as fr.")]
To = Annotated[str | None, Option("--to", metavar="CODE", help="Target language, such as en.")]
Beam = Annotated[int | None, Option("--beam", "-b", help="Hypotheses kept at each step.")]
Whole = Annotated[bool, Option("--whole", help="Take each text as one sentence; do not split it.")]
Temperature = Annotated[
    float | None,
    Option("--temperature", help="Sample: below 1 sharper, above 1 flatter; 0: don't."),
]
Seed = Annotated[int | None, Option("--seed", help="The same seed gives the same text.")]
OutputFile = Annotated[
    Path | None, Option("--output", "-o", metavar="FILE", help="Write here, not to stdout.")
]
AsJson = Annotated[bool, Option("--json", help="Write JSON, for programs.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show no progress.")]
Encoding = Annotated[
    str | None, Option("--encoding", metavar="NAME", help="Of files that do not declare it.")
]
Engine = Annotated[str, Option("--engine", metavar="NAME", help="auto, onnxruntime or torch.")]
Device = Annotated[str, Option("--device", metavar="NAME", help="auto, cpu or cuda.")]
Threads = Annotated[int | None, Option("--threads", help="CPU threads.")]
RecipeData = Annotated[
    Path, Option("--data", metavar="FOLDER", help="Where the recipe's files are.")
]
ConvertPickle = Annotated[
    bool, Option("--convert-pickle", help="Read pytorch_model.bin too, in a separate process.")
]


def search_setting(example: str) -> Any:
    return Option("--set", metavar="KEY=VALUE", help=f"Any search setting, such as {example}.")


BeamSettings = Annotated[list[str] | None, search_setting("length_penalty=1")]
SamplingSettings = Annotated[list[str] | None, search_setting("top_k=40")]


def decode_options(settings: list[str] | None, **flags: Any) -> dict[str, Any]:
    """The search settings from --set and from flags; a flag overrides --set."""
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


def load_for(task: str, model: str | None, **opening: Any) -> Model:
    """The model that is named, or the first one for this task."""
    from regard.api import load
    from regard.folder.catalogue import find_by_task

    return load(model or find_by_task(task), **opening)
