"""The losses of running text are those of transformers' models with the same weights: gpt2 and bert."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_fixtures import MAKERS

from regard.data.batches import Batch, Buffer, batches_of
from regard.engine.torch import load_model
from regard.exchange.huggingface import ImportOptions, import_folder
from regard.text.ragged import Ragged
from regard.text.tokenizer import PAD_ID
from regard.train.batches import to_tensors
from regard.train.loss import batch_loss

LENGTHS = [7, 3, 11, 2, 5]


def batch_of(kind: str, packed: bool, vocab_size: int) -> tuple[Batch, list[tuple[list[int], list[int]]]]:
    """Random sequences as a batch, and each as what is read and what is asked for there."""
    rng = np.random.default_rng(5)
    # Never 0, which stands for padding.
    texts = [rng.integers(5, vocab_size, length + 1).tolist() for length in LENGTHS]
    buffer = Buffer(0, 37, len(texts) + 5, 11) if packed else None
    (batch,) = batches_of(Ragged.of([()] * len(texts)), Ragged.of(texts), batch_tokens=1000, buffer=buffer, seed=[1])
    if kind == "gpt2":
        return batch, [(text[:-1], text[1:]) for text in texts]
    asked = rng.random(batch.target_output.shape) < 0.4
    answers = np.where(asked, batch.target_output, PAD_ID)
    given = np.where(answers != PAD_ID, 4, batch.target_output)
    batch = Batch(**{**vars(batch), "target_input": given, "target_output": answers})
    ends = np.cumsum(batch.target_lengths) if packed else batch.target_lengths
    rows = []
    for number, (length, end) in enumerate(zip(batch.target_lengths, ends, strict=True)):
        place = (0 if packed else number, slice(end - length, end))
        rows.append((given[place].tolist(), answers[place].tolist()))
    return batch, [row for row in rows if row[0] and row[0][0] != PAD_ID]


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_the_loss_and_its_gradient_are_theirs(kind: str, packed: bool, tmp_path: Path) -> None:
    folder, theirs = MAKERS[kind](tmp_path / "theirs")
    import_folder(folder, tmp_path / "ours", ImportOptions(), None)
    model, manifest = load_model(tmp_path / "ours")
    vocab_size = min(manifest.model.source_vocab_size, manifest.model.target_vocab_size)
    batch, rows = batch_of(kind, packed, vocab_size)
    model.config = dataclasses.replace(model.config, pad_id=PAD_ID)
    sums = batch_loss(model.train(), to_tensors(batch), packed=packed, longest=11, label_smoothing=0.0)
    sums.loss.backward()
    total = torch.zeros(())
    for read, asked in rows:
        labels = torch.tensor([[-100 if id == PAD_ID else id for id in asked]])
        logits = theirs(input_ids=torch.tensor([read])).logits
        total = total + torch.nn.functional.cross_entropy(logits[0], labels[0], reduction="sum", ignore_index=-100)
    total.backward()
    assert sums.negative_log_likelihood.item() == pytest.approx(total.item(), rel=1e-5)
    weights = {"gpt2": "transformer.wte.weight", "bert": "bert.embeddings.word_embeddings.weight"}
    expected = dict(theirs.named_parameters())[weights[kind]].grad
    side = model.target if kind == "gpt2" else model.source
    assert expected is not None and side.embedding.weight.grad is not None
    torch.testing.assert_close(side.embedding.weight.grad, expected, atol=1e-4, rtol=1e-3)
