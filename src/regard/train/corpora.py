"""The text of a run, for training, validation and test, and the tokenizers learnt from it.

Pairs are kept in the run's folder, where the other processes and a resumed run find them; running text is kept in
memory.
"""

import json
import math
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.config import DataConfig, ModelConfig, to_dict
from regard.data.batches import MASK
from regard.data.cleaning import CleaningReport, clean, select, share_unaligned
from regard.data.corpus import Corpus, ReadingReport, read_pairs, split_label, split_weight
from regard.data.lines import read_lines
from regard.data.running_text import RunningText, read_running_text
from regard.data.storage import Column, Mixture, StoredTexts, chunks_of_pairs, stored_rows, take_texts
from regard.errors import DataError, TrainingError, UsageError
from regard.files import write_file
from regard.folder.checkpoint import open_tokenizers
from regard.folder.manifest import TokenizerFiles
from regard.text.tokenizer import Tokenizer, TokenizerBase, default_vocabulary

Say = Callable[[str], object]
Text = Corpus | RunningText
Tokenizers = tuple[TokenizerBase, TokenizerBase]
"""Source and target; one object where they share a vocabulary."""
TEXT, INDEX, STARTS = "text", "corpus.json", "starts.json"
TOKENIZERS = "tokenizers"
JOINT = TokenizerFiles()
SEPARATE = TokenizerFiles(source="source.model", target="target.model")
NUM_SAMPLED = 2000
"""Number of pairs or lines sampled to estimate the tokens of the corpus."""
HELD_OUT_SHARE = 0.02  # Share of the text held out for validation.
MIN_HELD_OUT, MAX_HELD_OUT = 100, 1000
"""Bounds of the held-out pairs; of fewer than 500 pairs a fifth is held out."""
MAX_KEPT = 500  # Maximum pairs of the text to keep that are translated.
MAX_CHARACTERS_HELD_OUT = 400_000  # Maximum held-out characters of running text.
MAX_BAD = 0.5  # Share of a text that may be unusable, or of a file that may be misaligned.
MIN_DOCUMENTS = 50
"""Number of documents below which the end of the longest one is held out instead of whole documents."""
CHARACTERS_OF_A_PAIR = 200  # Characters of running text that count as one pair when settings are chosen.


def read_corpora(data: DataConfig, seed: int, say: Say, folder: Path, num_processes: int = 1) -> tuple[Corpus, Corpus]:
    """Training and validation pairs; without validation files some pairs are held out.

    folder: where the text is kept; text that is already there is used again unless its files have changed.
    """
    test_sets = read_test_sets(data)  # first: a broken test set should be known before the training
    index = folder / INDEX
    if index.exists() and _index(data, seed) == json.loads(index.read_bytes()):
        return open_corpora(folder, data)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    advice = "mend it, or set strict=false to drop such pairs"
    how: dict[str, Any] = {"swapped": data.swapped, "tags": data.tags, "strict": data.strict, "advice": advice}
    corpus = read_pairs(data.source, data.target, data.pairs, folder=folder, **how)
    if data.dialogue:  # replies may be short, and then look like shifted lines
        corpus.report.warnings.clear()
    say(str(corpus.report))
    if not (data.force or data.dialogue or data.lesson):
        _check_aligned(corpus, [*map(" and ".join, zip(data.source, data.target, strict=True)), *data.pairs])
    starts = corpus.starts
    corpus, report = clean(corpus, data, folder, num_processes)
    say(str(report))
    _check_usable(corpus.report, data, report)
    measured = [(f"the test set {name}", *sides) for name, *sides in test_sets]
    if data.valid_source or data.valid_target:
        valid = read_pairs(data.valid_source, data.valid_target, strict=True)
        measured.append(("the validation text", valid.sources, valid.targets))
    else:
        corpus, valid = _hold_out_pairs(corpus, seed, folder)
        say(f"{len(valid):,} pairs held out for validation")
    for name, *sides in measured:
        if known := _num_known(sides, corpus):
            say(f"{known:,} of {len(sides[0]):,} pairs of {name} are in the training text as well; leave them out")
    for side, texts in (("source", valid.sources), ("target", valid.targets)):
        stored = StoredTexts(folder / f"valid.{side}", new=True)
        stored.extend(texts)
        stored.flush()
    for rows in (folder / "kept", folder / "not held out"):
        if rows.exists():
            rows.replace(folder / "rows")
    write_file(folder / STARTS, json.dumps(starts).encode())
    write_file(index, json.dumps(_index(data, seed)).encode())
    return open_corpora(folder, data)


def _check_aligned(corpus: Corpus, names: Sequence[str]) -> None:
    """Refuse a file whose sides do not belong together."""
    for name, start, stop in zip(names, corpus.starts, [*corpus.starts[1:], len(corpus)], strict=True):
        if (share := share_unaligned(corpus, start, stop)) > MAX_BAD:
            raise DataError(
                f"line n of one side must translate line n of the other: in {share:.0%} of {name} the lines fit others as "
                "well, as if shuffled, shifted or of another text; mend it, or train on it all the same with --force"
            )


