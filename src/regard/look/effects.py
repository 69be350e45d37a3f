"""What the page asks beyond the trace: how much each head matters, what lies near a token or a sentence, weights in few numbers.

effect of a head = log-probability of the output with the head off - without that change

An encoder-only model writes nothing: there it is the cosine of the sentence's two vectors, less 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.engine.torch import TorchEngine
from regard.errors import UsageError
from regard.look.run import Run
from regard.look.subject import Subject
from regard.look.training_step import WEIGHT
from regard.look.whatif import check_attention
from regard.search.encoder import normalised
from regard.translate.trace import trace_copies, trace_pair

MAX_PASSAGES = 100
NUM_NEIGHBOURS = 8
MAX_CELLS = 64  # rows and columns of a heat map of weights


def head_effects(run: Run, attention: str) -> dict[str, Any]:
    """For each head of an attention, its effect on each token of the output: the pass of a copy has one head off."""
    config, network = run.subject.config, run.subject.network
    check_attention(config, attention)
    num_heads = 1 if config.is_recurrent else config.num_heads

    def each_without_one(context: Tensor) -> Tensor:
        on = 1 - torch.eye(num_heads, dtype=context.dtype)
        return context * on.reshape(num_heads, num_heads, *[1] * (context.dim() - 2))

    plan = replace(run.plan, edits=(*run.plan.edits, lambda first: {f"{attention}.context": each_without_one}))
    trace = trace_copies(network, run.source, run.output, plan.edits_at(0), num_heads)
    if not config.has_decoder:
        own = sentence_vector(run.subject, run.trace["memory"])
        vectors = [sentence_vector(run.subject, memory) for memory in trace["memory"].numpy()]
        return {"effects": [[float(each @ own) - 1] for each in vectors]}
    places = range(run.num_given, len(run.at_places))
    tokens = run.at_places[run.num_given :]
    changed, before = trace["probabilities"].numpy()[:, places, tokens], run.trace["probabilities"][places, tokens]
    tiny = np.finfo(np.float32).tiny
    return {"effects": (np.log(np.maximum(changed, tiny)) - np.log(np.maximum(before, tiny))).tolist()}


def sentence_vector(subject: Subject, memory: np.ndarray) -> np.ndarray:
    """The vector that a search compares: the mean of the tokens' vectors, or the first, scaled to length 1."""
    return normalised(memory[0] if subject.manifest.pooling == "cls" else memory.mean(axis=0))


def probability(run: Run, step: int, text: str) -> dict[str, Any]:
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
    strings = subject.target.token_strings(tokens)
    return {"step": step, "tokens": tokens, "token_strings": strings, "probabilities": probabilities}


def nearest(run: Run, passages: Sequence[str]) -> dict[str, Any]:
    """The cosine of each passage's vector with the sentence's, the nearest first."""
    subject, longest = run.subject, run.subject.manifest.longest
    given = [text.strip() for text in passages if text.strip()]
    ids = [[*tokens, subject.config.eos_id] for tokens in subject.source.encode_inputs(given)]
    if not 0 < len(ids) <= MAX_PASSAGES or max(map(len, ids)) > longest:
        raise UsageError(f"passages must be 1 to {MAX_PASSAGES}, each of at most {longest} tokens: give shorter ones")
    own = sentence_vector(subject, run.trace["memory"])
    cosines = [float(sentence_vector(subject, each) @ own) for each in TorchEngine(subject.network).vectors(ids)]
    best = sorted(zip(given, cosines, strict=True), key=lambda found: -found[1])
    return {"passages": [{"text": text, "cosine": cosine} for text, cosine in best]}


def weights(run: Run, name: str, rows: str = "", columns: str = "") -> dict[str, Any]:
    """A window of a weight, such as rows "0-64": its values, or where it is larger the root mean square of each block."""
    found = run.tensor(WEIGHT + name)
    if found is None:
        raise UsageError(f"a weight must be one of the model's: got {name!r}")
    value = np.atleast_2d(found)
    ends = [_window(text, size) for text, size in zip((rows, columns), value.shape, strict=True)]
    high, wide = (-(-(end - first) // MAX_CELLS) for first, end in ends)
    part = value[slice(*ends[0]), slice(*ends[1])]
    cells = part
    if high * wide > 1:
        tops, lefts = (range(0, size, step) for size, step in zip(part.shape, (high, wide), strict=True))
        sums = [np.add.reduceat(np.square(part[top : top + high]).sum(axis=0), lefts) for top in tops]
        sizes = np.outer(np.diff([*tops, part.shape[0]]), np.diff([*lefts, part.shape[1]]))
        cells = np.sqrt(np.stack(sums) / sizes)
    told = {"rows": ends[0], "columns": ends[1], "step": [high, wide], "cells": cells.tolist()}
    return {**told, "smallest": float(part.min()), "largest": float(part.max())}


def _window(text: str, size: int) -> list[int]:
    """The first, and one past the last."""
    parts = text.split("-") if text else ["0", str(size)]
    ends = [int(each) for each in parts if each.isdecimal()]
    if len(parts) != 2 or len(ends) != 2 or not ends[0] < ends[1] <= size:
        raise UsageError(f"a window must be of 0-{size}: got {text!r}; ask for a smaller one")
    return ends


def neighbours(run: Run, token: int, side: str) -> dict[str, Any]:
    """The tokens whose rows of the embedding table have the largest cosine with this one's."""
    sides = run.sides
    if side not in sides:
        raise UsageError(f"side must be {' or '.join(sides)}: got {side!r}")
    table = run.subject.table(side)
    if not 0 <= token < len(table):
        raise UsageError(f"token must be from 0 to {len(table) - 1}: got {token}")
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[token] / np.maximum(lengths * lengths[token], 1e-30)
    cosines[token] = -np.inf
    near = np.argsort(-cosines, kind="stable")[: min(NUM_NEIGHBOURS, len(table) - 1)].tolist()
    named = zip(near, run.subject.tokenizer(side).token_strings(near), cosines[near].tolist(), strict=True)
    return {"neighbours": [dict(zip(("token", "token_string", "cosine"), each, strict=True)) for each in named]}


def pca(run: Run) -> dict[str, Any]:
    """The embeddings of the sentence in the plane of their first two principal components."""
    points = np.concatenate([run.trace[f"{side}.embedding"] for side in run.sides]).astype(np.float64)
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    plane, explained = (centred @ axes[:2].T).tolist(), spread**2 / max((spread**2).sum(), 1e-30)
    num_source = len(run.source)
    return {"source": plane[:num_source], "target": plane[num_source:], "explained": explained[:2].tolist()}
