"""How well and how fast search finds, beside BM25 and sentence vectors that come from PyPI.

    python benchmarks/search_quality.py [--model NAME …] [--data FOLDER] [--most N] [--save]

Sets: `written` is search_set.tsv beside this script, 60 passages in French and English with a query each, in the
same language or the other; `among lines` the same passages among those of search_lines.txt, a word or a few each, of which
none answers. `pages` is search_pages: four pages of headings, paragraphs and tables, cut as a search cuts
them, and queries with words of the passage that answers. With --data five more are made of held-out text, which stays where it is:

    everyday, news   a sentence looks for its translation (fr-en/tatoeba-dev.*, fr-en/newstest2013.*)
    stories          a sentence looks for the rest of its paragraph (stories/test.txt)
    words            two to six words of such a paragraph look for it, as training makes queries
    one word         a word that stands in one French sentence alone looks for it (fr-en/tatoeba-dev.fr)

regard is asked as a search asks it: what is not among the nearest passages, whose words are looked at, comes after
them. BM25 is bm25s, with words in small letters and no accents. wordllama is asked where it is installed: of the
packages that were looked into it alone brings its weights along; model2vec, fastembed and sentence-transformers
fetch theirs from a hub. Equal scores count in the order of the passages. The ratios are those of the model that is
named last. Everything runs on one thread and is timed by the processor's clock, on which other work on the machine
does not count; a query's time holds reading and ranking it, alone.

Needs the extra regard[bench] and, if wanted,  pip install wordllama.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from record import Row, save

from regard.data.lines import read_lines
from regard.folder.catalogue import find, find_by_task
from regard.search.encoder import TextEncoder
from regard.search.passages import read_passages
from regard.search.query import NUM_NEAREST, best, words_in
from regard.text.sentences import split
from regard.translate.evaluate import retrieval

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "recipes" / "text"))


class Set(NamedTuple):
    name: str
    passages: list[str]
    queries: list[str]
    answers: list[int]
    """the number of each query's passage"""


class System(Protocol):
    name: str

    def index(self, passages: list[str]) -> None: ...

    def scores(self, query: str) -> np.ndarray:
        """Of every passage."""


