"""The verbs look, every number of one translation on a page, and serve, models over HTTP."""

import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError, needs_extra


def look(
    words: Annotated[
        list[str],
        Argument(metavar="[RUN] TEXT", help="A text in the model's language; before it, a run or a model's folder."),
    ],
    model: opt.ModelName = None,
    source: opt.From = None,
    target: opt.To = None,
    compare: Annotated[opt.Text, opt.option("A second model beside it.", "NAME")] = None,
    glossary: opt.GlossaryFile = None,
    whole: opt.Whole = False,
    plain: opt.Plain = False,
    sentence: Annotated[int, Option(min=1, help="Which sentence of the text to show.")] = 1,
    html: Annotated[opt.File, opt.option("The page, one file.", "FILE")] = None,
    png: Annotated[opt.File, opt.option("A picture.", "FILE")] = None,
    svg: Annotated[opt.File, opt.option("A vector picture.", "FILE")] = None,
    save: Annotated[opt.File, opt.option("Every value, as safetensors.", "FILE")] = None,
    as_json: opt.AsJson = False,
    settings: Annotated[opt.Texts, opt.search_setting("beam=1")] = None,
    port: Annotated[int, opt.option("Port of the page; 0 takes a free one.")] = 0,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Show every number on the way from words to words.

    A page opens in the browser, served by this machine to itself. With --html, --png, --svg, --save or --json
    nothing is served: what was asked for is written. Of a RUN of  regard train  the page has a slider that
    shows how it learnt; without a TEXT, on a sentence of its validation text.
    """
    from regard.cli.model_choice import ModelChoice

    text, model = _text_and_model(words, model)
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
    options: dict[str, Any] = {"split": not whole, "plain": plain, "glossary": glossary}
    asked: dict[str, Any] = {"compare": compare, "sentence": sentence - 1, **opt.decode_options(settings)}
    if model and _is_run(model) and not _is_run(model, "result.json"):
        seen = _unfinished(Path(model), text, options, **asked)
    else:
        choice = ModelChoice(model, source, target, **opening)  # the same as `translate` makes
        loaded = choice.load_for([text])
        seen = loaded.look(text, **options, **asked)
        choice.check([text], loaded)
    files = {"html": html, "png": png, "svg": svg, "safetensors": save}
    for kind, path in files.items():
        if path is not None:
            seen.save(path, kind)
            typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB", err=True)
    if as_json:
        typer.echo(json.dumps(seen.document(), ensure_ascii=False))
    if as_json or any(files.values()):
        return
    with seen.serve(port) as server:
        typer.echo(f"{server.url}  (Ctrl-C ends)", err=True)
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _text_and_model(words: list[str], model: str | None) -> tuple[str, str | None]:
    if len(words) > 2 or (len(words) == 2 and model):
        raise UsageError(
            f"look takes a text, or a run and a text: got {' '.join(map(repr, words))}; put the text in quotes"
        )
    if len(words) == 2:
        return words[1], words[0]
    if not model and _is_run(words[0]):
        with needs_extra("torch", "looking into a model"):
            from regard.look.training_run import TrainingRun
        training = TrainingRun.at(Path(words[0]))
        return (training.first_text() if training else ""), words[0]
    return words[0], model


def _is_run(name: str, file: str = "run.json") -> bool:
    """Whether a run of training has this file. A text may be too long for the name of a folder: then it is none."""
    return os.path.isfile(os.path.join(name, file))


def _unfinished(run: Path, text: str, options: dict[str, Any], *, compare: str | None, **asked: Any) -> Any:
    """A run that goes on, or has stopped, as its newest snapshot was."""
    with needs_extra("torch", "looking into a model"):
        from regard.look.view import look_at
    from regard.folder.catalogue import find
    from regard.translate.glossary import Glossary
    from regard.translate.search import TranslateOptions

    pipeline = TranslateOptions(**{**options, "glossary": Glossary.of(options["glossary"])})
    return look_at(run, text, compare=find(compare) if compare else None, options=pipeline, **asked)


def _option(flag: str, help: str, metavar: str | None = None, *short: str, env: str = "") -> Any:
    """A flag of serve, with an environment variable: --port is REGARD_PORT."""
    variable = env or "REGARD_" + flag.removeprefix("--").replace("-", "_").upper()
    return typer.Option(flag, *short, metavar=metavar, envvar=variable, help=help)


def serve(
    models: Annotated[
        opt.Texts, _option("--model", "Serve only these models.", "NAME", "-m", env="REGARD_SERVE")
    ] = None,
    host: Annotated[str, _option("--host", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, _option("--port", "Port; 0 takes a free one.")] = 8000,
    key_file: Annotated[opt.File, _option("--key-file", "Keys, one a line; or REGARD_KEYS.", "FILE")] = None,
    allow_host: Annotated[opt.Texts, _option("--allow-host", "A host name of this server.", "NAME")] = None,
    allow_origin: Annotated[opt.Texts, _option("--allow-origin", "A site whose pages may ask.", "URL")] = None,
    trust_proxy: Annotated[opt.Texts, _option("--trust-proxy", "A proxy in front of it.", "ADDRESS")] = None,
    pivot: Annotated[str, _option("--pivot", "Other pairs too, by way of this language.", "CODE")] = "",
    rate: Annotated[int, _option("--rate", "Requests a minute of one client; 0: any.")] = 0,
    queue: Annotated[int, _option("--queue", "Requests that may wait for a model.")] = 64,
    timeout: Annotated[float, _option("--timeout", "Seconds for one request.")] = 60.0,
    characters: Annotated[int, _option("--characters", "Most in one request.")] = 20_000,
    engine: Annotated[str, _option("--engine", "auto, onnxruntime or torch.", "NAME")] = "auto",
    device: Annotated[str, _option("--device", "auto, cpu or cuda.", "NAME")] = "auto",
    threads: Annotated[int | None, _option("--threads", "CPU threads of a model.")] = None,
) -> None:
    """Translate, chat and write over HTTP, for LibreTranslate's and OpenAI's clients, and on a web page.

    Only this machine can ask unless --host says otherwise, which needs a key. Ctrl-C ends.
    """
    from regard.serve.app import App
    from regard.serve.models import load_models
    from regard.serve.monitoring import Log, Metrics
    from regard.serve.server import address_of, bind, run
    from regard.serve.settings import ServerSettings, read_keys

    keys = tuple(key for key in os.environ.get("REGARD_KEYS", "").split(",") if key)
    keys += read_keys(key_file) if key_file else ()
    limits: dict[str, Any] = {"rate": rate, "queue": queue, "timeout": timeout, "characters": characters}
    allowed = {"hosts": allow_host, "origins": allow_origin, "proxies": trust_proxy}
    limits |= {name: tuple(each or ()) for name, each in allowed.items()}
    settings = ServerSettings(host=host, port=port, keys=keys, **limits)
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads, "pivot": pivot}
    metrics, log = Metrics(), Log()
    with bind(settings) as listening:
        served, left_out = load_models(models or (), queue=queue, metrics=metrics, **opening)
        address = address_of(listening)
        # On stdout, apart from the log on stderr, every line of which is JSON.
        typer.echo(f"{address}/  serves {', '.join(served.all)}  (Ctrl-C ends)")
        sys.stdout.flush()
        log.event("start", address=address, models=list(served.all), left_out=left_out)
        if not run(App(served, settings, metrics, log), listening, log):
            raise typer.Exit(1)
