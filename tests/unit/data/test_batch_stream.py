import gc
import json
import subprocess
import time
import weakref
from dataclasses import fields
from itertools import islice

import numpy as np
import pytest
from batch_fixtures import TOKENIZER, epoch, same, sequences, stream, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.batches import Batch, Buffer, batches_for_inference, group_by_length, pack, padded_batches
from regard.errors import DataError, TrainingError, UsageError
from regard.text.tokenizer import BOS_ID, EOS_ID, PAD_ID

WAYS = pytest.mark.parametrize(("packing", "sampling"), [(True, 0.2), (False, 0.0)])


@WAYS
def test_an_epoch_holds_each_pair_once_in_batches_that_keep_to_their_budget(packing: bool, sampling: float) -> None:
    corpus = texts(1301)
    for number in range(2):
        batches = stream(corpus, packing=packing, sampling=sampling)
        pairs = []
        for batch in epoch(batches, number):
            for source, target_input, target_output in sequences(batch):
                assert source[-1] == target_output[-1] == EOS_ID and target_input[0] == BOS_ID
                assert target_input[1:] == target_output[:-1]
                pairs.append((TOKENIZER.decode(source), TOKENIZER.decode(target_output)))
        assert sorted(pairs) == sorted(zip(corpus.sources, corpus.targets, strict=True))
        assert pairs != sorted(pairs)
    for batch in epoch(stream(texts(401), packing=packing, sampling=sampling)):
        assert batch.packed is packing
        assert batch.source.size + batch.target_input.size <= 509
        assert batch.target_output.shape == batch.target_input.shape
        real = sum(len(source) + len(target) for source, target, _ in sequences(batch))
        assert batch.num_tokens == real
        assert batch.source.dtype == np.int64 and batch.source_lengths.dtype == np.int32
        assert not packing or batch.source.shape[0] == 1


def test_packed_batches_have_one_shape_and_no_token_outside_a_sequence() -> None:
    batches = stream(texts(1301), sampling=0.2, batch_tokens=4093)
    taken = epoch(batches)
    assert sum(batch.num_tokens for batch in taken[:-1]) / (4093 * len(taken[:-1])) > 0.9
    shapes = {tuple(getattr(batch, field.name).shape for field in fields(Batch)[:5]) for batch in taken}
    assert len(shapes) == 1
    for batch in taken:
        source, target = batch.source_lengths, batch.target_lengths
        assert source.sum() == batch.source.size and target.sum() == batch.target_input.size
        used = int((target > 0).sum())
        assert (target[:used] > 0).all() and (source[:used] > 0).all()
        assert not target[used:].any() and not source[used:].any()
        assert max(source.max(), target.max()) <= batches.max_sequence_length
        num_real = len(sequences(batch))
        tail_source, tail_target = source[:num_real].sum(), target[:num_real].sum()
        for array, tail in ((batch.source, tail_source), (batch.target_output, tail_target)):
            assert (array[0, tail:] == PAD_ID).all() and (array[0, :tail] != PAD_ID).all()
        assert max(source[num_real:used].max(), target[num_real:used].max()) <= 97


def test_sampling_draws_anew_each_epoch() -> None:
    batches = stream(texts(53), sampling=0.3)
    first, second = ({tuple(s) for b in epoch(batches, n) for s, _, _ in sequences(b)} for n in (0, 2))
    assert first != second


@pytest.mark.parametrize(("packing", "sampling", "num_workers"), [(True, 0.2, 2), (False, 0.0, 0)])
def test_restoring_goes_on_with_the_same_batches(packing: bool, sampling: float, num_workers: int) -> None:
    changes = dict(packing=packing, sampling=sampling, batch_tokens=251)
    with stream(texts(1301), **changes, num_workers=num_workers) as batches:
        list(islice(batches, 37))
        for _ in range(2):  # the second time across the edge of an epoch
            state = json.loads(json.dumps(batches.state()))
            expected = list(islice(batches, 211))
            fresh = stream(texts(1301), **changes)
            fresh.restore(state)
            assert all(map(same, islice(fresh, 211), expected))
            assert fresh.state() == batches.state()
            batches.restore(state)
            assert all(map(same, islice(batches, 211), expected))
        assert batches.epoch > 0


def test_other_data_or_settings_are_not_resumed_and_impossible_ones_refused() -> None:
    state = stream(texts(101)).state()
    # The same pieces in another order: every length is as it was.
    swapped = texts(101)
    swapped.targets[5] = " ".join(reversed(swapped.targets[5].split()))
    assert swapped.targets != texts(101).targets
    assert len(TOKENIZER.encode(swapped.targets[5])) == len(TOKENIZER.encode(texts(101).targets[5]))
    for other in (stream(swapped), stream(texts(103)), stream(texts(101), seed=4), stream(texts(101), packing=False)):
        with pytest.raises(TrainingError, match="they have changed"):
            other.restore(state)
    with pytest.raises(DataError, match="at most 1 tokens a side"):
        stream(texts(31), max_length=1)
    for packing in (True, False):
        with pytest.raises(UsageError, match="batch_tokens must have room for the longest pair"):
            stream(texts(31), batch_tokens=29, packing=packing)


