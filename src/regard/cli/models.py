"""The verbs models (list, get, push), import and export, and data: public corpora, listed and fetched."""

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError, needs_extra

Output = Annotated[Path, Argument(help="The folder to write.")]


def models(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[get MODEL | push MODEL hf:OWNER/NAME | show RUN]",
            help="Get or push one, or sum up a run of training; without any word all that are here are listed.",
        ),
    ] = None,
    name: Annotated[str, opt.option("What to call the model here.", "NAME")] = "",
    sha256: Annotated[str, opt.option("Checksum of the model to get.", "DIGITS")] = "",
    weights: Annotated[
        opt.Text, opt.option("Of a foreign model: int8, fp16, fp32; int8 of opus-mt, else fp32.", "FORM")
    ] = None,
    convert_pickle: opt.ConvertPickle = False,
    private: Annotated[bool, Option("--private", help="A new repository is private.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the models that can be used by name, get one from elsewhere, push one to the Hugging Face hub, sum up a run.

    MODEL to get is opus-mt:en-de, or any other pair of the Helsinki-NLP translators, or hf:owner/name or
    hf:owner/name@revision, or https:// and an archive (.tar.gz, .tar.xz, .zip) or a folder with a list SHA256SUMS. An
    interrupted transfer is continued; a model is there whole, with the right checksums, or not at all.
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
        case ["show", run]:
            with needs_extra("torch", "summing up a run"):
                from regard.train.summary import as_text, summary
            found = summary(Path(run))
            typer.echo(json.dumps(found) if as_json else as_text(found))
        case other:
            raise UsageError(
                "regard models takes nothing,  get MODEL,  push MODEL hf:owner/name, or  show RUN: got "
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
        size = f"{info.num_parameters / 1e6:>6.1f} M parameters {info.num_bytes / 1e6:>7.1f} MB"
        typer.echo(f"{info.name:<16} {does:<12} {size} {info.manifest.weights}  {where}")
    others = "others" if found else "no models yet: model folders"
    typer.echo(f"{others} are looked for in {user_folder()}", err=True)


def _get(wanted: str, name: str, sha256: str, weights: str | None, *, convert_pickle: bool, as_json: bool) -> None:
    from regard.cli.lines import Bars
    from regard.exchange.formats import check_format
    from regard.exchange.hub import find_address, get
    from regard.exchange.huggingface import ImportOptions

    address = find_address(wanted, name=name, sha256=sha256)
    weights = weights or ("int8" if any(address.languages) else "fp32")
    form = ImportOptions(check_format("regard", weights), convert_pickle=convert_pickle)
    with Bars(count_bytes=True) as bars:
        folder = get(address, form, progress=bars.start)
    if as_json:
        typer.echo(json.dumps({"name": folder.name, "folder": str(folder)}))
    else:
        typer.echo(f"{folder.name} is there: {folder}", err=True)


def export(
    model: Annotated[str, Argument(help="A model's name or folder.")],
    output: Output,
    to: Annotated[str, opt.option("regard, safetensors, huggingface, ctranslate2, onnx or web.", "FORMAT")] = "regard",
    weights: Annotated[opt.Text, opt.option("int8, fp16 or fp32; regard's own default: int8.", "FORM")] = None,
    mix: Annotated[
        opt.Texts,
        opt.option("Mix in a share of another model's weights, such as runs/first=0.25; repeatable.", "MODEL=SHARE"),
    ] = None,
) -> None:
    """Write a model in another format, with smaller or larger weights, or mixed with others.

    In regard's own format it also gets the graphs that the CPU engine runs. To web: a site for any static host, which
    translates in the browser; export to it again to add a model.
    """
    from regard.api import export as export_model

    export_model(model, output, weights=weights, to=to, mix=[*map(_share, mix or [])])
    _tell_size(output)


def import_model(
    folder: Annotated[
        Path, Argument(metavar="PATH", help="A Hugging Face folder, a GGUF file or a checkpoint of llama2.c.")
    ],
    output: Output,
    weights: Annotated[str, opt.option("int8, fp16 or fp32.", "FORM")] = "fp32",
    source: opt.From = "",
    target: opt.To = "",
    prompt: Annotated[
        str, opt.option('Text before every input, such as "translate English to German: ".', "TEXT")
    ] = "",
    convert_pickle: opt.ConvertPickle = False,
) -> None:
    """Read a model of Marian, BART, Pegasus, T5, GPT-2, BERT, Llama, Mistral or Qwen, and write a model folder.

    It is then used like any other: translate, write, chat, fill, search, look, serve.
    """
    from regard.api import import_model as import_folder

    about: dict[str, Any] = {"source_language": source, "target_language": target}
    about |= {"weights": weights, "prompt": prompt, "convert_pickle": convert_pickle}
    import_folder(folder, output, **about)
    _tell_size(output)


def data(
    words: Annotated[
        list[str] | None, Argument(metavar="[get NAME]", help="Fetch corpora; without any word all corpora are listed.")
    ] = None,
    folder: Annotated[Path, Option("--data", metavar="FOLDER", help="Where files are put, or are already.")] = Path(
        "data"
    ),
    accept: Annotated[bool, Option("--accept", help="Accept files whose checksum is not the known one.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the public corpora that recipes use, or fetch some from their publishers.

    An interrupted transfer is continued; a file is there whole, with the right checksum, or not at all.
    """
    from regard.cli.lines import Bars
    from regard.data.public_corpora import CORPORA, find_corpus, obtain

    match words or []:
        case ["get", _, *_] as asked:
            for corpus in [find_corpus(name) for name in asked[1:]]:
                with Bars(count_bytes=True) as bars:
                    paths = obtain(corpus, folder, accept=accept, say=bars.say, progress=bars.start)
                if as_json:
                    typer.echo(json.dumps({"name": corpus.name, "files": [str(path) for path in paths]}))
            return
        case [_, *_] as asked:
            told = f"regard data takes  get  and names of corpora: got {' '.join(asked)!r}"
            raise UsageError(f"{told}; write  regard data get multi30k")
        case _ if as_json:
            typer.echo(json.dumps([asdict(corpus) for corpus in CORPORA]))
            return
    for corpus in CORPORA:
        size = "" if corpus.megabytes is None else f", {corpus.megabytes:g} MB"
        by_hand = "" if corpus.files else ", to be gathered by hand"
        about = f"{corpus.licence}{size}{by_hand}; for {corpus.used_for}; {corpus.home}"
        typer.echo(f"{corpus.name:<16} {corpus.what}\n{'':<16} {about}")


def _share(text: str) -> tuple[str, float]:
    """
    >>> _share("runs/first=0.25")
    ('runs/first', 0.25)
    """
    model, _, share = text.rpartition("=")
    if model:
        with suppress(ValueError):
            return model, float(share)
    raise UsageError(f"--mix must be a model and a share, runs/first=0.25: got {text!r}; write it so")


def _tell_size(output: Path) -> None:
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    typer.echo(f"{output}: {size / 1e6:.1f} MB", err=True)
