"""From what a recorded search wrote down, step by step, to whole outputs."""

from __future__ import annotations

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Host
from regard.decode.interface import Hypothesis, Stop
from regard.decode.penalties import hypothesis, length_penalty


def backtrace(
    config: DecodeConfig, choices: Host, gains: Host, endings: Host, end_gains: Host
) -> list[list[Hypothesis]]:
    """The n best outputs of each sentence, best first, from the tables of `regard.engine.slots.Slots`."""
    num_sentences, beam, _ = choices.shape
    sentences, places = np.nonzero(endings[:, :beam] >= 0)
    ending = endings[sentences, places]
    rows, lengths, cut = (ending >> 1) % beam, (ending >> 1) // beam, (ending & 1).astype(bool)
    longest = int(lengths.max(initial=0))
    tokens = np.zeros((len(rows), longest + 1), dtype=np.int64)
    values = np.zeros((len(rows), longest + 1))
    for place in range(longest - 1, -1, -1):
        there = np.flatnonzero(place < lengths)
        at = sentences[there], rows[there], place
        choice = choices[at]
        tokens[there, place], values[there, place] = choice // beam, gains[at]
        rows[there] = choice % beam
    ended = ~cut
    values[np.flatnonzero(ended), lengths[ended]] = end_gains[sentences, places][ended]
    penalties = np.array(
        [length_penalty(length, config.length_penalty) for length in range(longest + 2)]
    )
    scores = values.sum(axis=1) / penalties[lengths + ended]
    best: list[list[Hypothesis]] = [[] for _ in range(num_sentences)]
    for index in np.lexsort((-scores, cut, sentences)).tolist():
        chosen = best[int(sentences[index])]
        if len(chosen) < config.n_best:
            length = int(lengths[index])
            stop: Stop = "length" if cut[index] else "end"
            chosen.append(
                hypothesis(
                    tokens[index, :length].tolist(),
                    values[index, : length + int(ended[index])].tolist(),
                    stop,
                    config.length_penalty,
                )
            )
    return best
