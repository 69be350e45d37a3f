"""What grows with the text and with the processes: memory, work, and what more of either gives.

    python benchmarks/scale.py [--pairs 2000] [--steps 8] [--save]

Corpus: shards of made-up pairs, once, ten and a hundred times as many, are read, cleaned, tokenized and made into batches,
each time in a new process whose peak memory is noted; beside it the same text is held in memory. Ranks: a model trains on
one and on two processes with the same batches; the time that `scale_model.py` predicts for two from the time of one stands
beside the measured time of two. Seconds are processor time, which other programs on the machine do not change.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks")]

TIMES = (1, 10, 100)
NUM_BATCHES = 150
FRENCH = (
    "le gouvernement veut que la nouvelle loi soit votée avant le printemps mais une partie des "
    "députés demande encore du temps pour lire tous les textes et entendre les villes du pays"
).split()
ENGLISH = (
    "the government wants that the new law be passed before the spring but a part of the "
    "members asks still for time to read all the texts and hear the towns of country"
).split()


def write_shards(folder: Path, num_pairs: int, count: int) -> list[str]:
    """Files of pairs, of which no two are the same."""
    rng = random.Random(1)
    names = []
    for shard in range(count):
        lines = []
        for number in range(num_pairs):
            drawn = [rng.randrange(len(FRENCH)) for _ in range(rng.randint(4, 24))]
            key = f"{shard * num_pairs + number:,}"
            french, english = (" ".join(words[i] for i in drawn) for words in (FRENCH, ENGLISH))
            lines.append(f"{french} {key}.\t{english} {key}.\n")
        path = folder / f"shard{shard:03d}.tsv.xz"
        with lzma.open(path, "wb", preset=0) as file:
            file.write("".join(lines).encode())
        names.append(str(path))
    return names


def feed(asked: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own: from files to batches, by way of files or all in memory."""
    from regard.config import DataConfig
    from regard.data.batch_stream import PairStream
    from regard.data.corpus import Corpus
    from regard.text.tokenizer import Tokenizer
    from regard.train.corpora import read_corpora

    folder = Path(asked["folder"]) / "text"
    tokenizer = Tokenizer.load(asked["tokenizer"])
    data = DataConfig(pairs=tuple(asked["shards"]))
    empty = _memory()["VmRSS"]
    began = _seconds()
    corpus, _ = read_corpora(data, 1, lambda _: None, folder, os.cpu_count() or 1)
    if not asked["in_files"]:
        corpus = Corpus(list(corpus.sources), list(corpus.targets))
    read = _seconds()
    with PairStream(
        corpus,
        (tokenizer, tokenizer),
        batch_tokens=8192,
        packing=True,
        sampling=0.15,
        folder=folder if asked["in_files"] else None,
        num_readers=os.cpu_count() or 1 if asked["in_files"] else 1,
        shuffle_window=asked["window"],
    ) as stream:
        cut = _seconds()
        num_tokens = sum(batch.num_tokens for batch in islice(stream, NUM_BATCHES) if batch)
        made = _seconds()
    memory = _memory()
    kept = sum(path.stat().st_size for path in folder.iterdir()) if asked["in_files"] else 0
    return {
        "num_pairs": stream.num_pairs,
        "megabytes_before": round(empty, 1),
        "megabytes_most": round(memory["VmHWM"], 1),
        "megabytes_on_disk": round(kept / 2**20, 1),
        "seconds_to_read": round(read - began, 2),
        "seconds_to_cut": round(cut - read, 2),
        "tokens_a_second_made": round(num_tokens / (made - cut)),
    }