def test_pairs_that_are_too_long_are_left_out_and_draws_replaced() -> None:
    corpus = texts(61)
    corpus.sources[7] += " bi" * 97
    corpus.targets[11] += " bi" * 97
    batches = stream(corpus)
    assert batches.num_too_long == 2 and batches.num_pairs == 59
    decoded = {TOKENIZER.decode(s) for batch in epoch(batches) for s, _, _ in sequences(batch)}
    assert decoded == {*corpus.sources} - {corpus.sources[7], corpus.sources[11]}
    corpus = texts(61)
    plain = TOKENIZER.encode_batch(corpus.sources + corpus.targets)
    max_length = max(map(len, plain))
    batches = stream(corpus, sampling=0.5, max_length=max_length)
    assert batches.num_too_long == 0
    found = [item for batch in epoch(batches) for item in sequences(batch)]
    assert max(len(side) for item in found for side in item) <= max_length + 1
    assert sorted(TOKENIZER.decode(source) for source, _, _ in found) == sorted(corpus.sources)


def test_workers_end_with_their_stream() -> None:
    batches = stream(texts(101), num_workers=2)
    next(batches)
    assert batches._workers is not None
    children: list[subprocess.Popen[bytes]] = batches._workers._finalizer.peek()[2][0]
    gone = weakref.ref(batches)
    del batches
    # A window that is being asked for holds the stream until its answer is there.
    for _ in range(3000):
        gc.collect()
        if ended := gone() is None and all(child.poll() is not None for child in children):
            break
        time.sleep(0.01)
    assert ended


def test_a_dead_worker_is_an_error_and_not_a_hang() -> None:
    with stream(texts(1301), num_workers=1, batch_tokens=251) as batches:
        next(batches)
        assert batches._workers is not None
        (child,) = batches._workers._finalizer.peek()[2][0]
        child.kill()
        child.wait()
        with pytest.raises(TrainingError, match="one has ended"):
            list(islice(batches, 997))


LENGTHS = st.lists(st.tuples(st.integers(1, 41), st.integers(1, 41)), min_size=1, max_size=151)


@settings(max_examples=60)
@given(LENGTHS, st.integers(89, 401), st.integers(7, 41))
def test_packing_loses_and_repeats_nothing(pairs: list[tuple[int, int]], batch_tokens: int, max_length: int) -> None:
    lengths = np.minimum(np.array(pairs), max_length)
    source, target = lengths.T
    buffer = Buffer.sized(2 * batch_tokens, 1.0, 1.0, max_length)
    groups = pack(source, target, buffer)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(pairs)))
    for group in groups:
        all_source, all_target = buffer.lengths_with_tail(source[group], target[group])
        assert all_source.sum() == buffer.source and all_target.sum() == buffer.target
        assert len(all_source) == len(all_target) == buffer.slots
        assert ((all_source > 0) == (all_target > 0)).all()
        assert max(all_source.max(), all_target.max()) <= max_length


@settings(max_examples=60)
@given(LENGTHS, st.integers(89, 401))
def test_grouping_by_length_loses_and_repeats_nothing(pairs: list[tuple[int, int]], batch_tokens: int) -> None:
    source, target = np.array(pairs).T
    groups = group_by_length(source, target, batch_tokens)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(pairs)))
    for group in groups:
        assert len(group) * (source[group].max() + target[group].max()) <= batch_tokens


@given(st.lists(st.lists(st.integers(4, 9), max_size=13)), st.integers(1, 53))
def test_inference_groups_hold_each_once_within_the_limit(ids: list[list[int]], max_tokens: int) -> None:
    groups = batches_for_inference(ids, max_tokens)
    assert sorted(index for group in groups for index in group) == list(range(len(ids)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(len(ids[i]) for i in group) <= max_tokens
    lengths = [len(ids[index]) for group in groups for index in group]
    assert lengths == sorted(lengths, reverse=True)


def test_padded_batches_of_given_pieces() -> None:
    sources, targets = [[7], [8, 9, 10], [11, 12]], [[13, 14], [15], [16, 17]]
    found = [s for b in padded_batches(sources, targets, batch_tokens=11) for s in sequences(b)]
    expected = [([*s, EOS_ID], [BOS_ID, *t], [*t, EOS_ID]) for s, t in zip(sources, targets, strict=True)]
    assert sorted(found) == sorted(expected)
