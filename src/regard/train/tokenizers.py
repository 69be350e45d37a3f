"""The tokenizers of a run: learnt from its text, saved in its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path

from regard.config import DataConfig
from regard.data.batches import MASK
from regard.data.corpus import Corpus
from regard.data.running_text import RunningText
from regard.folder.manifest import TokenizerFiles
from regard.text.tokenizer import Tokenizer, default_vocabulary
from regard.train.corpora import num_pairs

TOKENIZERS = "tokenizers"
JOINT = TokenizerFiles()
SEPARATE = TokenizerFiles(source="source.model", target="target.model")
NUM_SAMPLED = 2000
"""Number of pairs or lines sampled to estimate the tokens of the corpus."""


def estimate_tokens(corpus: Corpus | RunningText, tokenizers: tuple[Tokenizer, Tokenizer]) -> int:
    """Tokens of the corpus, end tokens included, from an even sample."""

    def count(tokenizer: Tokenizer, texts: Sequence[str]) -> int:
        return sum(len(ids) + 1 for ids in tokenizer.encode_batch(texts))

    if isinstance(corpus, RunningText):
        stride = max(1, corpus.num_lines // NUM_SAMPLED)
        lines = list(islice(corpus.lines(), 0, None, stride))
        num_characters = sum(len(line) + 1 for line in lines)
        return round(count(tokenizers[1], lines) * corpus.num_characters / num_characters)
    stride = max(1, len(corpus) // NUM_SAMPLED)
    sources, targets = corpus.sources[::stride], corpus.targets[::stride]
    total = count(tokenizers[0], sources) + count(tokenizers[1], targets)
    return round(total * len(corpus) / len(sources))


def learn_tokenizers(
    data: DataConfig, corpus: Corpus | RunningText, folder: Path, seed: int, *, masked: bool = False
) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of both sides, saved in the folder; one tokenizer for both where they share a vocabulary."""

    def learn(texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.train(
            texts,
            vocabulary=data.vocabulary or default_vocabulary(num_pairs(corpus)),
            kind=data.tokenizer,
            seed=seed,
            exact=data.vocabulary is not None,
            signs=[MASK] if masked else [],
        )

    if data.tokenizer_file:
        source = target = Tokenizer.load(data.tokenizer_file)
    elif isinstance(corpus, RunningText):
        source = target = learn(corpus.lines())
    elif data.joint:
        pairs = zip(corpus.sources, corpus.targets, strict=True)
        source = target = learn(chain.from_iterable(pairs))
    else:
        source, target = learn(corpus.sources), learn(corpus.targets)
    save_tokenizers((source, target), folder)
    return source, target


def save_tokenizers(tokenizers: tuple[Tokenizer, Tokenizer], folder: Path) -> None:
    files = JOINT if tokenizers[0] is tokenizers[1] else SEPARATE
    tokenizers[0].save(folder / files.source)
    tokenizers[1].save(folder / files.target)


def load_tokenizers(folder: Path, files: TokenizerFiles) -> tuple[Tokenizer, Tokenizer]:
    source = Tokenizer.load(folder / files.source)
    return source, source if files.joint else Tokenizer.load(folder / files.target)
