"""On a GPU an update is compiled and recorded; it must be the same update."""

import pytest
import torch

from regard.config import TrainConfig, sized
from regard.model.transformer import EncoderDecoder, build
from regard.train.batches import DeviceBatch
from regard.train.loss import Tensors, autocast, batch_loss
from regard.train.optimizer import make_optimizer
from regard.train.update import STEPS_BEFORE_RECORDING, Updater

pytestmark = pytest.mark.gpu

LENGTHS = [9, 4, 1, 13, 5]
ROOM = sum(LENGTHS)


def packed_batch(seed: int) -> DeviceBatch:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, 97, (3, 1, ROOM), generator=generator)
    lengths = torch.tensor([*LENGTHS, 0, 0], dtype=torch.int32)
    return DeviceBatch(Tensors(tokens[0], lengths, tokens[1], tokens[2], lengths), True, 2 * ROOM, ROOM, {})


def make_model() -> EncoderDecoder:
    torch.manual_seed(5)
    model = build(sized("tiny", source_vocab_size=97, target_vocab_size=97)).cuda()
    assert isinstance(model, EncoderDecoder)
    return model


def test_compiled_loss_and_gradient_are_the_eager_ones() -> None:
    tensors = Tensors(*(tensor.cuda() for tensor in packed_batch(1).tensors))
    found = []
    for loss in (batch_loss, torch.compile(batch_loss, dynamic=False)):
        model = make_model()
        with autocast(torch.device("cuda"), "bf16"):
            sums = loss(model, tensors, packed=True, longest=max(LENGTHS), label_smoothing=0.1)
        sums.loss.backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((sums.loss.detach(), gradient))
    (eager, one), (compiled, other) = found
    torch.testing.assert_close(eager, compiled, rtol=1e-2, atol=0.0)
    assert (one - other).norm() < 0.05 * one.norm()


@pytest.mark.parametrize("num_batches", [1, 3])
def test_recorded_updates_are_the_plain_ones(num_batches: int) -> None:
    weights = []
    for packing in (True, False):  # only updates of packed batches are recorded
        model = make_model()
        settings = TrainConfig(compile=False, packing=packing, accumulate=num_batches)
        update = Updater(model, make_optimizer(model, settings), settings, longest=max(LENGTHS))
        assert (update.stream is not None) == packing
        with update.own_stream():
            for step in range(STEPS_BEFORE_RECORDING + 4):
                update([packed_batch(10 * step + i) for i in range(num_batches)], rate=1e-3)
        torch.cuda.synchronize()
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    recorded, plain = weights
    assert (recorded - plain).norm() < 1e-3 * plain.norm()


def test_a_recorded_step_without_a_number_changes_nothing() -> None:
    model = make_model()
    settings = TrainConfig(compile=False, packing=True)
    update = Updater(model, make_optimizer(model, settings), settings, longest=max(LENGTHS))

    def everything() -> list[torch.Tensor]:
        moments = [value for state in update.optimizer.state.values() for value in state.values()]
        return [tensor.detach().clone() for tensor in (*model.parameters(), *moments)]

    with update.own_stream():
        for step in range(STEPS_BEFORE_RECORDING + 2):
            update([packed_batch(step)], rate=1e-3)
        [first, *_] = model.parameters()
        held = first[0, 0].clone()
        first.data[0, 0] = torch.nan
        before = everything()
        update([packed_batch(50)], rate=1e-3)
        for one, other in zip(before, everything(), strict=True):
            assert torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
        assert update.guard.read() == (1, 1, 1)
        first.data[0, 0] = held
        update([packed_batch(50)], rate=1e-3)
        assert not all(torch.equal(a, b) for a, b in zip(before[1:], everything()[1:], strict=True))
        assert update.guard.read() == (1, 0, 1)


def test_recorded_updates_score_blanks_alone_and_are_the_plain_ones() -> None:
    vocabulary = dict(source_vocab_size=97, target_vocab_size=97)
    weights = []
    for packing in (True, False):  # without it every place is scored
        torch.manual_seed(5)
        model = build(sized("tiny", architecture="encoder-only", **vocabulary)).cuda()
        settings = TrainConfig(objective="masked", compile=False, packing=packing, accumulate=1, mask_share=0.25)
        update = Updater(model, make_optimizer(model, settings), settings, longest=max(LENGTHS))
        with update.own_stream():
            for step in range(STEPS_BEFORE_RECORDING + 4):
                tensors = packed_batch(step).tensors
                answers = torch.zeros_like(tensors.target_output)
                some = slice(step, ROOM, 5 + step % 3)
                answers[:, some] = tensors.target_output[:, some]
                tensors = tensors._replace(
                    source=tensors.source[:, :0],
                    source_lengths=torch.zeros_like(tensors.source_lengths),
                    target_output=answers,
                )
                update([DeviceBatch(tensors, True, ROOM, int((answers != 0).sum()), {})], rate=1e-3)
        torch.cuda.synchronize()
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    recorded, plain = weights
    assert (recorded - plain).norm() < 1e-3 * plain.norm()
