"""The verb models: list the installed ones, get others, push one to the hub."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError


def models(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[get MODEL | push MODEL hf:OWNER/NAME]",
            help="Get or push one; without any word all that are here are listed.",
        ),
    ] = None,
    name: Annotated[str, opt.option("What to call the model here.", "NAME")] = "",
    sha256: Annotated[str, opt.option("Checksum of the model to get.", "DIGITS")] = "",
    weights: Annotated[str, opt.option("Of a foreign model: int8, fp16, fp32.", "FORM")] = "fp32",
    convert_pickle: opt.ConvertPickle = False,
    private: Annotated[bool, Option("--private", help="A new repository is private.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the models that can be used by name, get one from elsewhere, or push one to the Hugging Face hub.

    MODEL to get is https:// and an archive (.tar.gz, .tar.xz, .zip) or a folder with a list SHA256SUMS, or
    hf:owner/name or hf:owner/name@revision. An interrupted transfer is continued; a model is there whole, with the
    right checksums, or not at all.
    """
    match words or []:
        case []:
            _list(as_json)
        case ["get", wanted]:
            _get(wanted, name, sha256, weights, convert_pickle=convert_pickle, as_json=as_json)
        case ["push", model, repository]:
            from regard.exchange.hub import push, split_repository
            from regard.folder.catalogue import find

            owner, revision = split_repository(repository)
            url = push(find(model), owner, revision=revision, private=private)
            typer.echo(json.dumps({"url": url}) if as_json else url)
        case other:
            raise UsageError(
                "regard models takes nothing,  get MODEL, or  push MODEL hf:owner/name: got "
                f"{' '.join(other)!r}; see  regard models --help"
            )


def _list(as_json: bool) -> None:
    from regard.folder.catalogue import available, user_folder

    found = available()
    if as_json:
        typer.echo(json.dumps([info.to_dict() for info in found]))
        return
    for info in found:
        task = info.manifest.task
        does = " to ".join(info.languages) if task == "translate" else task
        where = "bundled" if info.bundled else str(info.folder)
        typer.echo(
            f"{info.name:<16} {does:<12} {info.num_parameters / 1e6:>6.1f} M parameters "
            f"{info.num_bytes / 1e6:>7.1f} MB {info.manifest.weights}  {where}"
        )
    others = "others" if found else "no models yet: model folders"
    typer.echo(f"{others} are looked for in {user_folder()}", err=True)


def _get(
    wanted: str, name: str, sha256: str, weights: str, *, convert_pickle: bool, as_json: bool
) -> None:
    from regard.cli.lines import Bars
    from regard.exchange.formats import check_format
    from regard.exchange.hub import find_address, get
    from regard.exchange.huggingface import ImportOptions

    address = find_address(wanted, name=name, sha256=sha256)
    form = ImportOptions(check_format("regard", weights), convert_pickle=convert_pickle)
    with Bars(count_bytes=True) as bars:
        folder = get(address, form, progress=bars.start)
    if as_json:
        typer.echo(json.dumps({"name": folder.name, "folder": str(folder)}))
    else:
        typer.echo(f"{folder.name} is there: {folder}", err=True)
