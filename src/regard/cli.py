"""The command `regard`: one function a verb, each a thin layer over the same things in Python.

Only typer and the standard library are imported here; a verb imports what it needs when it runs, so that
`regard --help` answers at once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from regard import __version__
from regard.cli_chat import chat
from regard.cli_compare import compare
from regard.cli_corpus import translate_corpus
from regard.cli_data import data
from regard.cli_ending import guarded, run
from regard.cli_exchange import export, import_model
from regard.cli_look import look
from regard.cli_models import models
from regard.cli_search import search
from regard.cli_serve import serve
from regard.cli_train import train
from regard.cli_write import fill, write
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.api import Model

_Parameters = ParamSpec("_Parameters")

app = typer.Typer(
    name="regard",
    no_args_is_help=True,
    # Pretty help and tracebacks would double the time of every start.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelName = Annotated[
    str | None, typer.Option("--model", "-m", metavar="NAME", help="A model's name or folder.")
]
From = Annotated[
    str | None, typer.Option("--from", metavar="CODE", help="Source language, such as fr.")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="CODE", help="Target language, such as en.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Any search setting, such as length_penalty=1."
    ),
]
Beam = Annotated[int | None, typer.Option("--beam", "-b", help="Hypotheses kept alive.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Engine = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="auto, onnxruntime or torch.")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu or cuda.")]
Threads = Annotated[int | None, typer.Option("--threads", help="CPU threads.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to stdout.")
]


def verb(function: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    return app.command()(guarded(function))


def main() -> None:
    run(app)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def regard(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The Transformer of 2017: translate offline, train, and see every number."""


@verb
def translate(
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Texts, or documents by name; nothing or - reads stdin."),
    ] = None,
    model: ModelName = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="CODE", help="Source language, such as fr; auto finds out."),
    ] = None,
    target: To = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option("--input", "-i", metavar="FILE", help="Translate these files line by line."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write here, not to stdout; or into this folder."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an output that is there.")
    ] = False,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", metavar="NAME", help="Of documents that do not declare it."),
    ] = None,
    beam: Beam = None,
    n_best: Annotated[
        int | None, typer.Option("--n-best", help="Write so many lines for each input.")
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", help="What the output begins with.")] = "",
    ban: Annotated[
        list[str] | None, typer.Option("--ban", metavar="WORD", help="Not in the output, spelt so.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option("--require", metavar="WORD", help="In the output, spelt so.")
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option(
            "--glossary", metavar="FILE", help="Words and how to translate them, with tabs."
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Take each text as one sentence, not to be cut.")
    ] = False,
    settings: Settings = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate texts, documents, or stdin line by line.

    As many lines come out as went in, an empty one for an empty one, each as soon as it is known. Documents
    are .txt .md .html .srt .vtt .po .xliff .tmx; all but their text stays as it is.
    """
    from regard import cli_lines
    from regard.text.glossary import Glossary

    if texts and inputs:
        raise UsageError("give texts or --input, not both: got both; leave one out")
    options: dict[str, Any] = _decode_options(settings, beam=beam, n_best=n_best)
    options |= {"prefix": prefix, "banned": ban or (), "required": require or ()}
    options |= {"split": not whole, "glossary": Glossary.load(glossary) if glossary else None}

    def open_for(texts: Sequence[str]) -> Model:
        language = _source_language(source, texts, model, target)
        return _load(model, language, target, engine=engine, device=device, threads=threads)

    given = [] if not texts or texts == ["-"] else texts
    if given:
        from regard import cli_documents

        if documents := cli_documents.named_documents(given):
            cli_documents.translate_documents(
                documents,
                output,
                open_for,
                options,
                encoding=encoding,
                as_json=as_json,
                force=force,
            )
            return
    show, count = cli_lines.as_json if as_json else cli_lines.as_text, options.get("n_best", 1)
    options["alignment"] = as_json
    with cli_lines.Writer(output, force=force) as writer:
        if given:
            for answer in open_for(given).translate(given, details=True, **options):
                writer.write("".join(f"{line}\n" for line in show(answer, count)))
            return
        number = 0
        # The model is opened while the first lines are on their way, unless they are to choose it.
        loaded = None if source == "auto" else open_for(())
        for lines in cli_lines.arriving_lines(inputs or [Path("-")]):
            sources = [line.text for line in lines]
            loaded = loaded or open_for(sources)
            answers = loaded.translate(sources, details=True, number=number, **options)
            number += sum(len(answer.sentences) for answer in answers)
            writer.write(
                "".join(
                    f"{cli_lines.on_one_line(text)}{line.end}"
                    for line, answer in zip(lines, answers, strict=True)
                    for text in show(answer, count)
                )
            )


@verb
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
    output: Output = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Write the log-probability of given translations.

    They are two arguments, two files, or the lines of stdin: source TAB target; an empty one stays empty.
    """
    from regard import cli_lines

    if pair and len(pair) != 2:
        raise UsageError(
            f"score takes a source and its translation: got {len(pair)} texts; quote each of the two"
        )
    loaded = _load(model, source, target, engine=engine, device=device, threads=threads)
    with cli_lines.Writer(output) as writer:
        for pairs in cli_lines.pairs(pair, source_file, target_file):
            for answer in cli_lines.scored(loaded, pairs, as_json):
                writer.write(answer + "\n")


@verb
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
    settings: Settings = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate a test set and print BLEU and chrF."""
    from regard import cli_lines
    from regard.evaluate import evaluate as evaluate_lines
    from regard.evaluate import require_metrics
    from regard.text.corpus import read_pairs

    require_metrics()
    corpus = read_pairs([source], [reference], strict=True, sides=("--source", "--reference"))
    loaded = _load(model, None, None, engine=engine, device=device, threads=threads)
    options = _decode_options(settings, beam=beam)
    hypotheses: list[str] = []
    with cli_lines.Writer(output) if output else contextlib.nullcontext() as writer:
        for sources in cli_lines.with_progress(corpus.sources, "translating"):
            hypotheses += loaded.translate(sources, split=False, number=len(hypotheses), **options)
        result = evaluate_lines(hypotheses, corpus.targets, name=reference.stem)
        if writer is not None:
            writer.write("".join(f"{cli_lines.on_one_line(text)}\n" for text in hypotheses))
    typer.echo(json.dumps(result.to_dict()) if as_json else str(result))


app.command("translate-corpus")(guarded(translate_corpus))
verb(chat)
verb(write)
verb(fill)
verb(search)
verb(look)
verb(serve)
verb(train)
verb(compare)
verb(export)
app.command("import")(guarded(import_model))
verb(data)
verb(models)


def _load(model: str | None, source: str | None, target: str | None, **options: Any) -> Model:
    from regard.api import load

    return load(model, source_language=source, target_language=target, **options)


def _source_language(
    source: str | None, texts: Sequence[str], model: str | None, target: str | None
) -> str | None:
    """What --from says, or what the texts say where it is auto; a model that is named has its language."""
    if source != "auto":
        return source
    from regard.catalogue import source_language_of

    return None if model else source_language_of(texts, target)


def _decode_options(settings: list[str] | None, **flags: Any) -> dict[str, Any]:
    from regard.recipe import parse_settings

    given = {key: value for key, value in flags.items() if value is not None}
    return {**parse_settings(settings or (), ["decode"]).get("decode", {}), **given}
