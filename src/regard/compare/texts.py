"""The text of a comparison, prepared once: the same sentences and the same tokens for every model.

text/NAME/                training and validation, one file a language, and tokenizer.model
results/texts/NAME.json   the test set, and what is known about the text; written last

Test pairs longer than any in training are of two kinds: natural ones, which were left out of training for their length,
and ordinary test pairs joined one after another. Recall is a text made for one question:

    source   filler × k, symbol, filler × k          target   symbol

The symbol is one of sixteen, the fillers are drawn from sixteen other words. It stands in the middle, equally far from
the end for a cell that reads forwards and for one that reads backwards. Training draws the logarithm of k evenly.
"""

import dataclasses
import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from regard.compare.study import CorpusConfig, Study
from regard.config import DataConfig
from regard.data.cleaning import clean
from regard.data.corpus import Corpus, read_pairs
from regard.data.lessons import write_lesson
from regard.errors import DataError, UsageError
from regard.files import write_file
from regard.text.tokenizer import Tokenizer, default_vocabulary

RESULTS, TOKENIZER = "results", "tokenizer.model"
ORDINARY = "as in training"
"""name of the part with sentences of lengths that training has"""
HELD_OUT = 200
"""pairs for validation, and as many for the test unless `max_test` says how many, of a text that is made"""
SYMBOLS, FILLERS = "ABCDEFGHIJKLMNOP", "abcdefghijklmnop"
NUM_RECALLS = 5000
"""training pairs of a recall"""

Pairs = list[tuple[str, str]]


def read_text(output: Path, corpus: str) -> dict[str, Any]:
    """The sources and references of the test set, and `about`: the rows of each part and length, sizes, languages."""
    found: dict[str, Any] = json.loads((output / RESULTS / "texts" / f"{corpus}.json").read_text("utf-8"))
    return found


def data_config(folder: Path, languages: Sequence[str], given: DataConfig) -> DataConfig:
    """The data settings of a training run; everything is cleaned and tokenized already."""
    files: dict[str, Any] = {}
    for side, language in zip(("source", "target"), languages, strict=True):
        files[side], files[f"valid_{side}"] = ((str(folder / f"{part}.{language}"),) for part in ("train", "valid"))
        files[f"{side}_language"] = language
    # A recall has no two sides of like length, and what was kept once is kept.
    kept: dict[str, Any] = {"wrong_language": True, "max_ratio": 1e9, "duplicates": True, "copies": True}
    kept["force"] = given.force or not (given.source or given.pairs)
    kept |= {"sampling": given.sampling, "max_length": given.max_length, "tokenizer_file": str(folder / TOKENIZER)}
    return DataConfig(**files, **kept)


def prepare(study: Study, name: str, output: Path, data_folder: Path, say: Callable[[str], None]) -> None:
    """Prepare the text of one corpus, unless that was done before; files named data/… are in `data_folder`."""
    folder, result = output / "text" / name, output / RESULTS / "texts" / f"{name}.json"
    if result.is_file() and (folder / TOKENIZER).is_file():
        return
    for each in (folder, result.parent):
        each.mkdir(parents=True, exist_ok=True)
    config, recipe = study.corpora[name]
    data, draw = recipe.with_files(data_folder).data, random.Random(1)
    languages = (data.source_language or "source", data.target_language or "target")
    parts = recall_parts(config, draw) if config.recall else _read_parts(config, data, folder, draw, say)
    train, test = parts["train"], [*parts["test"], *parts["longer"], *parts["joined"]]
    for part in ("train", "valid"):
        for language, lines in zip(languages, zip(*parts[part], strict=True), strict=True):
            write_file(folder / f"{part}.{language}", "".join(f"{line}\n" for line in lines).encode())
    tokenizer = Tokenizer.train(
        [side for pair in train for side in pair],
        vocabulary=data.vocabulary or default_vocabulary(len(train)),
        kind=data.tokenizer,
        exact=data.vocabulary is not None,
    )
    tokenizer.save(folder / TOKENIZER)
    lengths, longest = dict(enumerate(map(num_words, test))), max(map(num_words, train))
    first_joined = len(test) - len(parts["joined"])
    natural, joined = ({i: n for i, n in lengths.items() if (i < first_joined) == is_so} for is_so in (True, False))
    groups = {
        "words of the source": group_by_length(natural, config.lengths),
        "words of the source, pairs joined": group_by_length(joined, config.lengths),
    }
    if config.recall:
        by_distance = {str(k): [i for i, n in lengths.items() if n == 2 * k + 1] for k in config.recall}
        groups = {"words since the symbol": by_distance}
    about = {
        "languages": languages,
        "vocabulary": tokenizer.vocab_size,
        "train": len(train),
        "valid": len(parts["valid"]),
        "longest": longest,
        "mean_tokens": sum(map(len, tokenizer.encode_batch([source for source, _ in train]))) / len(train),
        "metric": "accuracy" if config.recall else "BLEU",
        "parts": {
            ORDINARY: [i for i, n in natural.items() if n <= longest],
            "longer": [i for i, n in natural.items() if n > longest],
            "longer, joined": list(joined),
        },
        "groups": groups,
    }
    sources, references = zip(*test, strict=True)
    content = {"about": about, "sources": sources, "references": references}
    write_file(result, json.dumps(content, ensure_ascii=False).encode())


