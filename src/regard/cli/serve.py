"""The verb serve: models over HTTP. Every flag has an environment variable, --port REGARD_PORT."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.options import Texts


def _option(flag: str, help: str, metavar: str | None = None, *short: str, env: str = "") -> Any:
    variable = env or "REGARD_" + flag.removeprefix("--").replace("-", "_").upper()
    return typer.Option(flag, *short, metavar=metavar, envvar=variable, help=help)


def serve(
    models: Annotated[Texts, _option("--model", "Serve only these models.", "NAME", "-m", env="REGARD_SERVE")] = None,
    host: Annotated[str, _option("--host", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, _option("--port", "Port; 0 takes a free one.")] = 8000,
    key_file: Annotated[Path | None, _option("--key-file", "Keys, one a line; or REGARD_KEYS.", "FILE")] = None,
    allow_host: Annotated[Texts, _option("--allow-host", "A host name of this server.", "NAME")] = None,
    allow_origin: Annotated[Texts, _option("--allow-origin", "A site whose pages may ask.", "URL")] = None,
    trust_proxy: Annotated[Texts, _option("--trust-proxy", "A proxy in front of it.", "ADDRESS")] = None,
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
    from regard.serve.settings import Settings, read_keys

    keys = tuple(key for key in os.environ.get("REGARD_KEYS", "").split(",") if key)
    settings = Settings(
        host=host,
        port=port,
        keys=keys + (read_keys(key_file) if key_file else ()),
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        proxies=tuple(trust_proxy or ()),
        rate=rate,
        queue=queue,
        timeout=timeout,
        characters=characters,
    )
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
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
