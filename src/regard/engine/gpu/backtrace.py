"""From the choices that a recorded search stored, step by step, to whole outputs."""

from __future__ import annotations

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Host
from regard.decode.interface import Hypothesis, Stop, hypothesis, length_penalty


def backtrace(
    config: DecodeConfig, choices: Host, gains: Host, endings: Host, end_gains: Host
) -> list[list[Hypothesis]]:
    """The n best outputs of each sentence, best first, from the tables of `regard.engine.gpu.slots.Slots`."""
    num_sentences, beam, _ = choices.shape
    sentences, places = np.nonzero(endings[:, :beam] >= 0)
    ending = endings[sentences, places]
    lengths, rows, cut = (ending >> 1) // beam, (ending >> 1) % beam, (ending & 1).astype(bool)
    at = _path(choices, sentences, rows, lengths)
    tokens = choices.reshape(-1).take(at) // beam
    steps = np.arange(at.shape[1])
    values = np.where(steps < lengths[:, None], gains.reshape(-1).take(at), 0.0)
    last = np.where(cut, 0.0, end_gains[sentences, places])
    penalties = np.array(
        [length_penalty(length, config.length_penalty) for length in range(at.shape[1] + 2)]
    )
    scores = (values.sum(axis=1) + last) / penalties[lengths + ~cut]
    order = np.lexsort((-scores, cut, sentences))
    ranks = np.arange(len(order)) - np.searchsorted(sentences, sentences[order])
    order = order[ranks < config.n_best]
    best: list[list[Hypothesis]] = [[] for _ in range(num_sentences)]
    whole = (sentences, lengths, cut, tokens, values, last)
    for sentence, length, is_cut, token, value, end in zip(
        *(each[order].tolist() for each in whole), strict=True
    ):
        gained = value[:length] if is_cut else [*value[:length], end]
        stop: Stop = "length" if is_cut else "end"
        best[sentence].append(hypothesis(token[:length], gained, stop, config))
    return best


def _path(choices: Host, sentences: Host, rows: Host, lengths: Host) -> Host:
    """The index of each step of each output in `choices`, flattened; arbitrary after its end."""
    _, beam, max_len = choices.shape
    steps = np.arange(int(lengths.max(initial=0)))
    first = sentences * (beam * max_len)
    if beam == 1:
        return first[:, None] + steps
    at = np.empty((len(steps), len(rows)), dtype=np.int64)
    flat = choices.reshape(-1)
    for step in steps[::-1]:
        at[step] = first + rows * max_len + step
        rows = np.where(step < lengths, flat.take(at[step]) % beam, rows)
    return at.T
