"""Options that several verbs share, and the search settings they ask for."""

from pathlib import Path
from typing import Annotated, Any

from typer import Option


def option(help: str, metavar: str | None = None, *names: str) -> Any:
    """An option; without names it is called like its parameter."""
    return Option(*names, metavar=metavar, help=help)


def search_setting(example: str) -> Any:
    return option(f"Any search setting, such as {example}.", "KEY=VALUE", "--set")


Text = str | None
File = Path | None
Files = list[Path] | None
Texts = list[str] | None
OUT = ("--output", "-o")
FROM = ("--from", "-f")
MODEL = ("--model", "-m")

ModelName = Annotated[Text, option("A model's name or folder.", "NAME", *MODEL)]
ModelNames = Annotated[Texts, option("A model's name or folder; several are an ensemble.", "NAME", *MODEL)]
From = Annotated[Text, option("Source language, such as fr.", "CODE", *FROM)]
To = Annotated[Text, option("Target language, such as en.", "CODE", "--to", "-t")]
Beam = Annotated[int | None, option("Hypotheses kept at each step.", None, "--beam", "-b")]
Mbr = Annotated[str, option("Choose among samples by minimum Bayes risk: chrf or bleu.", "MEASURE")]
Samples = Annotated[int, option("Samples of each sentence for --mbr.")]
Whole = Annotated[bool, Option("--whole", help="Take each text as one sentence; do not split it.")]
Plain = Annotated[bool, Option("--plain", help="Neither normalise texts nor protect addresses and the like.")]
GlossaryFile = Annotated[File, option("Words TAB their translations, one a line.", "FILE", "--glossary")]
Temperature = Annotated[float | None, option("Sample: below 1 sharper, above 1 flatter; 0: don't.")]
Seed = Annotated[int | None, option("The same seed gives the same text.")]
OutputFile = Annotated[File, option("Write here, not to stdout.", "FILE", *OUT)]
AsJson = Annotated[bool, Option("--json", help="Write JSON, for programs.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show no progress.")]
Encoding = Annotated[Text, option("Of files that do not declare it.", "NAME")]
Engine = Annotated[str, option("auto, onnxruntime or torch.", "NAME")]
Device = Annotated[str, option("auto, cpu or cuda.", "NAME")]
Threads = Annotated[int | None, option("CPU threads.")]
RecipeData = Annotated[Path, option("Where the recipe's files are.", "FOLDER", "--data")]
ConvertPickle = Annotated[bool, Option("--convert-pickle", help="Read the tensors of pytorch_model.bin too.")]
BeamSettings = Annotated[Texts, search_setting("length_penalty=1")]
SamplingSettings = Annotated[Texts, search_setting("top_k=40")]


def decode_options(settings: list[str] | None, *sections: str, **flags: Any) -> dict[str, Any]:
    """The search settings from --set and from flags, which override it; and those of further sections."""
    options: dict[str, Any] = {}
    if settings:
        from regard.train.recipe import parse_settings

        for found in parse_settings(settings, ("decode", *sections)).values():
            options |= found
    return options | {key: value for key, value in flags.items() if value is not None}