def _check_usable(read: ReadingReport, data: DataConfig, cleaned: CleaningReport) -> None:
    """Refuse a text of which most lines cannot be used; a repeated line could be."""
    unusable = read.unusable + cleaned.dropped
    num_usable = cleaned.num_kept + unusable.pop("duplicate", 0)
    if read.num_lines - num_usable > MAX_BAD * read.num_lines and not data.force:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in unusable.most_common())
        raise DataError(
            f"half of the lines must be usable: got {num_usable:,} of {read.num_lines:,} ({reasons}); mend the files, "
            "switch off the rule that drops them, or train on the rest with --force"
        )


def open_corpora(folder: Path, data: DataConfig) -> tuple[Corpus, Corpus]:
    """Training and validation pairs that `read_corpora` has stored."""
    rows = Column(folder / "rows", np.int64)
    sources, targets = (StoredTexts(folder / side, rows) for side in ("source", "target"))
    valid = [list(StoredTexts(folder / f"valid.{side}")) for side in ("source", "target")]
    return Corpus(sources, targets, mixture=_mixture(data, rows, folder)), Corpus(valid[0], valid[1])


def _mixture(data: DataConfig, rows: Column, folder: Path) -> Mixture | None:
    """The mixture of the files by their weights and sizes; None where each pair comes once."""
    starts = json.loads((folder / STARTS).read_bytes())
    bounds = [*np.searchsorted(rows.map(), starts).tolist(), len(rows)]
    sizes = np.maximum(1, np.diff(bounds))
    given = [1.0] * len(data.source) + [split_weight(name)[1] for name in data.pairs]
    weights = np.array(given) * (sizes / sizes.max()) ** (1 / data.mix_temperature - 1)
    return None if (weights == 1).all() else Mixture(bounds, weights.tolist())


def files_of(data: DataConfig) -> list[str]:
    """The files of the training text.

    >>> files_of(DataConfig(pairs=("a.tsv#news@0.3", "b.tsv")))
    ['a.tsv', 'b.tsv']
    """
    return [*data.source, *data.target, *data.text, *(split_label(split_weight(name)[0])[0] for name in data.pairs)]


def _index(data: DataConfig, seed: int) -> dict[str, Any]:
    """Settings, sizes and times of the files, to recognise text that was read from the same files."""
    names = [*files_of(data), *data.valid_source, *data.valid_target]
    # A missing file is left out: the text is read anew, and the reader raises the error.
    stats = [(name, os.stat(name)) for name in names if os.path.exists(name)]
    files = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
    return {"data": json.loads(json.dumps(to_dict(data))), "seed": seed, "files": files}


