"""What validations have found so far: the best of them, and whether anything improves still."""

from __future__ import annotations

from typing import Any, NamedTuple


class Validation(NamedTuple):
    loss: float
    """plain cross-entropy for each target token"""
    bleu: float | None
    """of greedy translations; measured only when it is what the run looks at"""


class History:
    """What early stopping and the choice of the best weights look at."""

    def __init__(self, num_kept: int) -> None:
        self.num_kept = num_kept
        self.best: list[tuple[float, float, int]] = []
        """the best validations, best first: score, what decides between equal scores, and the step"""
        self.without_improvement = 0
        """validations since the best"""

    @property
    def best_steps(self) -> list[int]:
        return [step for *_, step in self.best]

    def add(self, step: int, found: Validation) -> bool:
        """Whether this one is better than all before it."""
        scores = (found.bleu or 0.0, -found.loss)
        improved = not self.best or scores > self.best[0][:2]
        self.best = sorted([*self.best, (*scores, step)], reverse=True)[: self.num_kept]
        self.without_improvement = 0 if improved else self.without_improvement + 1
        return improved

    def state(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {"best": self.best, "without_improvement": self.without_improvement}

    def restore(self, state: dict[str, Any]) -> None:
        self.best = [(score, other, step) for score, other, step in state["best"]]
        self.without_improvement = state["without_improvement"]
