"""The laws of the fast kernels, on the device that trains: every form of a step gives the same loss and gradients.

The reference is the plain formula in fp32 on padded rows: logits, log-softmax, sums. The forms are those
`regard train` may take on this device, each through the `Updater` that it uses.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from record import Row
from torch import Tensor
from train_work import MAX_LENGTH, fed, mixed

from regard.config import ModelConfig, TrainConfig
from regard.model.layout import Layout
from regard.model.transformer import EncoderDecoder, build
from regard.train.batches import DeviceBatch
from regard.train.loss import Tensors, smoothed_cross_entropy
from regard.train.optimizer import make_optimizer
from regard.train.update import STEPS_BEFORE_RECORDING, Updater

TOLERANCES = {"fp32": (1e-5, 1e-4), "bf16": (2e-3, 3e-2)}
"""relative, of the loss and of the gradients, by the precision of the matrix products"""
SMOOTHING = 0.1
NUM_TOKENS = {"cuda": 16384, "cpu": 2048}
"""of the one batch, whose logits are written out"""


def measure_laws(shape: ModelConfig, device: torch.device, *, quick: bool) -> list[Row]:
    """One row a form: how far its loss and gradients are from the reference."""
    torch.manual_seed(1)
    model = build(replace(shape, num_encoder_layers=2, num_decoder_layers=2)).to(device).train()
    assert isinstance(model, EncoderDecoder)
    num_tokens = 1024 if quick else NUM_TOKENS[device.type]
    sentences = mixed(num_tokens, shape.target_vocab_size)
    one_padded = fed(sentences.padded_whole(), device)
    one_packed = fed(sentences.packed_whole(), device)
    reference = _plain(model, one_padded, device)
    on_gpu = device.type == "cuda"
    settings = TrainConfig(precision="auto", learning_rate=1e-9, dropout=0.0, label_smoothing=SMOOTHING)
    forms: list[tuple[str, DeviceBatch, TrainConfig, int]] = [
        ("padded", one_padded, replace(settings, packing=False, compile=False), 0),
        ("packed", one_packed, replace(settings, packing=True, compile=False), 0),
        ("packed, compiled", one_packed, replace(settings, packing=True, compile=True), 0),
    ]
    if on_gpu:
        recorded = ("packed, compiled, recorded", one_packed, forms[-1][2])
        forms.append((*recorded, STEPS_BEFORE_RECORDING + 1))
    rows = []
    for name, batch, form, updates_before in forms:
        found = _by_updater(copy.deepcopy(model), batch, form, updates_before)
        loss, gradients = _apart(found, reference)
        limits = TOLERANCES["bf16" if on_gpu else "fp32"]
        holds = loss <= limits[0] and gradients <= limits[1]
        row = {
            "part": "laws",
            "law": f"{name} = plain fp32",
            "loss_apart": loss,
            "gradients_apart": gradients,
            "tolerances": limits,
            "holds": holds,
        }
        print(
            f"law {row['law']:<42} loss {loss:.1e} gradients {gradients:.1e} {'holds' if holds else 'BROKEN'}",
            flush=True,
        )
        rows.append(row)
    return rows


Found = tuple[Tensor, list[Tensor]]


def _plain(model: EncoderDecoder, batch: DeviceBatch, device: torch.device) -> Found:
    tensors = Tensors(*(tensor.to(device) for tensor in batch.tensors))
    logits = model(
        tensors.source,
        Layout.padded(tensors.source_lengths, tensors.source.shape[1]),
        tensors.target_input,
        Layout.padded(tensors.target_lengths, tensors.target_input.shape[1]),
    )
    correct = tensors.target_output.flatten()
    sums = smoothed_cross_entropy(logits.flatten(0, 1), correct, model.config.pad_id, SMOOTHING)
    (sums.loss / batch.num_targets).backward()
    return sums.loss.detach() / batch.num_targets, _take_gradients(model)


def _by_updater(model: EncoderDecoder, batch: DeviceBatch, settings: TrainConfig, updates_before: int) -> Found:
    updater = Updater(model, make_optimizer(model, settings), settings, longest=MAX_LENGTH + 1)
    with updater.own_stream():
        for _ in range(updates_before):
            updater([batch], 0.0)  # a rate of zero leaves the weights as they are
        loss = updater.gather([batch]).loss / batch.num_targets
    if model.source.embedding.weight.is_cuda:
        torch.cuda.synchronize()
    return loss, _take_gradients(model)


def _take_gradients(model: EncoderDecoder) -> list[Tensor]:
    gradients = []
    for parameter in model.parameters():
        assert parameter.grad is not None
        gradients.append(parameter.grad.double())
        parameter.grad = None
    return gradients


def _apart(found: Found, reference: Found) -> tuple[float, float]:
    loss = float((found[0] - reference[0]).abs() / reference[0].abs())
    apart = sum(float((a - b).square().sum()) for a, b in zip(found[1], reference[1], strict=True))
    whole = sum(float(b.square().sum()) for b in reference[1])
    return loss, (apart / whole) ** 0.5
