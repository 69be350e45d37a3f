"""The verb that shows every number: look."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import AsJson, From, ModelName, To, decode_options, search_setting
from regard.errors import MissingExtra

if TYPE_CHECKING:
    from regard.look.view import Look


def look(
    text: Annotated[str, typer.Argument(help="A sentence in the model's language.")],
    model: ModelName = None,
    source: From = None,
    target: To = None,
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="NAME", help="A second model beside it.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="The page as one file.")
    ] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="A picture.")] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="A picture to scale.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Every value, as safetensors.")
    ] = None,
    as_json: AsJson = False,
    settings: Annotated[list[str] | None, search_setting("beam=1")] = None,
    port: Annotated[int, typer.Option("--port", help="Where to serve; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Show every number on the way from words to words.

    A page opens in the browser, served by this machine to itself. With --html, --png, --svg, --save or --json
    nothing is served: what was asked for is written.
    """
    seen = _open(text, model, source, target, compare, decode_options(settings))
    files = {"html": html, "png": png, "svg": svg, "safetensors": save}
    for kind, path in files.items():
        if path is not None:
            seen.save(path, kind)
            typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB", err=True)
    if as_json:
        typer.echo(json.dumps(seen.document(), ensure_ascii=False))
    if not as_json and not any(files.values()):
        _serve(seen, port, browser)


def _open(
    text: str,
    model: str | None,
    source: str | None,
    target: str | None,
    compare: str | None,
    decode: dict[str, Any],
) -> Look:
    from regard.folder.catalogue import find_model

    folder = find_model(model, source, target)
    second = None if compare is None else find_model(compare)
    try:
        from regard.look.view import look_at
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "torch", "looking into a model") from error
    return look_at(folder, text, compare=second, **decode)


def _serve(seen: Look, port: int, browser: bool) -> None:
    with seen.serve(port) as server:
        typer.echo(f"{server.url}  (Ctrl-C ends)", err=True)
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