def _hold_out_pairs(corpus: Corpus, seed: int, folder: Path) -> tuple[Corpus, Corpus]:
    least = max(1, min(MIN_HELD_OUT, len(corpus) // 5))
    held_out = min(MAX_HELD_OUT, max(least, int(len(corpus) * HELD_OUT_SHARE)))
    if held_out >= len(corpus):
        raise TrainingError(f"training needs at least two pairs: got {len(corpus)}; give more text")
    places = np.array(random.Random(seed).sample(range(len(corpus)), held_out))
    sources, targets = (take_texts(side, places) for side in (corpus.sources, corpus.targets))
    # A pair may occur several times in the corpus; none of its copies may be trained on.
    wanted = set(zip(sources, targets, strict=True))
    rows = Column(folder / "not held out", np.int64, new=True)
    for start, *sides in chunks_of_pairs(corpus.sources, corpus.targets):
        inside = [pair in wanted for pair in zip(*sides, strict=True)]
        chunk = stored_rows(corpus.sources, start, start + len(inside))
        rows.extend(chunk[~np.array(inside)])
    rows.flush()
    sources, targets = map(list, zip(*sorted(wanted), strict=True))
    return select(corpus, rows), Corpus(sources, targets)


def _num_known(measured: list[Sequence[str]], corpus: Corpus) -> int:
    """Number of pairs that are in the training text as well, and so measure nothing."""
    counts = Counter(zip(*measured, strict=True))
    trained = {pair for pair in zip(corpus.sources, corpus.targets, strict=True) if pair in counts}
    return sum(counts[pair] for pair in trained)


def read_test_sets(data: DataConfig) -> list[tuple[str, list[str], list[str]]]:
    counts = len(data.test_source), len(data.test_target)
    if counts[0] != counts[1]:
        raise UsageError("test_source and test_target must be as many files: got {} and {}; mend that".format(*counts))
    test_sets = []
    for source, reference in zip(data.test_source, data.test_target, strict=True):
        sources, references = read_lines(source), read_lines(reference)
        if len(sources) != len(references):
            raise DataError(
                f"a test set must have a reference for each source: {source} has {len(sources)} lines, "
                f"{reference} {len(references)}; give files that belong together"
            )
        test_sets.append((name_of(reference), sources, references))
    return test_sets


def read_kept(data: DataConfig) -> Corpus | None:
    """At most `MAX_KEPT` pairs of the text that a given model must not get worse at, evenly spaced."""
    if not data.keep:
        return None
    keep = read_pairs(pairs=data.keep, swapped=data.swapped, strict=True)
    stride = math.ceil(len(keep) / MAX_KEPT)
    return Corpus(keep.sources[::stride], keep.targets[::stride])


def name_of(file: str) -> str:
    """The name of a test set: its file without folder and suffixes."""
    return Path(file.removesuffix(".gz").removesuffix(".xz")).stem


def read_test_texts(data: DataConfig) -> list[tuple[str, RunningText]]:
    return [
        (name_of(file), read_running_text([file], each_line=data.each_line, strict=True)) for file in data.test_text
    ]


def read_texts(data: DataConfig, seed: int, say: Say) -> tuple[RunningText, RunningText]:
    """Training and validation text; without validation files some text is held out."""
    read_test_texts(data)  # first: a broken test text should be known before the training
    advice = "mend it, or set strict=false to drop such lines"
    text = read_running_text(data.text, each_line=data.each_line, strict=data.strict, advice=advice)
    say(str(text.report))
    num_usable = text.report.num_lines - text.report.unusable.total()
    _check_usable(text.report, data, CleaningReport(num_usable))
    if data.valid_text:
        valid = read_running_text(data.valid_text, each_line=data.each_line, strict=True)
    else:
        text, valid = hold_out_text(text, seed)
        say(f"{valid.num_lines:,} lines held out for validation")
    say(f"{len(text):,} documents of {text.num_lines:,} lines")
    return text, valid


def hold_out_text(text: RunningText, seed: int) -> tuple[RunningText, RunningText]:
    """Hold out random documents; of few documents, the last lines of the longest."""
    wanted = min(MAX_CHARACTERS_HELD_OUT, int(text.num_characters * HELD_OUT_SHARE))
    if len(text) < MIN_DOCUMENTS:
        longest = max(range(len(text)), key=lambda number: len(text.documents[number]))
        lines = text.documents[longest]
        count = max(1, round(len(lines) * wanted / sum(len(line) + 1 for line in lines)))
        if count >= len(lines):
            raise TrainingError(f"training needs at least two lines of a document: got {len(lines)}; give more text")
        kept = [*text.documents]
        kept[longest] = lines[:-count]
        return RunningText(kept), RunningText([lines[-count:]])
    order = list(range(len(text)))
    random.Random(seed).shuffle(order)
    held_out, size = set(), 0
    for number in order[: len(order) // 2]:
        if size >= wanted:
            break
        held_out.add(number)
        size += sum(len(line) + 1 for line in text.documents[number])
    kept = [document for number, document in enumerate(text.documents) if number not in held_out]
    return RunningText(kept), RunningText([text.documents[number] for number in sorted(held_out)])


def count_pairs(corpus: Text) -> int:
    """Number of pairs of an epoch; for running text, the pairs that would be as much text."""
    if isinstance(corpus, RunningText):
        return max(1, corpus.num_characters // CHARACTERS_OF_A_PAIR)
    return len(corpus if corpus.mixture is None else corpus.mixture)


def estimate_tokens(corpus: Text, tokenizers: Tokenizers) -> int:
    """Tokens of an epoch, end tokens included, from an even sample of the corpus."""

    def count(tokenizer: TokenizerBase, texts: Sequence[str]) -> int:
        return sum(len(ids) + 1 for ids in tokenizer.encode_batch(texts))

    if isinstance(corpus, RunningText):
        stride = max(1, corpus.num_lines // NUM_SAMPLED)
        lines = list(islice(corpus.lines(), 0, None, stride))
        num_characters = sum(len(line) + 1 for line in lines)
        return round(count(tokenizers[1], lines) * corpus.num_characters / num_characters)
    stride = max(1, len(corpus) // NUM_SAMPLED)
    sources, targets = corpus.sources[::stride], corpus.targets[::stride]
    total = count(tokenizers[0], sources) + count(tokenizers[1], targets)
    return round(total * count_pairs(corpus) / len(sources))


def learn_tokenizers(data: DataConfig, corpus: Text, seed: int, *, masked: bool = False) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of both sides; one tokenizer for both where they share a vocabulary."""

    vocabulary = data.vocabulary or default_vocabulary(count_pairs(corpus))
    exact, signs = data.vocabulary is not None, [MASK] if masked else []

    def learn(texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.train(texts, vocabulary=vocabulary, kind=data.tokenizer, seed=seed, exact=exact, signs=signs)

    if data.tokenizer_file:
        source = target = Tokenizer.load(data.tokenizer_file)
    elif isinstance(corpus, RunningText):
        source = target = learn(corpus.lines())
    elif data.joint:
        pairs = zip(corpus.sources, corpus.targets, strict=True)
        source = target = learn(chain.from_iterable(pairs))
    else:
        source, target = learn(corpus.sources), learn(corpus.targets)
    return source, target


def load_tokenizers(folder: Path, files: TokenizerFiles, model: ModelConfig) -> Tokenizers:
    """The tokenizers of a model, with its ids for padding and ends."""
    tokenizers = open_tokenizers(folder, files)
    for each in tokenizers:
        each.pad_id, each.bos_id, each.eos_id = model.pad_id, model.bos_id, model.eos_id
    return tokenizers
