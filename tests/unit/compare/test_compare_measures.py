"""What is measured: work, alignments, significance, positions; and the texts that are made for it."""

import random
from typing import get_args

import numpy as np
import pytest

from regard.compare.measures import best_head, checked_links, num_right, training_flops, word_of
from regard.compare.report import Report
from regard.compare.study import CorpusConfig, parse_study
from regard.compare.texts import SYMBOLS, join, recall_parts
from regard.config import Position, sized
from regard.model.position_criteria import judge
from regard.translate.evaluate import p_values

VOCABULARY = dict(source_vocab_size=50, target_vocab_size=50)


def test_work_of_training_by_hand() -> None:
    """Each product takes two operations forward and four backward, but for what no gradient flows to."""
    n, d, inner, words, state = 4, 16, 24, 50, 12
    shape = dict(d_model=d, d_ff=inner, num_heads=2, num_encoder_layers=1, num_decoder_layers=1)
    # Four maps an attention, two a feed-forward; attention's two products of n words by n; gradients of the biases,
    # which are products with ones.
    weights, attention, biases = (
        3 * 4 * d * d + 2 * 2 * d * inner + words * d,
        3 * 2 * n * d,
        3 * 4 * d + 2 * (d + inner),
    )
    expected = (6 * (weights + attention) + 2 * biases) * n
    assert training_flops(sized("tiny", **shape, **VOCABULARY), n) == expected / (2 * n)
    gru = sized("tiny", architecture="gru", attention="none", d_model=d, d_state=state, **VOCABULARY)
    half = state // 2
    encoder, decoder = 2 * 3 * (d * half + half**2), 3 * ((d + state) * state + state**2)
    readout = (2 * state + d) * 2 * d + words * d
    # The first state of each direction is zero and needs no gradient; the decoder's comes from the encoder.
    expected = 6 * (encoder + decoder + readout) * n + 6 * state**2 - 2 * 2 * 3 * half**2
    assert training_flops(gru, n) == expected / (2 * n)


def test_right_alignments_by_hand_and_the_best_head() -> None:
    """Tokens: de|ux chats noirs and two bl|ack cats; `black` attends most to `noirs` only with both its tokens."""
    columns = word_of("deux chats noirs", [(0, 2), (2, 4), (4, 10), (10, 16)])
    rows = word_of("two black cats", [(0, 3), (3, 6), (6, 9), (9, 14)])
    weights = np.array(
        [
            [0.3, 0.3, 0.4, 0.0],  # two: 0.6 at deux, though its largest token is chats
            [0.0, 0.0, 0.6, 0.4],  # bl
            [0.0, 0.0, 0.1, 0.9],  # ack: with bl 0.7 at chats, 1.3 at noirs
            [0.9, 0.0, 0.1, 0.0],  # cats: attends to deux, which is wrong
        ]
    )
    dictionary = {"deux": {"two"}, "noirs": {"black", "dark"}, "chats": {"cats"}, "l": {"the"}}
    links = checked_links("Deux chats noirs .".split(), "two black cats .".split(), dictionary)
    assert links == [(0, 0), (1, 2), (2, 1)]
    assert num_right(weights, rows, columns, links) == 2
    # Two words that could be meant are no link.
    assert checked_links("deux deux".split(), "two".split(), dictionary) == []
    assert checked_links("noirs".split(), "black dark".split(), dictionary) == []
    # The second head is chosen on the first and third sentence, and scored on the second.
    found = {"links": [2, 4, 1], "right": [[0, 2], [4, 1], [0, 1]], "guessed": [2, 3, 1]}
    assert best_head(found) == (1, 0.25, 0.75)


def test_the_bootstrap_tells_a_difference_from_chance() -> None:
    draw = random.Random(5)
    references = [" ".join(draw.choices("abcdefghij", k=9)) for _ in range(60)]
    half = [text if i % 2 else text[:9] for i, text in enumerate(references)]
    other = [text if i % 2 == 0 else text[:9] for i, text in enumerate(references)]
    systems = {"a": half, "b": [text[:7] for text in half], "c": other, "d": list(half)}
    _, worse, as_good, same = p_values(systems, references, with_chrf=False)[1]["BLEU"].values()
    assert worse < 0.01 < 0.2 < as_good < same == 1


def test_texts_of_recall_and_joined_pairs() -> None:
    parts = recall_parts(CorpusConfig(recall=(2, 30), longest_train=5, max_test=20), random.Random(3))
    for source, symbol in [*parts["train"], *parts["test"]]:
        words = source.split()
        assert words[len(words) // 2] == symbol and sum(word in SYMBOLS for word in words) == 1
    lengths = {part: [len(source.split()) for source, _ in pairs] for part, pairs in parts.items()}
    assert max(lengths["train"]) <= 11 and lengths["test"] == [5] * 10 + [61] * 10
    pairs = [("a b", "1"), ("c", "2")]
    assert set(join(pairs, [1, 2, 2, 9], random.Random(1))) <= {*pairs, ("a b c", "1 2"), ("c a b", "2 1")}


def test_which_position_scheme_meets_which_criterion() -> None:
    found = {kind: judge(sized("tiny"), kind) for kind in get_args(Position)}
    assert {kind: [each.holds for each in verdicts] for kind, verdicts in found.items()} == {
        "sinusoidal": [True, True, True, True],
        "learned": [True, True, True, False],
        "rotary": [True, True, True, True],
        "relative": [False, True, True, True],
        "alibi": [True, True, False, True],
        "scaled": [True, False, True, True],
        "integer": [True, True, False, True],
        "none": [False, True, True, True],
    }


@pytest.mark.parametrize("kinds", [["rotary", "none"], []])
def test_positions_are_judged_where_transformers_vary_them(kinds: list[str]) -> None:
    given = {kind: {"d_model": 32, "num_heads": 2, "position": kind} for kind in kinds}
    given |= {"gru": {"architecture": "gru", "attention": "dot", "position": "none"}}
    report = object.__new__(Report)
    report.study, report.blocks = parse_study({"corpora": {"c": {"lesson": "copy"}}, "models": given}, "here"), []
    report._positions()
    table = report.blocks[1].splitlines()[2:] if report.blocks else []
    assert [row.split(" | ")[0] for row in table] == [f"| {kind}" for kind in kinds]
