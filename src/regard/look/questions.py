"""Questions about a run: the probability of a word, the nearest tokens, the embeddings in a plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.errors import UsageError
from regard.look.session import Run
from regard.translate.trace import trace_pair

Answer = dict[str, Any]


def probability(run: Run, step: int, text: str) -> Answer:
    """The probability of each token of a word at a step, given the tokens before it."""
    subject = run.subject
    if not 0 <= step <= len(run.output):
        raise UsageError(f"step must be from 0 to {len(run.output)}: got {step}")
    tokens = subject.target.encode(text.strip())
    if not tokens:
        raise UsageError("a word must have letters: got an empty one; type another")
    probabilities = [float(run.trace["probabilities"][step, tokens[0]])]
    for count in range(1, len(tokens)):
        written = [*run.output[:step], *tokens[:count]]
        trace = trace_pair(subject.network, run.source, written, run.plan.edits_at(0))
        probabilities.append(float(trace["probabilities"][-1, tokens[count]]))
    return {
        "step": step,
        "tokens": tokens,
        "token_strings": subject.target.token_strings(tokens),
        "probabilities": probabilities,
    }


def neighbours(run: Run, token: int, side: str, count: int = 10) -> Answer:
    """The tokens whose rows of the embedding table have the largest cosine with this one's."""
    sides = [side for side in ("source", "target") if f"{side}.tokens" in run.trace]
    if side not in sides:
        raise UsageError(f"side must be {' or '.join(sides)}: got {side!r}")
    table = run.subject.table(side)
    if not 0 <= token < len(table):
        raise UsageError(f"token must be from 0 to {len(table) - 1}: got {token}")
    if count < 1:
        raise UsageError(f"count must be at least 1: got {count}")
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[token] / np.maximum(lengths * lengths[token], 1e-30)
    cosines[token] = -np.inf
    nearest = np.argsort(-cosines, kind="stable")[: min(count, len(table) - 1)].tolist()
    tokenizer = run.subject.tokenizer(side)
    return {
        "token": token,
        "token_string": tokenizer.token_strings([token])[0],
        "neighbours": [
            {"token": each, "token_string": string, "cosine": float(cosines[each])}
            for each, string in zip(nearest, tokenizer.token_strings(nearest), strict=True)
        ],
    }


def pca(run: Run) -> Answer:
    """The embeddings of the sentence in the plane of their first two principal components."""
    sides = [side for side in ("source", "target") if f"{side}.embedding" in run.trace]
    points = np.concatenate([run.trace[f"{side}.embedding"] for side in sides]).astype(np.float64)
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    axes, spread = axes[:2], spread**2
    # The sign of an axis is arbitrary: the one that makes its largest component positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    plane = np.zeros((len(points), 2))
    plane[:, : len(axes)] = centred @ axes.T
    explained = np.zeros(2)
    explained[: len(axes)] = spread[:2] / max(spread.sum(), 1e-30)
    answer: Answer = {"source": [], "target": [], "explained": explained.tolist()}
    start = 0
    for side in sides:
        stop = start + len(run.trace[f"{side}.tokens"])
        answer[side] = plane[start:stop].tolist()
        start = stop
    return answer
