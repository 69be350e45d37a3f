"""How fast models translate a real text: `python benchmarks/file_speed.py FILE [--models fr-en opus-fr-en] [--save]`.

On a CPU each model as regard opens it stands beside the same weights in CTranslate2, both in int8 with beam 4: the file at
once, where each makes its own batches, in sentences a second; and its first sentences one after another, in source words a
second. CTranslate2 gets its threads both ways, within a batch and a batch each. On a GPU regard is alone, with the file once
and --times over. Systems take turns, the best of the rounds counts, and no time includes tokenization.

Needs the extra regard[bench]. opus-fr-en is an OPUS-MT model imported with --weights int8.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from record import Row, save

from regard.config import DecodeConfig
from regard.engine import open_engine
from regard.exchange.ctranslate2 import export_folder
from regard.folder.catalogue import find
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import read_manifest
from regard.translate.search import SearchInput, search_in_batches

BEAM = 4
KEYS = ("sentences_a_second", "words_a_second_alone")
Tokens = Sequence[Sequence[int]]
Decode = Callable[[Tokens], Sequence[Any]]  # sources, which end in the end token, to their best outputs


def regard_decodes(folder: Path, device: str, threads: int | None) -> Decode:
    engine = open_engine(folder, "auto" if device == "cpu" else "torch", device=device, threads=threads)

    def decode(sources: Tokens) -> Sequence[Any]:
        settings = DecodeConfig(method="beam", beam=BEAM)
        return search_in_batches(engine, [SearchInput(list(source), settings) for source in sources])

    return decode


def ctranslate2_decodes(exported: Path, names: Sequence[str], inter: int, intra: int) -> Decode:
    """names: of the source tokens, by id."""
    import ctranslate2

    translator = ctranslate2.Translator(str(exported), compute_type="int8", inter_threads=inter, intra_threads=intra)

    def decode(sources: Tokens) -> Sequence[Any]:
        # It adds the end itself.
        rows = [[names[token] for token in source[:-1]] for source in sources]
        longest = 2 * max(map(len, rows)) + 50
        return translator.translate_batch(
            rows, beam_size=BEAM, max_batch_size=1024, batch_type="tokens", max_decoding_length=longest
        )

    return decode


def systems_of(
    name: str, device: str, threads: int, scratch: Path, lines: Sequence[str]
) -> tuple[Tokens, dict[str, Decode]]:
    folder = find(name)
    manifest = read_manifest(folder)
    source, _ = open_tokenizers(folder, manifest.tokenizer)
    ids = [[*each, manifest.model.eos_id] for each in source.encode_batch(lines)]
    found = {"regard": regard_decodes(folder, device, threads if device == "cpu" else None)}
    if device == "cpu":
        exported = scratch / Path(name).name
        export_folder(folder, exported, "int8")
        names = source.token_strings(range(manifest.model.source_vocab_size))
        found["CTranslate2, threads in a batch"] = ctranslate2_decodes(exported, names, 1, threads)
        if threads > 1:
            found["CTranslate2, a batch a thread"] = ctranslate2_decodes(exported, names, threads, 1)
    return ids, found


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(
    model: str, options: argparse.Namespace, lines: Sequence[str], scratch: Path
) -> tuple[list[Row], dict[str, float]]:
    ids, systems = systems_of(model, options.device, options.threads, scratch, lines)
    few, many = ids[: options.alone], list(ids) * options.times
    words = sum(len(line.split()) for line in lines[: options.alone])
    for decode in systems.values():
        assert len(decode(few)) == len(few)
    best: dict[str, tuple[float, float]] = dict.fromkeys(systems, (1e9, 1e9))
    for _ in range(options.rounds):
        for who, decode in systems.items():
            whole = seconds(lambda decode=decode: decode(many))  # type: ignore[misc]
            alone = seconds(lambda decode=decode: [decode([source]) for source in few])  # type: ignore[misc]
            best[who] = min(best[who][0], whole), min(best[who][1], alone)
    rows: list[Row] = []
    for who, (whole, alone) in best.items():
        row: Row = {"model": Path(model).name, "who": who, "sentences": len(many)}
        row |= {"sentences_a_second": round(len(many) / whole, 1), "words_a_second_alone": round(words / alone, 1)}
        print("  ".join(f"{key}: {value}" for key, value in row.items()), flush=True)
        rows.append(row)
    ours, *theirs = rows
    ratios = {
        f"{ours['model']}_{key}": round(ours[key] / max(each[key] for each in theirs), 2) for key in KEYS if theirs
    }
    return rows, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="sentences of the source language, one a line")
    parser.add_argument("--models", nargs="+", default=["fr-en"], help="names or folders")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="on a CPU")
    parser.add_argument("--alone", type=int, default=100, help="sentences that are translated one after another")
    parser.add_argument("--times", type=int, default=1, help="how often the file is repeated")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    options = parser.parse_args()
    lines = options.file.read_text("utf-8").splitlines()
    rows: list[Row] = []
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for model in options.models:
            more, found = measure(model, options, lines, Path(scratch))
            rows, ratios = rows + more, ratios | found
    # The first model beside each other one: that as regard opens it, and in CTranslate2 at its better.
    by_model = [[row for row in rows if row["model"] == Path(model).name] for model in options.models]
    (ours, *_), *others = by_model
    for own, *theirs in others:
        for key in KEYS:
            begin = f"{ours['model']}_vs_{own['model']}"
            ratios[f"{begin}_{key}"] = round(ours[key] / own[key], 2)
            if theirs:
                ratios[f"{begin}_in_ctranslate2_{key}"] = round(ours[key] / max(each[key] for each in theirs), 2)
    for each, ratio in ratios.items():
        print(f"{each:<60} {ratio:.2f}")
    if options.save:
        where = platform.machine().lower() if options.device == "cpu" else "cuda"
        peers = ["ctranslate2", "onnxruntime"] if options.device == "cpu" else []
        facts: Row = {"file": options.file.name, "beam": BEAM, "threads": options.threads, "rounds": options.rounds}
        print(save(f"file_speed_{where}", [facts, *rows], ratios, *peers))


if __name__ == "__main__":
    main()
