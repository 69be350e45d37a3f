"""The result of `model.look("…")`: a text in a model, to serve, save, draw, or show in a notebook."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from regard.config import DecodeConfig, from_dict, to_dict
from regard.decode import StepModel
from regard.errors import UsageError
from regard.files import write_file
from regard.look.document import Document, document
from regard.look.export import single_file
from regard.look.figures import FORMATS, figure_bytes
from regard.look.server import Server
from regard.look.session import Session
from regard.look.single_file import as_frame
from regard.look.subject import Subject
from regard.model.transformer import Model
from regard.text import check_text
from regard.trace import Trace


def look_at(
    folder: Path,
    text: str,
    *,
    compare: Path | None = None,
    network: Model | None = None,
    engine: StepModel | None = None,
    sentence: int = 0,
    **decode: Any,
) -> Look:
    """Run a text through a model folder, or through the network and the engine loaded from it.

    sentence: which sentence of the text to show, from 0. `decode` are fields of DecodeConfig.
    """
    subject = Subject.open(folder, network, engine)
    config = from_dict(DecodeConfig, {**to_dict(subject.manifest.decode), **decode}, "look")
    second = None if compare is None else Subject.open(compare)
    return Look(subject, text, config, second, sentence)


class Look:
    """One sentence through one model, or side by side through two."""

    def __init__(
        self,
        subject: Subject,
        text: str,
        decode: DecodeConfig,
        compare: Subject | None = None,
        sentence: int = 0,
    ) -> None:
        if not check_text(text, "a sentence to look at").strip():
            raise UsageError("a sentence to look at must have words: got none; give some text")
        self.session = Session(subject, text, decode, compare, sentence)

    def __repr__(self) -> str:
        run = self.session.original
        return f"<regard.look {run.text!r}: {run.translation!r}>"

    @property
    def text(self) -> str:
        """The text that `translate` gives."""
        return self.session.original.translation

    @property
    def trace(self) -> Trace:
        """Every value by its name."""
        return self.session.original.trace

    def document(self) -> Document:
        """The description of the run: words, shapes, the search and the output."""
        return document(self.session)

    def whatif(self, changes: Sequence[Mapping[str, Any]]) -> Document:
        """The same after changes, such as {"kind": "no-mask"}; see `regard.look.whatif.KINDS`."""
        return document(self.session, self.session.whatif(changes).number)

    def html(self, *, weights: bool = True) -> str:
        """The page as one file; without weights it is smaller and lacks the terms of linear maps."""
        return single_file(self.session, weights=weights)

    def save(self, path: str | Path, kind: str | None = None) -> None:
        """Write the page, a picture or the trace: html, png, svg or safetensors, or as the name ends."""
        path = Path(path)
        kind = kind or path.suffix.removeprefix(".").lower()
        try:
            if kind == "html":
                write_file(path, self.html().encode())
            elif kind in FORMATS:
                write_file(path, figure_bytes(self.session.original, kind))
            elif kind == "safetensors":
                self.trace.save(path)
            else:
                raise UsageError(
                    f"a look is saved as html, png, svg or safetensors: got {path.name!r}; name the kind"
                )
        except (OSError, SafetensorError) as error:
            raise UsageError(f"{path} must be a file that can be written: {error}") from error

    def serve(self, port: int = 0) -> Server:
        """A server for the page, bound and not yet answering: `serve_forever` begins."""
        return Server(self.session, port)

    def show(self) -> None:
        """Open the page in the browser and answer it until interrupted."""
        with self.serve() as server:
            webbrowser.open(server.url)
            server.serve_forever()

    def _repr_html_(self) -> str:
        # A notebook keeps what it shows, so the large matrices stay out.
        return as_frame(self.html(weights=False))
