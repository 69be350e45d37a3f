"""What is measured of a model besides its translations: the work of training, and alignments.

Work: floating-point operations of the matrix products of a training step, as torch counts them.

Alignments: what the decoder attends to while it writes the reference. A link joins a source word and a target word
that a dictionary gives as its translation, where no other word of either sentence could be meant. An alignment is right
on a link if the target word attends most to the source word. A model of several heads has its best one chosen on one half
of the sentences and scored on the other. The word at the same share of the sentence is what a model could
guess without reading.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.compare.study import AlignmentConfig
from regard.config import ModelConfig
from regard.model.layout import Layout
from regard.model.transformer import Translating, build
from regard.text.tokenizer import EOS_ID, TokenizerBase
from regard.trace import Trace, cross_attentions
from regard.translate.trace import trace_pair

_COUNTED = 4
"""sentences of the batch whose operations are counted"""

Links = Sequence[tuple[int, int]]


@functools.cache
def training_flops(config: ModelConfig, length: int) -> float:
    """Operations of a training step for each of its tokens, on sentences of so many tokens."""
    model = build(config, 0.0)
    tokens = torch.full((_COUNTED, length), config.pad_id + 1)
    layout = Layout.padded(torch.full((_COUNTED,), length), length)
    # A trace asks for the written-out forms: what fused kernels and oneDNN compute is not counted.
    one_dnn: Any = torch.backends.mkldnn  # its stubs have no setter
    before, one_dnn.enabled = one_dnn.enabled, False
    try:
        with FlopCounterMode(display=False) as counter:
            model(tokens, layout, tokens, layout, trace=Trace()).sum().backward()
    finally:
        one_dnn.enabled = before
    return counter.get_total_flops() / (2 * tokens.numel())


def measure_alignments(
    model: Translating,
    tokenizers: tuple[TokenizerBase, TokenizerBase],
    pairs: Sequence[tuple[str, str]],
    config: AlignmentConfig,
) -> dict[str, Any] | None:
    """The right links of each sentence by head; None for a model without attention."""
    paths = cross_attentions(model.config)
    if not paths:
        return None
    num_heads = 1 if model.config.is_recurrent else model.config.num_heads
    names = [f"layer {i + 1} head {j + 1}" for i in range(len(paths)) for j in range(num_heads)]
    dictionary = {word: set(others) for word, *others in (entry.split() for entry in config.dictionary)}
    found: dict[str, Any] = {"heads": names if len(names) > 1 else ["attention"], "drawn": []}
    found |= {"links": [], "right": [], "guessed": []}
    for source, reference in pairs:
        links = checked_links(source.split(), reference.split(), dictionary)
        if not links or len(source.split()) > config.longest or len(found["links"]) == config.num_scored:
            continue
        read, written = tokenizers[0].encode(source), tokenizers[1].encode(reference)
        trace = trace_pair(model, [*read, EOS_ID], written)
        # The last row writes the end token, the last column reads it: neither is a word.
        layers = np.concatenate([trace[f"{path}.weights"] for path in paths])
        weights = layers[:, : len(written), : len(read)]
        columns = word_of(source, tokenizers[0].spans_in(source))
        rows = word_of(reference, tokenizers[1].spans_in(reference))
        found["links"].append(len(links))
        found["right"].append([num_right(each, rows, columns, links) for each in weights])
        share = (columns[-1] + 1) / (rows[-1] + 1)
        found["guessed"].append(sum(int((j + 0.5) * share) == i for i, j in links))
        if len(found["drawn"]) < config.num_shown:
            names_of = (tokenizers[0].token_strings(read), tokenizers[1].token_strings(written))
            found["drawn"].append({"source": names_of[0], "target": names_of[1], "weights": weights.round(3).tolist()})
    return found


def checked_links(source: Sequence[str], target: Sequence[str], dictionary: Mapping[str, set[str]]) -> Links:
    """The source and target words that the dictionary joins, where either has one possible partner.

    >>> checked_links("Le chat noir et le chien .".split(), "The black cat and the dog .".split(),
    ...               {"le": {"the"}, "chat": {"cat"}, "noir": {"black"}})
    [(1, 2), (2, 1)]
    """
    # In small letters, without signs around a word and what is elided before it (l'homme).
    sources, targets = (
        [word.strip(".,;:!?\"'()«»").rpartition("'")[2].lower() for word in words] for words in (source, target)
    )
    meant = [{j for j, word in enumerate(targets) if word in dictionary.get(each, ())} for each in sources]
    return [
        (i, j) for i, places in enumerate(meant) if len(places) == 1 for j in places if sum(j in o for o in meant) == 1
    ]


def num_right(weights: np.ndarray, rows: Sequence[int], columns: Sequence[int], links: Links) -> int:
    """How many linked target words attend most to the word they are linked to.

    rows, columns: the word of each target and source token; the weight between two words is the sum over their tokens.
    """
    words = np.zeros((rows[-1] + 1, columns[-1] + 1))
    np.add.at(words, np.ix_(rows, columns), weights)
    most = words.argmax(axis=1)
    return sum(int(most[j]) == i for i, j in links)


def word_of(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The number of the word that each token belongs to; words are separated by spaces.

    >>> word_of("deux chats", [(0, 4), (4, 8), (8, 10)])
    [0, 1, 1]
    """
    # A token may begin with the space before its word.
    return [len(text[:end].split()) - 1 for _, end in spans]


def best_head(alignments: Mapping[str, Any]) -> tuple[int, float, float]:
    """The head that is right most often on every other sentence, its share on the remaining ones, and the guess's."""
    links, right, guessed = (np.array(alignments[name]) for name in ("links", "right", "guessed"))
    head = int(right[0::2].sum(axis=0).argmax())
    total = max(1, int(links[1::2].sum()))
    return head, float(right[1::2, head].sum() / total), float(guessed[1::2].sum() / total)
