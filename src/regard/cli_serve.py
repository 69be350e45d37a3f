"""The verb that answers over HTTP: serve."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

Words = list[str] | None

KEYS_VARIABLE = "REGARD_KEYS"


def serve(
    models: Annotated[
        Words,
        typer.Option(
            "--model", "-m", metavar="NAME", envvar="REGARD_SERVE", help="Serve only these models."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", envvar="REGARD_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", envvar="REGARD_PORT", help="Port; 0 takes a free one.")
    ] = 8000,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            envvar="REGARD_KEY_FILE",
            help="Keys, one a line; or REGARD_KEYS.",
        ),
    ] = None,
    allow_host: Annotated[
        Words,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            envvar="REGARD_ALLOW_HOST",
            help="A name it is reached by.",
        ),
    ] = None,
    allow_origin: Annotated[
        Words,
        typer.Option(
            "--allow-origin",
            metavar="URL",
            envvar="REGARD_ALLOW_ORIGIN",
            help="A site whose pages may ask.",
        ),
    ] = None,
    trust_proxy: Annotated[
        Words,
        typer.Option(
            "--trust-proxy",
            metavar="ADDRESS",
            envvar="REGARD_TRUST_PROXY",
            help="A proxy in front of it.",
        ),
    ] = None,
    rate: Annotated[
        int,
        typer.Option(
            "--rate", envvar="REGARD_RATE", help="Requests a minute of one client; 0: any."
        ),
    ] = 0,
    queue: Annotated[
        int,
        typer.Option("--queue", envvar="REGARD_QUEUE", help="Requests that may wait for a model."),
    ] = 64,
    timeout: Annotated[
        float, typer.Option("--timeout", envvar="REGARD_TIMEOUT", help="Seconds for one request.")
    ] = 60.0,
    characters: Annotated[
        int, typer.Option("--characters", envvar="REGARD_CHARACTERS", help="Most in one request.")
    ] = 20_000,
    engine: Annotated[
        str,
        typer.Option(
            "--engine", metavar="NAME", envvar="REGARD_ENGINE", help="auto, onnxruntime or torch."
        ),
    ] = "auto",
    device: Annotated[
        str,
        typer.Option("--device", metavar="NAME", envvar="REGARD_DEVICE", help="auto, cpu or cuda."),
    ] = "auto",
    threads: Annotated[
        int | None,
        typer.Option("--threads", envvar="REGARD_THREADS", help="CPU threads of a model."),
    ] = None,
) -> None:
    """Translate, chat and write over HTTP, for LibreTranslate's and OpenAI's clients, and on a web page.

    Only this machine can ask unless --host says otherwise, which needs a key. Ctrl-C ends.
    """
    from regard.serve.app import App
    from regard.serve.logs import Log
    from regard.serve.metrics import Metrics
    from regard.serve.models import load_models
    from regard.serve.running import address_of, bind, run
    from regard.serve.settings import Settings, read_keys

    keys = tuple(key for key in os.environ.get(KEYS_VARIABLE, "").split(",") if key)
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
    metrics, log = Metrics(), Log()
    with bind(settings) as listening:
        served, left_out = load_models(
            models or (),
            queue=queue,
            metrics=metrics,
            engine=engine,  # type: ignore[arg-type] # open_engine names the others
            device=device,
            threads=threads,
        )
        address = address_of(listening)
        # For a person, and apart from the log, of which every line can be parsed.
        typer.echo(f"{address}/  serves {', '.join(served.all)}  (Ctrl-C ends)")
        sys.stdout.flush()
        log.write("start", address=address, models=list(served.all), not_served=left_out)
        well = run(App(served, settings, metrics, log), listening, log)
    if not well:
        raise typer.Exit(1)
