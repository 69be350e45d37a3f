"""Tables that start from word vectors: which rows, how large, and whether they stay."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from train_fixtures import QUICK, SHAPE, checkpoint_of, run

from regard.config import DataConfig, sized
from regard.errors import DataError, UsageError
from regard.model.transformer import Translating, build
from regard.text.tokenizer import Tokenizer
from regard.train.network import start_from_vectors, whole_words

TEXT = ["un deux trois Quatre", "one two three four", "deux un", "two one"] * 9
WIDTH = 6


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXT, vocabulary=320, exact=False)


def network(tokenizer: Tokenizer) -> Translating:
    vocabulary = dict(source_vocab_size=tokenizer.vocab_size, target_vocab_size=tokenizer.vocab_size)
    model = build(sized("tiny", d_model=WIDTH, d_ff=7, num_heads=1, **vocabulary))
    assert isinstance(model, Translating)
    return model


def write(path: Path, **vectors: list[float]) -> str:
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in vectors.items()))
    return str(path)


def start(model: Translating, tokenizer: Tokenizer, *files: str) -> str:
    said: list[str] = []
    start_from_vectors(model, (tokenizer, tokenizer), files, say=said.append)
    return "\n".join(said)


def test_rows_of_known_words_and_no_others(tmp_path: Path, tokenizer: Tokenizer) -> None:
    model = network(tokenizer)
    before = model.source.embedding.weight.detach().clone()
    file = write(tmp_path / "v", un=[3, 0, 0, 0, 0, 0], deux=[0, 5, 0, 0, 0, 0], xyz=[9.0] * 6)
    said = start(model, tokenizer, file)
    ids = {word: id for id, word in whole_words(tokenizer).items()}
    after = model.source.embedding.weight.detach()
    # Of lengths 3 and 5 the mean is 4, which becomes 1, the length of a fresh row.
    assert after[ids["un"]].tolist() == [0.75, 0, 0, 0, 0, 0]
    assert after[ids["deux"]].tolist() == [0, 1.25, 0, 0, 0, 0]
    changed = (after != before).any(dim=1).nonzero().flatten().tolist()
    assert changed == sorted([ids["un"], ids["deux"]])
    assert model.output.weight is model.source.embedding.weight is model.target.embedding.weight
    assert said == f"word vectors for 2 of the {len(ids)} whole words among the source tokens"
    with pytest.raises(DataError, match="must have vectors of words in the vocabulary"):
        start(network(tokenizer), tokenizer, write(tmp_path / "v", xyz=[1.0] * 6))
    with pytest.raises(UsageError, match="as wide as d_model=6: those of w have 4 numbers"):
        start(network(tokenizer), tokenizer, write(tmp_path / "w", un=[1.0] * 4))


def test_in_a_run_rows_are_tuned(corpus: DataConfig, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    words = ["un", "deux", "trois", "one", "two"]
    vectors = {word: rng.normal(size=SHAPE["d_model"]).tolist() for word in words}
    data = dataclasses.replace(corpus, embeddings=(write(tmp_path / "v", **vectors),))
    settings = dataclasses.replace(QUICK, steps=6, validate_every=3)
    result = run(data, tmp_path / "run", settings)
    ids = {w: i for i, w in whole_words(Tokenizer.load(result.folder / "tokenizer.model")).items()}
    known = {word: vector for word, vector in vectors.items() if word in ids}
    assert known
    table = checkpoint_of(tmp_path / "run", 6)["weights.source.embedding.weight"]
    size = np.mean([np.linalg.norm(vector) for vector in known.values()])
    apart = max(np.abs(table[ids[word]].numpy() - np.array(vector) / size).max() for word, vector in known.items())
    assert 1e-6 < apart < 0.5
