"""Text for a run: what to train on, what to validate on, and the tokenizers learnt from it."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.config import DataConfig, to_dict
from regard.data.cleaning import clean, select
from regard.data.corpus import Corpus, read_pairs, split_label
from regard.data.lines import read_lines
from regard.data.storage import Column, StoredTexts, chunks_of_pairs, rows_of, taken
from regard.errors import DataError, TrainingError, UsageError
from regard.files import write_file
from regard.folder.manifest import TokenizerFiles
from regard.text.tokenizer import Tokenizer, default_vocabulary

TOKENIZERS = "tokenizers"
TEXT, INDEX = "text", "corpus.json"
JOINT = TokenizerFiles()
SEPARATE = TokenizerFiles(source="source.model", target="target.model")
MOST_HELD_OUT = 1000
HELD_OUT_SHARE = 0.02
FEW_HELD_OUT = 50
"""pairs below which scores say little"""
LANGUAGES = frozenset(
    "af am ar as az be bg bn bo br bs ca co cs cy da de dz el en eo es et eu fa fi fo fr fy ga gd gl gu "
    "ha he hi hr ht hu hy ia id ig is it ja jv ka kk km kn ko ku ky la lb li ln lo lt lv mg mi mk ml mn "
    "mr ms mt my nb ne nl nn no oc or os pa pl ps pt qu rm ro ru rw sa sc sd se si sk sl sm sn so sq sr "
    "ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ug uk ur uz vi wa wo xh yi yo zh zu".split()
)
"""file suffixes that name a language"""
NUM_SAMPLED = 2000
"""pairs whose length is measured to estimate the tokens of the corpus"""


def read_corpora(
    data: DataConfig,
    seed: int,
    say: Callable[[str], None],
    folder: Path | None = None,
    num_processes: int = 1,
) -> tuple[Corpus, Corpus]:
    """Training and validation pairs; without validation files some are held out of the training.

    folder: where to keep the training text instead of in memory; what stands there already is used again if the files
    it was read from have not changed.
    """
    # A test set that cannot be scored is better known before the training.
    test_sets = read_test_sets(data)
    if folder is not None:
        if (folder / INDEX).exists() and _index(data, seed) == json.loads(
            (folder / INDEX).read_bytes()
        ):
            return open_corpora(folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    corpus = read_pairs(
        data.source,
        data.target,
        data.pairs,
        swapped=data.swapped,
        strict=data.strict,
        advice="mend it, or set strict=false to drop such pairs",
        folder=folder,
    )
    if data.dialogue:  # a reply may be short, and its lines look shifted where they are not
        corpus.report.warnings.clear()
    say(str(corpus.report))
    corpus, report = clean(corpus, data, folder, num_processes)
    say(str(report))
    if data.valid_source or data.valid_target:
        valid = read_pairs(data.valid_source, data.valid_target, strict=True)
        say_leaks("the validation text", valid.sources, valid.targets, corpus, say)
    else:
        corpus, valid = _hold_out(corpus, seed, folder)
        few = ", so few that their scores say little" if len(valid) < FEW_HELD_OUT else ""
        say(f"{len(valid):,} pairs held out for validation{few}")
    for name, sources, references in test_sets:
        say_leaks(f"the test set {name}", sources, references, corpus, say)
    if folder is not None:
        _keep(valid, folder)
        write_file(folder / INDEX, json.dumps(_index(data, seed)).encode())
        return open_corpora(folder)
    return corpus, valid


def open_corpora(folder: Path) -> tuple[Corpus, Corpus]:
    """What `read_corpora` has put there."""
    rows = Column.open(folder / "rows", np.int64)
    sources, targets = (StoredTexts.open(folder / side, rows) for side in ("source", "target"))
    valid = Corpus(
        list(StoredTexts.open(folder / "valid.source")),
        list(StoredTexts.open(folder / "valid.target")),
    )
    return Corpus(sources, targets), valid


def _keep(valid: Corpus, folder: Path) -> None:
    """Write what is not there yet, and give the rows to train on their name."""
    for side, texts in (("source", valid.sources), ("target", valid.targets)):
        stored = StoredTexts.new(folder / f"valid.{side}")
        stored.extend(texts)
        stored.flush()
    for rows in (folder / "kept", folder / "not held out"):
        if rows.exists():
            rows.replace(folder / "rows")


def _index(data: DataConfig, seed: int) -> dict[str, Any]:
    """By which is seen whether a text was read from the same files, as they are now."""
    names = [*data.source, *data.target, *data.valid_source, *data.valid_target]
    names += [split_label(name)[0] for name in data.pairs]
    files = []
    for name in names:
        try:
            found = os.stat(name)
            files.append([name, found.st_size, found.st_mtime_ns])
        except OSError:
            files.append([name])  # who reads it will say so
    settings = json.loads(json.dumps(to_dict(data)))
    return {"data": settings, "seed": seed, "files": files}


def _hold_out(corpus: Corpus, seed: int, folder: Path | None) -> tuple[Corpus, Corpus]:
    held_out = min(MOST_HELD_OUT, max(1, int(len(corpus) * HELD_OUT_SHARE)))
    if held_out >= len(corpus):
        raise TrainingError(f"training needs at least two pairs: got {len(corpus)}; give more text")
    places = np.array(random.Random(seed).sample(range(len(corpus)), held_out))
    sources, targets = (taken(side, places) for side in (corpus.sources, corpus.targets))
    # The same pair may stand in the corpus several times; none of its copies may be trained on.
    wanted = set(zip(sources, targets, strict=True))
    with tempfile.TemporaryDirectory() as scratch:
        rows = Column((folder or Path(scratch)) / "not held out", np.int64)
        for start, *sides in chunks_of_pairs(corpus.sources, corpus.targets):
            inside = [pair in wanted for pair in zip(*sides, strict=True)]
            chunk = rows_of(corpus.sources, start, start + len(inside))
            rows.extend(chunk[~np.array(inside)])
        rows.flush()
        rest = select(corpus, rows)
    valid = sorted(wanted)
    return rest, Corpus([source for source, _ in valid], [target for _, target in valid])


def say_leaks(
    name: str,
    sources: Sequence[str],
    references: Sequence[str],
    corpus: Corpus,
    say: Callable[[str], None],
) -> None:
    """Tell how many pairs are learnt by heart, and so measure nothing."""
    measured = Counter(zip(sources, references, strict=True))
    found = {pair for pair in zip(corpus.sources, corpus.targets, strict=True) if pair in measured}
    num_known = sum(measured[pair] for pair in found)
    if num_known:
        say(
            f"{num_known:,} of {len(sources):,} pairs of {name} are in the training text as well: "
            "a score on them says little; leave them out of one"
        )


def learn_tokenizers(
    data: DataConfig, corpus: Corpus, folder: Path, seed: int
) -> tuple[Tokenizer, Tokenizer]:
    def learn(texts: Iterable[str], name: str) -> Tokenizer:
        return Tokenizer.train(
            texts,
            vocabulary=data.vocabulary or default_vocabulary(len(corpus)),
            kind=data.tokenizer,
            path=folder / name,
            seed=seed,
            exact=data.vocabulary is not None,
        )

    if data.tokenizer_file:
        tokenizer = Tokenizer.load(data.tokenizer_file)
        save_tokenizers((tokenizer, tokenizer), folder)
        return tokenizer, tokenizer
    if data.joint:
        both = (text for pair in zip(corpus.sources, corpus.targets, strict=True) for text in pair)
        tokenizer = learn(both, JOINT.source)
        return tokenizer, tokenizer
    return learn(corpus.sources, SEPARATE.source), learn(corpus.targets, SEPARATE.target)


def save_tokenizers(tokenizers: tuple[Tokenizer, Tokenizer], folder: Path) -> None:
    files = JOINT if tokenizers[0] is tokenizers[1] else SEPARATE
    tokenizers[0].save(folder / files.source)
    tokenizers[1].save(folder / files.target)


def load_tokenizers(folder: Path, files: TokenizerFiles) -> tuple[Tokenizer, Tokenizer]:
    source = Tokenizer.load(folder / files.source)
    return source, source if files.joint else Tokenizer.load(folder / files.target)


def estimate_tokens(corpus: Corpus, tokenizers: tuple[Tokenizer, Tokenizer]) -> int:
    """TokenizerBase of both sides, end tokens included, from an even sample."""
    stride = max(1, len(corpus) // NUM_SAMPLED)
    sampled = [corpus.sources[::stride], corpus.targets[::stride]]
    counts = [
        sum(len(ids) + 1 for ids in tokenizer.encode_batch(texts))
        for tokenizer, texts in zip(tokenizers, sampled, strict=True)
    ]
    return round(sum(counts) * len(corpus) / len(sampled[0]))


def with_languages(data: DataConfig) -> DataConfig:
    """Language codes from suffixes such as train.fr and train.en.xz, where none were given."""

    def code(given: str, files: tuple[str, ...]) -> str:
        found = re.search(r"\.([a-z]{2})(\.(gz|xz))?$", files[0]) if files else None
        return given or (found.group(1) if found and found.group(1) in LANGUAGES else "")

    return dataclasses.replace(
        data,
        source_language=code(data.source_language, data.source),
        target_language=code(data.target_language, data.target or data.text),
    )


def read_test_sets(data: DataConfig) -> list[tuple[str, list[str], list[str]]]:
    """Name, sources and references of each test set, every line of it."""
    if len(data.test_source) != len(data.test_target):
        raise UsageError(
            "test_source and test_target must be as many files: "
            f"got {len(data.test_source)} and {len(data.test_target)}; name the reference of each"
        )
    found = []
    for source, reference in zip(data.test_source, data.test_target, strict=True):
        sources, references = read_lines(source), read_lines(reference)
        if len(sources) != len(references):
            raise DataError(
                f"a test set must have a reference for each source: {source} has {len(sources)} lines, "
                f"{reference} {len(references)}; give files that belong together"
            )
        unpacked = reference.removesuffix(".gz").removesuffix(".xz")
        found.append((Path(unpacked).stem, sources, references))
    return found
