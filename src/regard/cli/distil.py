"""The verb distil: a small student of a teacher."""

import functools
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.cli.train import keep_memory
from regard.errors import UsageError, needs_extra


def distil(
    teacher: Annotated[str, Argument(help="A model's name or folder, such as an imported one.")],
    output: Annotated[Path, opt.option("The stages and the student.", "FOLDER", *opt.OUT)],
    text: Annotated[opt.Files, Option(help="Sentences of the source language (.gz, .xz).")] = None,
    pairs: Annotated[opt.Texts, Option(help="People's translations, source TAB target.")] = None,
    back_translate: Annotated[opt.Files, Option(help="Sentences of the target language.")] = None,
    reverse: Annotated[str | None, Option(help="A teacher of the other direction, for these.")] = None,
    test_source: Annotated[opt.Texts, Option(help="Teacher and student are scored on it.")] = None,
    test_target: Annotated[opt.Texts, Option(help="Its references.")] = None,
    size: Annotated[str | None, Option(help="tiny, small, base or big.")] = None,
    recipe: Annotated[str | None, Option(help="A named recipe or a TOML file, for the student.")] = None,
    data: opt.RecipeData = Path("data"),
    settings: Annotated[opt.Texts, opt.option("Any setting, such as steps=2000.", "KEY=VALUE", "--set")] = None,
    beam: Annotated[int, Option("--beam", "-b", min=1, help="Of the teachers.")] = 2,
    min_score: Annotated[float, Option(help="Drop translations below this mean log-probability.")] = -1.5,
    ray: Annotated[opt.Text, opt.option("Teachers on a Ray cluster: local, auto, or where.", "ADDRESS")] = None,
    device: opt.Device = "auto",
    pairs_only: Annotated[bool, Option("--pairs-only", help="Train later, by the same command without this.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a small student on a teacher's translations, and score both.

    The same command continues after an interruption. The student is the folder `model` in --output.
    """
    from regard.api import load
    from regard.folder.catalogue import find
    from regard.train.distil import Distillation, JudgedTeacher
    from regard.train.distil import distil as run
    from regard.train.recipe import SECTIONS, Request, parse_settings, read_recipe
    from regard.translate.corpus import in_this_process, on_ray

    if not (text or back_translate):
        raise UsageError("distilling needs text for the teacher: got none; give --text or --back-translate")
    if bool(back_translate) != bool(reverse):
        raise UsageError("--back-translate and --reverse belong together: got one of them; give both, or neither")
    keep_memory()
    with needs_extra("torch", "training"):
        import torch
    if device == "auto" and torch.cuda.is_available():
        device = "cuda"
    request = read_recipe(recipe).with_files(data) if recipe else Request()
    files = {"pairs": [*request.data.pairs, *(pairs or ())], "test_source": test_source, "test_target": test_target}
    flags: dict[str, dict[str, object]] = {"data": {key: each for key, each in files.items() if each}}
    flags["model"] = {"size": size or request.size or "small"}
    request = request.changed(flags, "the command line").changed(parse_settings(settings or (), SECTIONS), "--set")
    texts = [tuple(path.resolve() for path in files or ()) for files in (text, back_translate)]
    back = find(reverse).resolve() if reverse else None
    command = shlex.join(["regard", *sys.argv[1:]])
    asked = Distillation(
        find(teacher).resolve(), texts[0], request, back, texts[1], beam, min_score, {"device": device}, command
    )
    loads = (load, functools.partial(JudgedTeacher, load))
    first, second = (on_ray(each, ray) if ray else in_this_process(each) for each in loads)

    def say(message: str) -> None:
        if not quiet:
            typer.echo(message, err=True)

    train = run(asked, output, load, (first, second), say)
    say(f"the pairs are {output / 'pairs.tsv'}" if pairs_only else f"the student is {train()}")