def recall_parts(config: CorpusConfig, draw: random.Random) -> dict[str, Pairs]:
    """Training and validation up to the distance `longest_train`, the test at each distance alike."""

    def pair(distance: int) -> tuple[str, str]:
        words, symbol = draw.choices(FILLERS, k=2 * distance), draw.choice(SYMBOLS)
        return " ".join([*words[:distance], symbol, *words[distance:]]), symbol

    def short() -> tuple[str, str]:
        return pair(round(math.exp(draw.uniform(0, math.log(config.longest_train or 100)))))

    num_tests = (config.max_test or HELD_OUT) // len(config.recall)
    train, valid = ([short() for _ in range(count)] for count in (NUM_RECALLS, HELD_OUT))
    test = [pair(distance) for distance in config.recall for _ in range(num_tests)]
    return {"train": train, "valid": valid, "test": test, "longer": [], "joined": []}


def _read_parts(
    config: CorpusConfig, data: DataConfig, folder: Path, draw: random.Random, say: Callable[[str], None]
) -> dict[str, Pairs]:
    longer: Pairs = []
    if data.lesson:
        pairs = _pairs(read_pairs(pairs=[write_lesson(data.lesson, folder, seed=1)]))
        num_tests = config.max_test or HELD_OUT
        test, valid, train = pairs[:num_tests], pairs[num_tests:][:HELD_OUT], pairs[num_tests + HELD_OUT :]
    else:
        if not (data.source or data.pairs):
            raise UsageError("a corpus needs text: got none; name source and target, pairs, a lesson, or recall")
        corpus, report = clean(
            read_pairs(data.source, data.target, data.pairs, swapped=data.swapped),
            dataclasses.replace(data, wrong_language=True),
        )
        say(str(report))
        train = _pairs(corpus)
        valid, test = (
            _pairs(read_pairs(*files, strict=True))
            for files in ((data.valid_source, data.valid_target), (data.test_source, data.test_target))
        )
        if not test or not valid:
            raise DataError(
                "a comparison scores a test set and validates on another: got none; "
                "name valid_source, valid_target, test_source and test_target"
            )
        most = min(len(test), config.max_test or len(test))
        test = [test[i * len(test) // most] for i in range(most)]
    if (longest := config.longest_train) is not None:
        longer = _sample([pair for pair in train if num_words(pair) > longest], config.num_longer, draw)
        train = [pair for pair in train if num_words(pair) <= longest]
    train = _sample(train, config.max_pairs or len(train), draw)
    singles = test
    if config.joined_train > 1:
        train, valid, test = (
            join(part, [draw.randint(1, config.joined_train) for _ in part], draw) for part in (train, valid, test)
        )
    longest = max(map(num_words, train))
    sizes = [2 + i % (config.joined_test - 1) for i in range(4 * config.num_longer)] if config.joined_test > 1 else []
    joined = [pair for pair in join(singles, sizes, draw) if num_words(pair) > longest][: config.num_longer]
    return {"train": train, "valid": valid, "test": test, "longer": longer, "joined": joined}


def _pairs(corpus: Corpus) -> Pairs:
    return list(zip(corpus.sources, corpus.targets, strict=True))


def _sample(pairs: Pairs, most: int, draw: random.Random) -> Pairs:
    """At most so many of them, in their order."""
    return [pairs[i] for i in sorted(draw.sample(range(len(pairs)), min(most, len(pairs))))]


def join(pairs: Pairs, sizes: Iterable[int], draw: random.Random) -> Pairs:
    """A pair for each size: so many of the pairs, one after another."""
    chosen = (draw.sample(pairs, min(size, len(pairs))) for size in sizes)
    return [(" ".join(source for source, _ in each), " ".join(target for _, target in each)) for each in chosen]


def num_words(pair: tuple[str, str]) -> int:
    return len(pair[0].split())


def group_by_length(lengths: dict[int, int], ends: Sequence[int]) -> dict[str, list[int]]:
    """The sentences of each group by their length; the last group holds the longer ones, and empty groups are left out.

    >>> group_by_length({0: 3, 1: 12, 2: 11, 3: 25}, [10, 20])
    {'1–10': [0], '11–20': [1, 2], 'over 20': [3]}
    """
    found: dict[str, list[int]] = {}
    for i, length in sorted(lengths.items(), key=lambda item: item[1]):
        place = sum(length > end for end in ends)
        name = f"{([0, *ends][place]) + 1}–{ends[place]}" if place < len(ends) else f"over {ends[-1]}"
        found.setdefault(name, []).append(i)
    return {name: sorted(rows) for name, rows in found.items()}
