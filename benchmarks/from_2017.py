"""From the paper's decoder to Llama's, one change at a time: loss, speed and memory of the same small training.

    python benchmarks/from_2017.py TEXT [--steps 400] [--seeds 2] [--rows 1-4] [--save]

TEXT holds English, a document a line (.xz too). A decoder of four layers and 128 features learns to predict the next token;
every row keeps the changes of the rows before it. Batches, their order and the learning rate are the same for all; the loss is
that of held-out text, in nats a token. Speed is processor time of one thread. Training memory is weights, gradients and Adam's two
moments, and what the backward pass keeps of a batch. The cache is what one token needs while a text is written, and the step
is one token after a text of 512. With --rows, those rows alone are measured; --save then keeps the file's other rows.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from pathlib import Path
from typing import Any, cast

import torch
from record import ROOT, Row, save
from torch.nn import functional as F

from regard.config import ModelConfig
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, build
from regard.text.tokenizer import Tokenizer

VOCABULARY, LENGTH, BATCH, HELD_OUT = 2000, 128, 8, 64
START: dict[str, Any] = dict(num_decoder_layers=4, d_model=128, d_ff=512, num_heads=8)
CHANGES: dict[str, dict[str, Any]] = {
    "the paper's block": {},
    "norm before each sub-layer": {"norm_placement": "pre"},
    "RMSNorm": {"norm": "rms"},
    "rotary positions": {"position": "rotary"},
    "SwiGLU, of two thirds the width": {"feed_forward": "gated-silu", "d_ff": 344},
    "no biases": {"biases": "none"},
    "2 heads of keys for 8": {"num_key_value_heads": 2},
}


def rows_of(path: Path, size: int) -> torch.Tensor:
    """The text as rows of tokens of one length."""
    opened = lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")
    with opened as file:
        lines = file.read(size).splitlines()
    tokenizer = Tokenizer.train(lines, vocabulary=VOCABULARY)
    ids = [id for line in tokenizer.encode_batch(lines) for id in (*line, 3)]
    count = len(ids) // (LENGTH + 1)
    return torch.tensor(ids[: count * (LENGTH + 1)]).reshape(count, LENGTH + 1)


def loss_of(model: DecoderOnly, rows: torch.Tensor) -> torch.Tensor:
    layout = Layout.padded(torch.full((len(rows),), LENGTH), LENGTH)
    return F.cross_entropy(model(rows[:, :-1], layout).flatten(0, 1), rows[:, 1:].flatten())


def kept_bytes(model: DecoderOnly, rows: torch.Tensor) -> int:
    """What the backward pass keeps of a batch: every storage once, without the weights."""
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, int] = {}

    def keep(value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        loss = loss_of(model, rows)
    assert loss.requires_grad
    return sum(kept.values())


def trained(settings: dict[str, Any], rows: torch.Tensor, steps: int, seed: int) -> Row:
    torch.manual_seed(seed)
    sizes = dict(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, architecture="decoder-only")
    config = ModelConfig(**sizes, **settings)
    model = cast(DecoderOnly, build(config))
    held_out, rows = rows[:HELD_OUT], rows[HELD_OUT:]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.15)
    order = torch.randint(len(rows), (steps, BATCH), generator=torch.Generator().manual_seed(seed))
    weights = sum(each.numel() for each in model.parameters())
    training = 16 * weights + kept_bytes(model, rows[order[0]])
    begin = time.process_time()
    for batch in order:
        loss_of(model, rows[batch]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    spent = time.process_time() - begin
    with torch.inference_mode():
        loss = float(loss_of(model.eval(), held_out))
        text = rows[:4, :-1].reshape(1, -1)
        _, state = model.read_on(text, model.start())
        begin = time.process_time()
        for _ in range(64):
            model.step(text[:, 0], state)
        step = (time.process_time() - begin) / 64
    cache = 2 * config.num_decoder_layers * config.num_key_heads * config.head_dim * 4
    return {
        "loss": loss,
        "tokens/s": round(steps * BATCH * LENGTH / spent),
        "step ms": step * 1e3,
        "training MiB": training / 2**20,
        "cache bytes": cache,
        "weights": weights,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", default=f"1-{len(CHANGES)}", help="first and last row to measure")
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = rows_of(asked.text, 3_000_000)
    first, last = map(int, asked.rows.split("-"))
    path = ROOT / "benchmarks" / "results" / "from_2017.json"
    before = json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []
    settings, found = dict(START), {row["change"]: row for row in before}
    for number, (name, change) in enumerate(CHANGES.items(), 1):
        settings |= change
        if not first <= number <= last:
            continue
        runs = [trained(settings, rows, asked.steps, seed) for seed in range(1, asked.seeds + 1)]
        mean = {key: round(sum(float(run[key]) for run in runs) / len(runs), 3) for key in runs[0]}
        losses = [round(float(run["loss"]), 3) for run in runs]
        found[name] = {"change": name, "steps": asked.steps, "text": asked.text.name, **mean, "losses": losses}
        print(found[name], flush=True)
    listed = [found[name] for name in CHANGES if name in found]
    ratios = {key: round(listed[-1][key] / listed[0][key], 3) for key in ("tokens/s", "training MiB", "cache bytes")}
    if asked.save:
        print(save("from_2017", listed, ratios))


if __name__ == "__main__":
    main()