def _memory() -> dict[str, float]:
    """In megabytes, of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    pairs = (line.split(":") for line in lines if line.startswith("Vm"))
    return {name: int(value.split()[0]) / 1024 for name, value in pairs}


def _seconds() -> float:
    """Of the processor, its children's that have ended among them."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def rank(num_steps: int) -> dict[str, Any]:
    """In one of several processes: seconds of a step, and of an exchange of gradients alone."""
    import torch
    import torch.distributed as dist
    from train_work import equal, fed

    from regard.config import TrainConfig, sized
    from regard.model.transformer import build
    from regard.train.batches import share
    from regard.train.loss import BatchLoss
    from regard.train.optimizer import make_optimizer
    from regard.train.parallel import Processes
    from regard.train.plan import complete
    from regard.train.update import Updater

    torch.set_num_threads(1)
    torch.manual_seed(1)
    processes = Processes.from_environment()
    device = torch.device("cpu")
    config = sized("tiny", source_vocab_size=4001, target_vocab_size=4001)
    batch_tokens = 2 * 64 * 29
    wanted = TrainConfig(batch_tokens=batch_tokens, accumulate=2, dropout=0.0)
    settings = complete(wanted, config, num_pairs=10**5, num_tokens=10**7, on_gpu=False)
    batches = [fed(equal(64, 29, 4001).padded_whole(), device)] * 2
    with processes.joined(on_gpu=False):
        model = build(config).train()
        num_parameters = sum(parameter.numel() for parameter in model.parameters())
        loss = processes.wrap(BatchLoss(model, settings), sharded=False)
        update = Updater(model, make_optimizer(model, settings), settings, longest=29, loss=loss)
        mine = share(batches, processes)

        def step() -> None:
            total = processes.total(sum(each.num_targets for each in mine), device)
            update(mine, 1e-4, total / processes.size)
            processes.agree(0.0, 0.0)

        def exchange() -> None:
            if not processes.alone:
                dist.all_reduce(torch.ones(num_parameters))

        found = {}
        for name, work in (("step", step), ("exchange", exchange)):
            work()
            taken, walls = [], []
            for _ in range(num_steps):
                began, wall = time.process_time(), time.perf_counter()
                work()
                taken.append(time.process_time() - began)
                walls.append(time.perf_counter() - wall)
            found[f"seconds_of_{name}"] = sorted(taken)[len(taken) // 2]
            found[f"wall_seconds_of_{name}"] = sorted(walls)[len(walls) // 2]
    tokens = sum(batch.num_tokens for batch in batches)
    return {"num_parameters": num_parameters, "tokens_a_step": tokens, **found}


def in_process(what: str, asked: dict[str, Any], num_processes: int = 1) -> dict[str, Any]:
    """The last line that a fresh process prints."""
    words = [sys.executable]
    if num_processes > 1:
        words += ["-m", "torch.distributed.run", "--standalone"]
        words += ["--nproc-per-node", str(num_processes)]
    done = subprocess.run([*words, __file__, "--child", what, json.dumps(asked)], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_corpora(num_pairs: int) -> list[dict[str, Any]]:
    from regard.data.corpus import read_pairs
    from regard.text.tokenizer import Tokenizer

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards = write_shards(folder, num_pairs, max(TIMES))
        first = read_pairs(pairs=shards[:1])
        Tokenizer.train([*first.sources, *first.targets], vocabulary=600).save(folder / "model")
        for in_files in (True, False):
            for times in TIMES:
                asked = {
                    "folder": name,
                    "shards": shards[:times],
                    "tokenizer": str(folder / "model"),
                    "window": num_pairs if in_files else 10**9,
                    "in_files": in_files,
                }
                where = "in files" if in_files else "in memory"
                row = {"part": "corpus", "text": where, "times": times, **in_process("feed", asked)}
                print(row, flush=True)
                rows.append(row)
    return rows


def measure_ranks(num_steps: int) -> list[dict[str, Any]]:
    rows = []
    for size in (1, 2):
        row = {"part": "ranks", "ranks": size, **in_process("rank", {"steps": num_steps}, size)}
        print(row, flush=True)
        rows.append(row)
    return rows


def simulate() -> list[dict[str, Any]]:
    from scale_model import (
        BASE,
        BIG,
        GPUS,
        NVLINK_AND_ETHERNET,
        NVLINK_AND_INFINIBAND,
        breaks_at,
        exchange_seconds,
        tokens_a_second,
        tokens_a_second_shared,
    )

    rows = []
    for work in (BASE, BIG):
        for network in (NVLINK_AND_INFINIBAND, NVLINK_AND_ETHERNET):
            speeds = {size: round(tokens_a_second(work, size, network)) for size in GPUS}
            last = max(GPUS)
            exchange = exchange_seconds(4 * work.num_parameters, last, network)
            rows.append(
                {
                    "part": "simulated",
                    "model": work.name,
                    "network": network.name,
                    "tokens_a_second": speeds,
                    "tokens_a_second_updates_of_524288": {
                        size: round(tokens_a_second_shared(work, size, network, 1 << 19)) for size in GPUS
                    },
                    "efficiency": round(speeds[last] / (last * work.tokens_a_second), 3),
                    "milliseconds_computing": round(1000 * work.seconds, 1),
                    "milliseconds_of_exchange": round(1000 * exchange, 1),
                    "below_80_percent_at": breaks_at(work, network),
                }
            )
            print(rows[-1], flush=True)
    return rows


def ratios_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    from scale_model import together

    most = {(row["text"], row["times"]): row["megabytes_most"] for row in rows if row["part"] == "corpus"}
    work = {
        row["times"]: (row["seconds_to_read"] + row["seconds_to_cut"]) / row["num_pairs"]
        for row in rows
        if row["part"] == "corpus" and row["text"] == "in files"
    }
    one, two = (row for row in rows if row["part"] == "ranks")
    # Each of two does half of the computing; on a processor the exchange hides behind nothing.
    predicted = together(one["seconds_of_step"] / 2, two["seconds_of_exchange"], hidden=0.0)
    return {
        "memory 10x / 1x, in files": round(most["in files", 10] / most["in files", 1], 3),
        "memory 100x / 10x, in files": round(most["in files", 100] / most["in files", 10], 3),
        "memory 100x / 1x, in files": round(most["in files", 100] / most["in files", 1], 3),
        "memory 100x / 1x, in memory": round(most["in memory", 100] / most["in memory", 1], 3),
        "seconds a pair 100x / 1x": round(work[100] / work[1], 3),
        "2 ranks / 1 rank, tokens a second of each processor": round(
            one["seconds_of_step"] / (2 * two["seconds_of_step"]), 3
        ),
        "step of 2 ranks, model / measured": round(predicted / two["seconds_of_step"], 3),
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """The simulated speeds, beside what they would be if nothing had to be exchanged."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    panels = {
        "tokens_a_second": "a batch of 65,536 tokens for each GPU",
        "tokens_a_second_updates_of_524288": "updates of 524,288 tokens, shared",
    }
    for axes, (key, title) in zip(figure.subplots(1, 2, sharey=True), panels.items(), strict=True):
        for row in rows:
            if row["part"] != "simulated":
                continue
            sizes, speeds = [int(size) for size in row[key]], list(row[key].values())
            colour = "#1f5fa8" if row["model"] == "base" else "#b3541e"
            style = "-" if "InfiniBand" in row["network"] else "--"
            label = f"{row['model']}, {row['network']}"
            axes.plot(sizes, speeds, style, color=colour, marker="o", markersize=3, label=label)
            if style == "-":
                ideal = [size * row["tokens_a_second"][1] for size in sizes]
                axes.plot(sizes, ideal, ":", color=colour, linewidth=1)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("GPUs (dotted: nothing lost)")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("tokens a second")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=2000, help="of the corpus taken once")
    parser.add_argument("--steps", type=int, default=8, help="of each number of ranks")
    parser.add_argument("--draw", type=Path, help="a picture of the simulated speeds")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/scale.json")
    asked = parser.parse_args()
    rows = [*measure_corpora(asked.pairs), *measure_ranks(asked.steps), *simulate()]
    ratios = ratios_of(rows)
    for what, ratio in ratios.items():
        print(f"{what:54} {ratio}")
    if asked.draw:
        draw(rows, asked.draw)
    if asked.save:
        from record import save

        print(save("scale", rows, ratios))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        given = json.loads(sys.argv[3])
        answer = feed(given) if sys.argv[2] == "feed" else rank(given["steps"])
        if int(os.environ.get("RANK", "0")) == 0:
            print(json.dumps(answer), flush=True)
    else:
        main()
