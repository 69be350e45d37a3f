"""The arithmetic of one number of a training step, written down: a sum of products, and further lines."""

import math
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.folder.tensors import tied_names
from regard.look.data_flow import DataFlow
from regard.look.training_step import GRADIENT, WEIGHT, TrainingStep

Index = tuple[int, ...]


class DerivationSheet:
    """The terms, lines and the result of one number; one object for each."""

    def __init__(self, step: TrainingStep, config: ModelConfig) -> None:
        self.step, self.config = step, config
        self.flow, self.is_pre = DataFlow(config), config.norm_placement == "pre"
        self.terms: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.columns: list[str] = []
        self.result = 0.0
        self.formula, self.sentence = "", "Its arithmetic is not taken apart."

    def _explain(self, sentence: str, formula: str) -> None:
        self.sentence, self.formula = sentence, formula

    def _product(self, label: str, gradient: tuple[str, Index], factor: tuple[str, Index]) -> None:
        """A term: the gradient of one value times another value or a weight."""
        name, index = factor
        source = self.step.weights[name.removeprefix(WEIGHT)] if name.startswith(WEIGHT) else self.step.trace[name]
        operands = [
            {"value": self._gradient(*gradient), "place": {"name": GRADIENT + gradient[0], "index": list(gradient[1])}},
            {"value": float(source[index]), "place": {"name": name, "index": list(index)}},
        ]
        self._term(label, operands)

    def _term(self, label: str, operands: list[dict[str, Any]]) -> None:
        product = math.prod(operand["value"] for operand in operands)
        self.columns = ["from", "gradient", "times", "product"]
        self.terms.append({"label": label, "operands": operands, "result": product})
        self.result += product

    def _same(self, name: str, index: Index) -> None:
        label = f"gradient of {name.rpartition('.')[2]}"
        self.result += self._line(label, self._gradient(name, index), GRADIENT + name, index)

    def _line(self, text: str, value: float, name: str = "", index: Index = ()) -> float:
        place = {"place": {"name": name, "index": list(index)}} if name and not name.startswith(WEIGHT) else {}
        self.lines.append({"text": text, "value": value, **place})
        return value

    def _values(self, name: str) -> np.ndarray:
        array: np.ndarray = self.step.trace[name].astype(np.float64)
        return array

    def _gradients(self, name: str) -> np.ndarray:
        return self.step.gradients[name].astype(np.float64)

    def _gradient(self, name: str, index: Index) -> float:
        return float(self.step.gradients[name][index])

    def _first(self, weight: str) -> str:
        return tied_names(self.config).get(weight, weight)

    def _shared(self, head: int) -> int:
        """The head of keys and values that a head of queries reads."""
        return head // (self.config.num_heads // self.config.num_key_heads)
