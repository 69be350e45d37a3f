"""The text of a comparison, made ready once: the same sentences and the same pieces for every model.

text/NAME/   train, valid and test, one file a language, and tokenizer.model
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.compare import generated
from regard.compare.study import GENERATED, CorpusConfig, Study
from regard.config import DataConfig, from_dict
from regard.data.clean import clean
from regard.data.corpus import Corpus, read_pairs
from regard.errors import DataError
from regard.files import write_file
from regard.text.tokenizer import Tokenizer, default_vocabulary
from regard.train.recipe import Recipe

TOKENIZER = "tokenizer.model"
ABOUT = "about.json"
"""written last: where it is, the text is complete"""


@dataclass(frozen=True)
class Text:
    """Where the prepared text of a corpus is."""

    folder: Path
    languages: tuple[str, str]

    def data(self, given: dict[str, Any]) -> DataConfig:
        """What a training run is told; everything is cleaned and cut already."""
        source, target = self.languages
        values = {
            "source": str(self.folder / f"train.{source}"),
            "target": str(self.folder / f"train.{target}"),
            "valid_source": str(self.folder / f"valid.{source}"),
            "valid_target": str(self.folder / f"valid.{target}"),
            "tokenizer_file": str(self.folder / TOKENIZER),
            "source_language": source,
            "target_language": target,
            "wrong_language": True,
        }
        kept = {k: v for k, v in given.items() if k not in ("vocabulary", "tokenizer", "joint")}
        return from_dict(DataConfig, {**kept, **values}, "the comparison's text")

    @property
    def about(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / ABOUT).read_text("utf-8"))
        return found

    def test(self) -> tuple[list[str], list[str], list[list[tuple[int, int]]] | None]:
        """Sources, references, and where they are known the links between their words."""
        sources, references = (
            (self.folder / f"test.{language}").read_text("utf-8").split("\n")[:-1]
            for language in self.languages
        )
        links = self.folder / generated.LINKS
        known = json.loads(links.read_text("utf-8")) if links.is_file() else None
        return sources, references, known


def prepare(study: Study, name: str, folder: Path, say: Callable[[str], None]) -> Text:
    """The text of one corpus, made ready unless it is there already."""
    if (folder / ABOUT).is_file():
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        return Text(folder, tuple(about["languages"]))
    folder.mkdir(parents=True, exist_ok=True)
    if name == GENERATED:
        assert study.generated is not None
        data = Recipe({"data": study.values.get("data", {})}).data
        text, about = _generated(study.generated, folder)
    else:
        config, recipe = study.corpora[name]
        data = recipe.data
        text, about = _from_files(config, recipe, folder, say)
    train = _lines(folder / f"train.{text.languages[0]}")
    both = train + _lines(folder / f"train.{text.languages[1]}")
    tokenizer = Tokenizer.train(
        both,
        vocabulary=data.vocabulary or default_vocabulary(len(train)),
        kind=data.tokenizer,
        path=folder / TOKENIZER,
        exact=data.vocabulary is not None,
    )
    about |= {"languages": text.languages, "pieces": tokenizer.vocab_size}
    for part in ("train", "valid", "test"):
        about[part] = len(_lines(folder / f"{part}.{text.languages[0]}"))
    about["longest_train"] = max(len(line.split()) for line in train)
    write_file(folder / ABOUT, json.dumps(about, indent=1).encode())
    return text


def _generated(wanted: generated.Generated, folder: Path) -> tuple[Text, dict[str, Any]]:
    generated.write(generated.generate(wanted), folder)
    return Text(folder, ("fr", "en")), {"seed": wanted.seed}


def _from_files(
    config: CorpusConfig, recipe: Recipe, folder: Path, say: Callable[[str], None]
) -> tuple[Text, dict[str, Any]]:
    data = recipe.data
    languages = (data.source_language or "source", data.target_language or "target")
    corpus = read_pairs(data.source, data.target, data.pairs, swapped=data.swapped)
    if config.longest_train is not None:
        corpus = _chosen(
            corpus,
            [i for i, s in enumerate(corpus.sources) if len(s.split()) <= config.longest_train],
        )
    if config.max_pairs is not None and len(corpus) > config.max_pairs:
        order = sorted(random.Random(1).sample(range(len(corpus)), config.max_pairs))
        corpus = _chosen(corpus, order)
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
        test = _chosen(test, [i * len(test) // config.max_test for i in range(config.max_test)])
    for part, pairs in (("train", corpus), ("valid", valid), ("test", test)):
        for language, lines in zip(languages, (pairs.sources, pairs.targets), strict=True):
            content = "".join(f"{line}\n" for line in lines)
            write_file(folder / f"{part}.{language}", content.encode())
    return Text(folder, languages), {}


def _chosen(corpus: Corpus, rows: Sequence[int]) -> Corpus:
    return Corpus([corpus.sources[i] for i in rows], [corpus.targets[i] for i in rows])


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]
