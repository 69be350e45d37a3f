"""Where sentences lie in a batch, and which words see which."""

from __future__ import annotations

import torch

from regard.model.layout import Layout, Visibility

T, F = True, False


def test_packed_on_paper():
    """Sentences of 3, 1 and 2 words in one row of 6; unused slots at the end hold none."""
    layout = Layout.packed(torch.tensor([3, 1, 2, 0, 0]), 6, 3)
    assert layout.is_packed
    assert layout.boundaries.tolist() == [0, 3, 4, 6, 6, 6]
    assert layout.sequence_of().tolist() == [[0, 0, 0, 1, 2, 2]]
    assert layout.positions().tolist() == [[0, 1, 2, 0, 0, 1]]


def test_the_future_and_padding_are_hidden_on_paper():
    words = Layout.padded(torch.tensor([3, 2]), 3)
    assert Visibility(words, words, causal=True).may_attend().tolist() == [
        [[[T, F, F], [T, T, F], [T, T, T]]],
        [[[T, F, F], [T, T, F], [T, T, F]]],
    ]


def test_packed_sentences_do_not_see_one_another_on_paper():
    words = Layout.packed(torch.tensor([2, 1, 0]), 3, 2)
    assert Visibility(words, words).may_attend().tolist() == [[[[T, T, F], [T, T, F], [F, F, T]]]]
    assert Visibility(words, words, causal=True).may_attend().tolist() == [
        [[[T, F, F], [T, T, F], [F, F, T]]]
    ]


def test_a_packed_target_sees_its_own_source_on_paper():
    target = Layout.packed(torch.tensor([1, 2, 0]), 3, 2)
    source = Layout.packed(torch.tensor([3, 1, 0]), 4, 3)
    assert Visibility(target, source).may_attend().tolist() == [
        [[[T, T, T, F], [F, F, F, T], [F, F, F, T]]]
    ]
