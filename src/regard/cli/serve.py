"""The verb that answers over HTTP: serve. What a flag says, an environment variable may say too."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.serve.settings import Settings

KEYS_VARIABLE = "REGARD_KEYS"

Words = list[str] | None

Served = Annotated[
    Words,
    typer.Option(
        "--model", "-m", metavar="NAME", envvar="REGARD_SERVE", help="Serve only these models."
    ),
]
Host = Annotated[str, typer.Option("--host", envvar="REGARD_HOST", help="Address to listen on.")]
Port = Annotated[
    int, typer.Option("--port", envvar="REGARD_PORT", help="Port; 0 takes a free one.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        envvar="REGARD_KEY_FILE",
        help="Keys, one a line; or REGARD_KEYS.",
    ),
]
AllowHost = Annotated[
    Words,
    typer.Option(
        "--allow-host", metavar="NAME", envvar="REGARD_ALLOW_HOST", help="A name it is reached by."
    ),
]
AllowOrigin = Annotated[
    Words,
    typer.Option(
        "--allow-origin",
        metavar="URL",
        envvar="REGARD_ALLOW_ORIGIN",
        help="A site whose pages may ask.",
    ),
]
TrustProxy = Annotated[
    Words,
    typer.Option(
        "--trust-proxy",
        metavar="ADDRESS",
        envvar="REGARD_TRUST_PROXY",
        help="A proxy in front of it.",
    ),
]
Rate = Annotated[
    int,
    typer.Option("--rate", envvar="REGARD_RATE", help="Requests a minute of one client; 0: any."),
]
Queue = Annotated[
    int, typer.Option("--queue", envvar="REGARD_QUEUE", help="Requests that may wait for a model.")
]
Timeout = Annotated[
    float, typer.Option("--timeout", envvar="REGARD_TIMEOUT", help="Seconds for one request.")
]
Characters = Annotated[
    int, typer.Option("--characters", envvar="REGARD_CHARACTERS", help="Most in one request.")
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine", metavar="NAME", envvar="REGARD_ENGINE", help="auto, onnxruntime or torch."
    ),
]
Device = Annotated[
    str, typer.Option("--device", metavar="NAME", envvar="REGARD_DEVICE", help="auto, cpu or cuda.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", envvar="REGARD_THREADS", help="CPU threads of a model.")
]


def serve(
    models: Served = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    key_file: KeyFile = None,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    trust_proxy: TrustProxy = None,
    rate: Rate = 0,
    queue: Queue = 64,
    timeout: Timeout = 60.0,
    characters: Characters = 20_000,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate, chat and write over HTTP, for LibreTranslate's and OpenAI's clients, and on a web page.

    Only this machine can ask unless --host says otherwise, which needs a key. Ctrl-C ends.
    """
    from regard.serve.settings import Settings

    settings = Settings(
        host=host,
        port=port,
        keys=_keys(key_file),
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        proxies=tuple(trust_proxy or ()),
        rate=rate,
        queue=queue,
        timeout=timeout,
        characters=characters,
    )
    opening = {"engine": engine, "device": device, "threads": threads}
    if not _run(settings, models or (), opening):
        raise typer.Exit(1)


def _keys(key_file: Path | None) -> tuple[str, ...]:
    from regard.serve.settings import read_keys

    keys = tuple(key for key in os.environ.get(KEYS_VARIABLE, "").split(",") if key)
    return keys + (read_keys(key_file) if key_file else ())


def _run(settings: Settings, models: Sequence[str], opening: dict[str, Any]) -> bool:
    """Serve until a signal comes; whether all went well."""
    from regard.serve.app import App
    from regard.serve.logs import Log
    from regard.serve.metrics import Metrics
    from regard.serve.models import load_models
    from regard.serve.running import address_of, bind, run

    metrics, log = Metrics(), Log()
    with bind(settings) as listening:
        served, other_tasks, failed = load_models(
            models, queue=settings.queue, metrics=metrics, **opening
        )
        address = address_of(listening)
        # For a person, and apart from the log, of which every line can be parsed.
        typer.echo(f"{address}/  serves {', '.join(served.all)}  (Ctrl-C ends)")
        sys.stdout.flush()
        left_out = {"other_tasks": other_tasks, "failed": failed}
        told = {name: reasons for name, reasons in left_out.items() if reasons}
        log.write("start", address=address, models=list(served.all), **told)
        return run(App(served, settings, metrics, log), listening, log)
