"""The verb look: every number of one translation on a page."""

import json
import webbrowser
from typing import Annotated

import typer
from typer import Option

from regard.cli import options as opt
from regard.errors import needs_extra


def look(
    text: Annotated[str, typer.Argument(help="A text in the model's language.")],
    model: opt.ModelName = None,
    source: opt.From = None,
    target: opt.To = None,
    compare: Annotated[opt.Text, opt.option("A second model beside it.", "NAME")] = None,
    sentence: Annotated[int, Option(min=1, help="Which sentence of the text to show.")] = 1,
    html: Annotated[opt.File, opt.option("The page, one file.", "FILE")] = None,
    png: Annotated[opt.File, opt.option("A picture.", "FILE")] = None,
    svg: Annotated[opt.File, opt.option("A vector picture.", "FILE")] = None,
    save: Annotated[opt.File, opt.option("Every value, as safetensors.", "FILE")] = None,
    as_json: opt.AsJson = False,
    settings: Annotated[opt.Texts, opt.search_setting("beam=1")] = None,
    port: Annotated[int, opt.option("Port of the page; 0 takes a free one.")] = 0,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Show every number on the way from words to words.

    A page opens in the browser, served by this machine to itself. With --html, --png, --svg, --save or --json
    nothing is served: what was asked for is written.
    """
    from regard.folder.catalogue import find_model

    folder = find_model(model, source, target)
    second = None if compare is None else find_model(compare)
    with needs_extra("torch", "looking into a model"):
        from regard.look.view import look_at
    decode = opt.decode_options(settings)
    seen = look_at(folder, text, compare=second, sentence=sentence - 1, **decode)
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
