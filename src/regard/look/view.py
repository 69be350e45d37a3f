"""The result of `model.look("…")`: a text in a model, to serve, save, draw, or show in a notebook."""

from __future__ import annotations

import base64
import webbrowser
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from regard.config import DecodeConfig, from_dict, to_dict
from regard.decode import StepModel
from regard.errors import UsageError
from regard.files import write_file
from regard.folder.tensors import SCALE, is_table, quantize
from regard.look import page_engine
from regard.look.document import Document, describe, document, source_file
from regard.look.effects import neighbours, pca
from regard.look.figures import FORMATS, figure_bytes
from regard.look.run import Run
from regard.look.server import Server
from regard.look.session import Session
from regard.look.single_file import as_frame, encoded, fill_page
from regard.look.subject import Subject
from regard.look.training_run import TrainingRun
from regard.look.training_step import WEIGHT
from regard.model.transformer import Model
from regard.text.language import main_language
from regard.trace import Trace
from regard.train.snapshots import list_snapshots
from regard.translate.search import DEFAULT_OPTIONS, TranslateOptions

MAX_WEIGHT_BYTES = (
    32_000_000  # largest matrices, together, of a page without its model; it says where they are left out
)
MAX_CARRIED_VALUES = 5_500_000  # characters of the values of a run in a page that carries its model


def look_at(
    folder: Path,
    text: str,
    *,
    compare: Path | None = None,
    network: Model | None = None,
    engine: StepModel | None = None,
    target_language: str = "",
    sentence: int = 0,
    options: TranslateOptions = DEFAULT_OPTIONS,
    **decode: Any,
) -> Look:
    """Run a text through a model folder, or through the network and the engine loaded from it.

    Of a run that is not finished the newest snapshot is the model.

    sentence: which sentence of the text to show, from 0. options: those of the translation; `decode` are fields of
    DecodeConfig.
    """
    training = TrainingRun.at(folder)
    if training and network is None and not training.is_finished:
        subject = training.subject(list_snapshots(folder)[-1])
    else:
        subject = Subject.open(folder, network, engine, target_language)
    config = from_dict(DecodeConfig, {**to_dict(subject.manifest.decode), **decode}, "look")
    second = None if compare is None else Subject.open(compare)
    if second:
        reads, other = subject.manifest.source_language, second.manifest.source_language
        if reads and other and main_language(reads) != main_language(other):
            raise UsageError(f"the second model must read {reads} too: got one that reads {other}; name another")
    return Look(Session(subject, text, config, second, sentence, options, training))


class Look:
    """One sentence through one model, or side by side through two."""

    def __init__(self, session: Session) -> None:
        self.session = session

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
                raise UsageError(f"a look is saved as html, png, svg or safetensors: got {path.name!r}; name the kind")
        except (OSError, SafetensorError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"{path} must be a file that can be written: {reason}") from error

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


def single_file(session: Session, *, weights: bool = True) -> str:
    """The page of a session: with its models, where the page can run them, or else with all it can ask about its runs."""
    hindrances = [page_engine.hindrance(run.subject) for run in session.unchanged]
    hindrance = next(filter(None, hindrances), "" if weights else "Its weights were left out.")
    contents = page_engine.contents(session) if weights and not hindrance else None
    data: dict[str, Any] = {"document": document(session), "tensors": {}, "neighbours": {}, "planes": {}}
    data["hindrance"] = hindrance
    if contents and (steps := page_engine.carried_steps(session)) and (training := session.training):
        data["training"] = training.describe() | {"steps": steps, "probes": {i: training.probes(i) for i in steps}}
    data["sources"] = {}
    for run in session.unchanged:
        described, number = describe(run), str(run.number)
        data["sources"] |= {each["file"]: source_file(each["file"]) for each in described["code"].values()}
        values: dict[str, Any] = {name: encoded(run.trace[name]) for name in described["tensors"]}
        values = _that_fit(values) if contents else values | _weights(run, described, weights)
        suffix = f"?run={number}" if run.number else ""
        data["tensors"] |= {name + suffix: value for name, value in values.items()}
        data["neighbours"][number] = {
            f"{side}:{token}": neighbours(run, token, side)["neighbours"]
            for side in ("source", "target")
            if described[side]
            for token in sorted(set(described[side]["tokens"]))
        }
        data["planes"][number] = pca(run)
    return fill_page(session.original.text, data, contents)


def _that_fit(values: dict[str, str]) -> dict[str, str]:
    """The smaller values: the page's engine computes the others when they are asked for."""
    names = sorted(values, key=lambda name: len(values[name]))
    sizes = accumulate(len(values[name]) for name in names)
    return {name: values[name] for name, size in zip(names, sizes, strict=True) if size <= MAX_CARRIED_VALUES}


def _weights(run: Run, described: Document, with_matrices: bool) -> dict[str, Any]:
    """Vectors, the rows of tables in view, and matrices where they are small enough."""
    is_int8 = run.subject.manifest.weights == "int8"
    parameters = {name: value.numpy() for name, value in run.subject.network.state_dict().items()}
    tables = {name for name in parameters if is_table(name) or name == "output.weight"}
    matrices = {name for name, each in parameters.items() if each.ndim == 2} - tables
    size = sum(parameters[name].size for name in matrices) * (1 if is_int8 else 4)
    values: dict[str, Any] = {name: encoded(each) for name, each in parameters.items() if each.ndim == 1}
    for name in tables:
        values |= {f"{name}[{row}]": encoded(parameters[name][row]) for row in _rows_in_view(described, name)}
    if with_matrices and size <= MAX_WEIGHT_BYTES:
        matrix = _rows_of_bytes if is_int8 else encoded
        values |= {name: matrix(parameters[name]) for name in matrices}
    return {WEIGHT + name: value for name, value in values.items()}


def _rows_in_view(described: Document, name: str) -> list[int]:
    """The rows of a table that the page can ask for: of its words, and of what it could have written."""
    num_rows, side = described["parameters"][name][0], described.get(name.split(".")[0])
    if name == "output.weight":
        return sorted({each["token"] for place in described["output"] for each in (place, *place["top"])})
    if name.endswith("position_bias.weight"):
        return list(range(num_rows))
    if not side:
        return []
    if name.endswith("position.weight"):
        return list(range(min(len(side["tokens"]), num_rows)))
    return sorted(set(side["tokens"]))


def _rows_of_bytes(matrix: np.ndarray) -> dict[str, str]:
    """A matrix of a model that is stored so, as it is stored: the products with the scales are exact."""
    stored = quantize({"matrix": matrix})
    rows = np.ascontiguousarray(stored["matrix"].T)
    return {"int8": base64.b64encode(rows.tobytes()).decode(), "scale": encoded(stored["matrix" + SCALE])}