class Regard:
    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.reader = f"regard {name}", TextEncoder.open(folder, threads=1)

    def index(self, passages: list[str]) -> None:
        self.texts = [self._fitting(text) for text in passages]
        self.vectors = self.reader.vectors(self.texts)

    def _fitting(self, text: str) -> str:
        """A file's passages are cut when they are read; these are what they are."""
        while self.reader.count(text) > self.reader.longest:
            text = text[: len(text) * 3 // 4]
        return text

    def scores(self, query: str) -> np.ndarray:
        query = self._fitting(query)
        [vector] = self.reader.vectors([query])
        rows, scores = best(query, vector, self.vectors, self.texts.__getitem__, NUM_NEAREST)
        every = np.full(len(self.texts), -np.inf)
        every[rows] = scores
        return every


class BM25:
    name = "BM25 (bm25s)"

    def index(self, passages: list[str]) -> None:
        import bm25s

        self._found: Any = bm25s.BM25()
        # Its own token for a text without words is one that its scores have no room for.
        self._found.index([_words(text) for text in passages], create_empty_token=False, show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        return np.asarray(self._found.get_scores(_words(query)))


class WordLlama:
    name = "wordllama 256"

    def __init__(self) -> None:
        import wordllama

        # It brings its tokenizer along but looks for it under another name, and then on the web.
        with tempfile.TemporaryDirectory() as cache:
            shutil.copytree(Path(wordllama.__file__).parent / "tokenizers", Path(cache, "tokenizers"))
            self.model: Any = wordllama.WordLlama.load(cache_dir=Path(cache), disable_download=True)

    def index(self, passages: list[str]) -> None:
        self.vectors = self.model.embed(passages, norm=True)

    def scores(self, query: str) -> np.ndarray:
        return self.vectors @ self.model.embed([query], norm=True)[0]


PEERS = {BM25.name: "bm25", WordLlama.name: "wordllama"}


def _words(text: str) -> list[str]:
    return words_in(text) or [""]


def written() -> Iterator[Set]:
    """The whole set, and its parts by language: all passages, the queries of one kind."""
    rows = [line.split("\t") for line in read_lines(HERE / "search_set.tsv")]
    passages = [row[1] for row in rows]
    kinds: dict[str, Callable[[list[str]], bool]] = {
        "written": lambda row: True,
        "written en": lambda row: row[0] == row[2] == "en",
        "written fr": lambda row: row[0] == row[2] == "fr",
        "written across": lambda row: row[0] != row[2],
    }
    for name, belongs in kinds.items():
        places = [place for place, row in enumerate(rows) if belongs(row)]
        yield Set(name, passages, [rows[place][3] for place in places], places)
    others = list(read_lines(HERE / "search_lines.txt"))
    yield Set("among lines", passages + others, [row[3] for row in rows], list(range(len(rows))))


def pages() -> Set:
    """A query's answer is the first passage that holds some words; how long a passage may be is the same for all."""
    folder = HERE / "search_pages"
    passages = [
        passage.text
        for path in sorted(folder.glob("*.md"))
        for passage in read_passages(path.read_bytes(), ".md", lambda text: len(text.split()), 100)
    ]
    rows = [line.split("\t") for line in read_lines(folder / "queries.tsv")]
    answers = [next(place for place, text in enumerate(passages) if words in text) for _, words in rows]
    return Set("pages", passages, [query for query, _ in rows], answers)


def held_out(folder: Path, most: int) -> Iterator[Set]:
    draw = random.Random(3)
    french_of: dict[str, list[str]] = {}
    for name, file in (("everyday", "tatoeba-dev"), ("news", "newstest2013")):
        french, english = (read_lines(folder / "fr-en" / f"{file}.{code}") for code in ("fr", "en"))
        pairs = list({en: (fr, en) for fr, en in zip(french, english, strict=True)}.values())
        pairs = draw.sample(pairs, min(most, len(pairs)))
        numbers = list(range(len(pairs)))
        sides = [list(side) for side in zip(*pairs, strict=True)]
        french_of[name] = sides[0]
        yield Set(f"{name} fr-en", sides[1], sides[0], numbers)
        yield Set(f"{name} en-fr", sides[0], sides[1], numbers)
    [stories] = (folder / "stories").glob("test.txt*")
    lines = [line for line in read_lines(stories) if line.strip() and not line.startswith("#")]
    draw.shuffle(lines)
    passages, queries = [], []
    for line in lines:
        sentences = split(line, "en", len, 10_000).sentences
        if 3 <= len(sentences) <= 8 and len(line) < 600 and len(passages) < most:
            queries.append(sentences.pop(draw.randrange(len(sentences))))
            passages.append(" ".join(sentences))
    yield Set("stories", passages, queries, list(range(len(passages))))
    from search_pairs import keywords

    asked = {place: keywords(passage, draw) for place, passage in enumerate(passages)}
    asked = {place: query for place, query in asked.items() if query}
    yield Set("words", passages, list(asked.values()), list(asked))
    yield one_word(french_of["everyday"], draw)


def one_word(passages: list[str], draw: random.Random) -> Set:
    words = [set(words_in(passage)) for passage in passages]
    count = Counter(word for each in words for word in each)
    asked = {}
    for place, each in enumerate(words):
        if alone := sorted(word for word in each if count[word] == 1 and len(word) > 3):
            asked[place] = draw.choice(alone)
    return Set("one word", passages, list(asked.values()), list(asked))


def measure(system: System, given: Set) -> Row:
    started = time.process_time()
    system.index(given.passages)
    indexed = time.process_time()
    places = []
    for query, answer in zip(given.queries, given.answers, strict=True):
        scores = system.scores(query)
        better, equal = scores > scores[answer], scores[:answer] == scores[answer]
        places.append(1 + int(better.sum()) + int(equal.sum()))
    done = time.process_time()
    score = retrieval(places, name=given.name)
    return {
        "set": given.name,
        "system": system.name,
        "recall_1": round(score.recall_1, 1),
        "recall_10": round(score.recall_10, 1),
        "mrr": round(score.mrr, 1),
        "passages_a_second": round(len(given.passages) / (indexed - started)),
        "queries_a_second": round(len(given.queries) / (done - indexed)),
        "num_passages": len(given.passages),
        "num_queries": len(given.queries),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", action="append", help="name or folder; several times for several")
    parser.add_argument("--data", type=Path, help="a folder of held-out text")
    parser.add_argument("--most", type=int, default=1000, help="passages of a held-out set")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    logging.disable(logging.INFO)
    systems: list[System] = [BM25()]
    packages = ["bm25s"]
    if importlib.util.find_spec("wordllama"):
        systems.append(WordLlama())
        packages.append("wordllama")
    for name in arguments.model or [None]:
        folder = find(name) if name else find_by_task("search")
        systems.append(Regard(folder.name, folder))
    sets = [*written(), pages(), *(held_out(arguments.data, arguments.most) if arguments.data else ())]
    rows = [measure(system, given) for given in sets for system in systems]
    judged = {row["set"]: row["mrr"] for row in rows if row["system"] == systems[-1].name}
    ratios = {}
    for row in rows:
        if peer := PEERS.get(row["system"]):
            name = row["set"].replace(" ", "_").replace("-", "_")
            ratios[f"search_{name}_mrr_vs_{peer}"] = round(judged[row["set"]] / row["mrr"], 3)
    print(f"{'set':16} {'system':28} {'recall@1':>8} {'@10':>6} {'MRR':>6} {'passages/s':>11} {'queries/s':>10}")
    for row in rows:
        print(
            f"{row['set']:16} {row['system']:28} {row['recall_1']:8.1f} {row['recall_10']:6.1f} "
            f"{row['mrr']:6.1f} {row['passages_a_second']:11,} {row['queries_a_second']:10,}"
        )
    for name, ratio in ratios.items():
        print(f"{name:48} {ratio:8.2f}")
    if arguments.save:
        print(save("search_quality", rows, ratios, *packages))


if __name__ == "__main__":
    main()
