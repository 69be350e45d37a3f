"""A corpus to train on within seconds, and runs over it."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regard.config import DataConfig, TrainConfig, sized
from regard.data.batches import Buffer
from regard.data.batches import make_batch as batch_of
from regard.model.transformer import EncoderDecoder, build
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from regard.train import finish
from regard.train.batches import DeviceBatch, to_tensors
from regard.train.optimizer import make_optimizer
from regard.train.recipe import Request
from regard.train.run import train
from regard.train.update import Updater

SHAPE = dict(num_encoder_layers=1, num_decoder_layers=1, d_model=24, d_ff=40, num_heads=2)
VOCABULARY = 41
SENTENCES = [3, 11, 5, 7, 2, 13, 6]
QUICK = TrainConfig(steps=12, batch_tokens=700, validate_every=6, learning_rate=3e-3, metric="loss", snapshots=0)


def counting_corpus(folder: Path) -> DataConfig:
    """Counting in two languages: enough text for pieces, quick to read."""
    rng = random.Random(7)
    french = "un deux trois quatre cinq six sept huit neuf dix".split()
    english = "one two three four five six seven eight nine ten".split()
    rows = [[rng.randrange(10) for _ in range(rng.randint(2, 7))] for _ in range(600)]
    (folder / "train.fr").write_text("".join(" ".join(french[i] for i in r) + "\n" for r in rows))
    (folder / "train.en").write_text("".join(" ".join(english[i] for i in r) + "\n" for r in rows))
    return DataConfig(source=(str(folder / "train.fr"),), target=(str(folder / "train.en"),), wrong_language=True)


def run(data: DataConfig, output: Path, settings: TrainConfig = QUICK, *, curves: bool = False, **more: Any) -> Any:
    """A run, whose curves, which take longer than twelve steps, are drawn for who looks at them."""
    asked = {key: more.pop(key) for key in ("size", "model", "init") if key in more}
    if "init" not in asked:
        asked = {"size": "tiny", "model": SHAPE, **asked}
    with pytest.MonkeyPatch.context() as patch:
        if not curves:
            patch.setattr(finish, "write_curves", lambda folder: None)
        return train(Request(data, settings, **asked), output, show_progress=False, **more)


def checkpoint_of(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints" / f"step-{step:08d}" / "training.safetensors")


def metrics(folder: Path, kind: str = "") -> list[dict[str, Any]]:
    """What a run measured as it went, all or of one kind; its warnings only where they are asked for."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in found if line["kind"] == kind or (not kind and line["kind"] != "warning")]


def position(folder: Path, step: int) -> Any:
    """In the text, at a checkpoint."""
    state = folder / f"checkpoints/step-{step:08d}/state.json"
    return json.loads(state.read_text())["position"]


def make_batch(packed: bool, lengths: list[int] = SENTENCES, seed: int = 3) -> DeviceBatch:
    generator = torch.Generator().manual_seed(seed)
    texts = [torch.randint(4, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]
    source = Ragged.of([[*text, EOS_ID] for text in texts])
    target = Ragged.of([[BOS_ID, *reversed(text), text[0], EOS_ID] for text in texts])
    rows = torch.arange(len(texts)).numpy()
    buffer = Buffer(source=83, target=89, slots=17, max_length=31) if packed else None
    batch = batch_of(source, target, rows, buffer)
    num_targets = int((batch.target_output != PAD_ID).sum())
    return DeviceBatch(to_tensors(batch), batch.packed, batch.num_tokens, num_targets, {})


def make_updater(packed: bool, **changes: Any) -> Updater:
    torch.manual_seed(5)
    model = build(sized("tiny", source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY))
    assert isinstance(model, EncoderDecoder)
    # With a larger epsilon Adam does not make rounding of the smallest gradients as large as any other.
    settings = TrainConfig(compile=False, packing=packed, epsilon=1e-4, **changes)
    return Updater(model, make_optimizer(model, settings), settings, longest=31)
