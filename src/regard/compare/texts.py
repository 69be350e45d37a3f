"""The text of a comparison, prepared once: the same sentences and the same tokens for every model.

text/NAME/   train, valid and test, one file a language, and tokenizer.model
"""

import dataclasses
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from regard.compare.study import CorpusConfig, Study
from regard.config import DataConfig
from regard.data.cleaning import clean
from regard.data.corpus import Corpus, read_pairs
from regard.data.public_corpora import DATA, find_file
from regard.errors import DataError, UsageError
from regard.files import write_file
from regard.text.tokenizer import Tokenizer, default_vocabulary

TOKENIZER = "tokenizer.model"
_LINKS = "test.links.json"
_FACTS = "about.json"
"""written last: where it exists, the text is complete"""


def read_facts(folder: Path) -> dict[str, Any]:
    """Languages, sizes of the parts, size of the vocabulary."""
    facts: dict[str, Any] = json.loads((folder / _FACTS).read_text("utf-8"))
    # Earlier versions wrote the size of the vocabulary as "pieces".
    facts.setdefault("vocabulary", facts.get("pieces"))
    return facts


def read_test(folder: Path) -> tuple[list[str], list[str], list[list[tuple[int, int]]] | None]:
    """Sources, references, and where they are known the links between their words."""
    sources, references = (
        (folder / f"test.{language}").read_text("utf-8").split("\n")[:-1]
        for language in read_facts(folder)["languages"]
    )
    links = folder / _LINKS
    return sources, references, json.loads(links.read_text("utf-8")) if links.is_file() else None


def data_config(folder: Path, given: DataConfig) -> DataConfig:
    """The data settings of a training run; everything is cleaned and tokenized already."""
    default = DataConfig()
    unused = ("pairs", "swapped", "test_source", "test_target", "vocabulary", "tokenizer", "joint")
    settings: dict[str, Any] = {name: getattr(default, name) for name in unused}
    for side, language in zip(("source", "target"), read_facts(folder)["languages"], strict=True):
        settings[side] = (str(folder / f"train.{language}"),)
        settings[f"valid_{side}"] = (str(folder / f"valid.{language}"),)
        settings[f"{side}_language"] = language
    settings |= {"tokenizer_file": str(folder / TOKENIZER), "wrong_language": True}
    return dataclasses.replace(given, **settings)


def prepare(study: Study, name: str, folder: Path, data_folder: Path, say: Callable[[str], None]) -> None:
    """Prepare the text of one corpus, unless that was done before; files named data/… are in `data_folder`."""
    if (folder / _FACTS).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    config, recipe = study.corpora[name]
    data = recipe.with_files(data_folder).data
    languages = (data.source_language or "source", data.target_language or "target")
    parts = _read_parts(config, data, say)
    if config.links:
        path = find_file(config.links, data_folder) if config.links.startswith(f"{DATA}/") else config.links
        links = Path(path).read_bytes()
        if len(json.loads(links)) != len(parts["test"]):
            raise DataError(
                f"links must be one list for each of the {len(parts['test'])} test sentences: {path} has others"
            )
        write_file(folder / _LINKS, links)
    for part, corpus in parts.items():
        for language, lines in zip(languages, (corpus.sources, corpus.targets), strict=True):
            content = "".join(f"{line}\n" for line in lines)
            write_file(folder / f"{part}.{language}", content.encode())
    train = parts["train"]
    tokenizer = Tokenizer.train(
        [*train.sources, *train.targets],
        vocabulary=data.vocabulary or default_vocabulary(len(train)),
        kind=data.tokenizer,
        exact=data.vocabulary is not None,
    )
    tokenizer.save(folder / TOKENIZER)
    facts = {"languages": languages, "vocabulary": tokenizer.vocab_size}
    facts |= {part: len(corpus) for part, corpus in parts.items()}
    facts["longest_train"] = max(len(line.split()) for line in train.sources)
    write_file(folder / _FACTS, json.dumps(facts, indent=1).encode())


def _read_parts(config: CorpusConfig, data: DataConfig, say: Callable[[str], None]) -> dict[str, Corpus]:
    if not (data.source or data.pairs):
        script = (
            "those of older recipes with [generated] are made by  python recipes/text/number_phrases.py data/generated"
        )
        raise UsageError(f"a corpus needs files: got none; name source and target, or pairs ({script})")
    corpus = read_pairs(data.source, data.target, data.pairs, swapped=data.swapped)
    if (longest := config.longest_train) is not None:
        corpus = _select(corpus, (i for i, s in enumerate(corpus.sources) if len(s.split()) <= longest))
    if config.max_pairs is not None and len(corpus) > config.max_pairs:
        rows = random.Random(1).sample(range(len(corpus)), config.max_pairs)
        corpus = _select(corpus, sorted(rows))
    corpus, report = clean(corpus, dataclasses.replace(data, wrong_language=True))
    say(str(report))
    valid = read_pairs(data.valid_source, data.valid_target, strict=True)
    test = read_pairs(data.test_source, data.test_target, strict=True)
    if not len(test) or not len(valid):
        raise DataError(
            "a comparison scores a test set and validates on another: got none; "
            "name valid_source, valid_target, test_source and test_target"
        )
    if config.max_test is not None and len(test) > config.max_test:
        test = _select(test, (i * len(test) // config.max_test for i in range(config.max_test)))
    return {"train": corpus, "valid": valid, "test": test}


def _select(corpus: Corpus, rows: Iterable[int]) -> Corpus:
    chosen = list(rows)
    return Corpus([corpus.sources[i] for i in chosen], [corpus.targets[i] for i in chosen])
