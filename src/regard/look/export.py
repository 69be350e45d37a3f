"""What a page that stands alone carries: everything it would ask its server for about the runs it begins with."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from regard.folder.tensors import SCALE, is_table, quantize
from regard.look.document import Document, describe, document, neighbours, pca
from regard.look.session import PARAMETER, Run, Session
from regard.look.single_file import encoded, fill_page

MAX_WEIGHT_BYTES = 32_000_000
"""matrices are left out of the file when together they are larger; its page then says so"""


def single_file(session: Session, *, weights: bool = True) -> str:
    """The page of a session; without weights it is small, and the arithmetic of linear maps is not in it."""
    runs = session.unchanged
    tensors: dict[str, Any] = {}
    for run in runs:
        suffix = f"?run={run.number}" if run.number else ""
        tensors |= {name + suffix: value for name, value in _values(run, weights).items()}
    data = {
        "document": document(session),
        "tensors": tensors,
        "neighbours": {str(run.number): _neighbours(run) for run in runs},
        "planes": {str(run.number): pca(run) for run in runs},
    }
    return fill_page(session.original.text, data)


def _values(run: Run, weights: bool) -> dict[str, Any]:
    described = describe(run)
    values: dict[str, Any] = {name: encoded(run.trace[name]) for name in described["tensors"]}
    is_int8 = run.subject.manifest.weights == "int8"
    parameters = {name: value.numpy() for name, value in run.subject.network.state_dict().items()}
    tables = {name for name in parameters if is_table(name) or name == "output.weight"}
    matrices = {name for name, each in parameters.items() if each.ndim == 2} - tables
    size = sum(parameters[name].size for name in matrices) * (1 if is_int8 else 4)
    keeps_matrices = weights and size <= MAX_WEIGHT_BYTES
    for name, value in parameters.items():
        if name in tables:
            for row in _rows_in_view(described, name):
                values[f"{PARAMETER}{name}[{row}]"] = encoded(value[row])
        elif value.ndim == 1:
            values[PARAMETER + name] = encoded(value)
        elif name in matrices and keeps_matrices:
            values[PARAMETER + name] = _rows_of_bytes(value) if is_int8 else encoded(value)
    return values


def _rows_in_view(described: Document, name: str) -> list[int]:
    """The rows of a table that the page can ask for: of its words, and of what it could have written."""
    rows: set[int] = set()
    if name == "output.weight":
        for place in described["output"]:
            rows |= {place["token"], *(each["token"] for each in place["top"])}
    elif name.endswith("position_bias.weight"):
        rows = set(range(described["parameters"][name][0]))
    elif side := described[name.split(".")[0]]:
        rows = set(side["tokens"])
        if name.endswith("position.weight"):
            rows = set(range(min(len(side["tokens"]), described["parameters"][name][0])))
    return sorted(rows)


def _neighbours(run: Run) -> dict[str, Any]:
    described = describe(run)
    return {
        f"{side}:{token}": neighbours(run, token, side)["neighbours"]
        for side in ("source", "target")
        if described[side]
        for token in sorted(set(described[side]["tokens"]))
    }


def _rows_of_bytes(matrix: np.ndarray) -> dict[str, str]:
    """A matrix of a model that is stored so, as it is stored: the products with the scales are exact."""
    stored = quantize({"matrix": matrix})
    rows = np.ascontiguousarray(stored["matrix"].T)
    return {
        "int8": base64.b64encode(rows.tobytes()).decode(),
        "scale": encoded(stored["matrix" + SCALE]),
    }
