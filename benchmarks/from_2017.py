"""From the paper's decoder to Llama's, one change at a time: loss, speed and memory of the same small training.

    python benchmarks/from_2017.py TEXT [--steps 400] [--seeds 1-2] [--rows 1-4] [--save]

TEXT holds English, a document a line (.xz too). A decoder of four layers and 128 features learns to predict the next token;
every row keeps the changes of the rows before it. Batches, their order and the learning rate are the same for all; the loss is
that of held-out text, in nats a token. Speed is processor time of one thread. Training memory is weights, gradients and Adam's two
moments, and what the backward pass keeps of a batch. The cache is what one token needs while a text is written, and the step
is one token after a text of 512. With --rows or --seeds, --save keeps the figures of earlier calls;
--speed adds speeds, all rows in turns and the best of three rounds, to rows that have their losses. --save also writes the table
of docs/explanation/from-2017.md.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import time
from pathlib import Path
from typing import Any, cast

import torch
from record import ROOT, Row, put_table, save
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


MEMORY, SPEED = ("training MiB", "cache bytes", "weights"), ("tokens/s", "step ms")
ROUNDS = 3
COLUMNS = {
    "change": "change",
    "loss": "loss",
    "tokens/s": "training, tokens/s",
    "step ms": "one more token, ms",
    "training MiB": "training memory, MiB",
    "cache bytes": "cache, bytes a token",
    "weights": "weights",
}
"""of the table in the docs"""


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
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage  # held, so that no other takes its place
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        loss = loss_of(model, rows)
    assert loss.requires_grad
    return sum(each.nbytes() for each in kept.values())


def new_model(settings: dict[str, Any], seed: int) -> DecoderOnly:
    torch.manual_seed(seed)
    sizes = dict(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, architecture="decoder-only")
    return cast(DecoderOnly, build(ModelConfig(**sizes, **settings)))


def train(model: DecoderOnly, rows: torch.Tensor, steps: int, seed: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.15)
    for batch in torch.randint(len(rows), (steps, BATCH), generator=torch.Generator().manual_seed(seed)):
        loss_of(model, rows[batch]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()


def trained(settings: dict[str, Any], rows: torch.Tensor, steps: int, seed: int) -> float:
    """The held-out loss after a training."""
    model = new_model(settings, seed)
    train(model, rows[HELD_OUT:], steps, seed)
    with torch.inference_mode():
        return float(loss_of(model.eval(), rows[:HELD_OUT]))


def memory(settings: dict[str, Any], rows: torch.Tensor) -> Row:
    model = new_model(settings, 1)
    config, weights = model.config, sum(each.numel() for each in model.parameters())
    training = (16 * weights + kept_bytes(model, rows[:BATCH].clone())) / 2**20
    cache = 2 * config.num_decoder_layers * config.num_key_heads * config.head_dim * 4
    return {"training MiB": round(training, 1), "cache bytes": cache, "weights": weights}


def speed(settings: dict[str, Any], rows: torch.Tensor) -> Row:
    """Of 12 updates, and of 32 tokens after a text of 512."""
    model = new_model(settings, 1)
    train(model, rows, 2, 1)
    begin = time.process_time()
    train(model, rows, 12, 1)
    spent = time.process_time() - begin
    with torch.inference_mode():
        text = rows[:4, :-1].reshape(1, -1)
        _, state = model.eval().read_on(text, model.start())
        begin = time.process_time()
        for _ in range(32):
            model.step(text[:, 0], state)
        step = (time.process_time() - begin) / 32
    return {"tokens/s": round(12 * BATCH * LENGTH / spent), "step ms": round(step * 1e3, 2)}


def measured(asked: argparse.Namespace, rows: torch.Tensor, found: dict[str, Row]) -> None:
    """Put the figures of the wanted rows into `found`."""
    first, last = map(int, asked.rows.split("-"))
    settings, wanted = dict(START), {}
    for number, (name, change) in enumerate(CHANGES.items(), 1):
        settings |= change
        if first <= number <= last:
            wanted[name] = dict(settings)
    for _ in range(ROUNDS if asked.speed else 0):  # rows take turns, and the best round counts
        for name, settings in wanted.items():
            new = speed(settings, rows)
            old = found[name] if "step ms" in found[name] else new
            best = {"tokens/s": max(old["tokens/s"], new["tokens/s"]), "step ms": min(old["step ms"], new["step ms"])}
            found[name] |= best | memory(settings, rows)
    for name, settings in wanted.items() if not asked.speed else ():
        row = {"change": name, "steps": asked.steps, "text": asked.text.name, **memory(settings, rows)}
        losses: dict[str, float] = found.get(name, {}).get("losses", {})
        for seed in range(int(asked.seeds[0]), int(asked.seeds[-1]) + 1):
            losses = {**losses, str(seed): round(trained(settings, rows, asked.steps, seed), 3)}
        found[name] = {
            **found.get(name, {}),
            **row,
            "losses": losses,
            "loss": round(statistics.mean(losses.values()), 2),
        }
        print(found[name], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", default="1-2", help="first and last seed")
    parser.add_argument("--rows", default=f"1-{len(CHANGES)}", help="first and last row to measure")
    parser.add_argument("--speed", action="store_true", help="no losses: speed and memory of rows that have theirs")
    parser.add_argument("--save", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = rows_of(asked.text, 3_000_000)
    path = ROOT / "benchmarks" / "results" / "from_2017.json"
    before = json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []
    found = {row["change"]: row for row in before}
    measured(asked, rows, found)
    listed = [found[name] for name in CHANGES if name in found]
    ratios = {key: round(listed[-1][key] / listed[0][key], 2) for key in (*MEMORY, *SPEED) if key in listed[-1]}
    print(ratios)
    if asked.save:
        print(save("from_2017", listed, ratios))
        put_table("docs/explanation/from-2017.md", "from_2017", listed, COLUMNS)


if __name__ == "__main__":
    main()
