"""Any text comes back from its tokens; sampled segmentations follow their law and their seed."""

import io
import json
import random
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import ModelError, UsageError
from regard.text.imported_tokenizers import VocabularyTokenizer
from regard.text.tokenizer import Tokenizer, default_vocabulary
from regard.text.words import Spellings

WORDS = "the cat sat on a mat while seven small dogs were running around unfinished houses".split()

SYLLABLES = ["ka", "tom", "mi", "ret", "su", "nal"]


def sentences(count: int) -> list[str]:
    generator = random.Random(count)
    made = ["".join(generator.choices(SYLLABLES, k=generator.randrange(1, 4))) for _ in range(97)]
    words = WORDS + made
    return [" ".join(generator.choices(words, k=generator.randrange(3, 11))) for _ in range(count)]


BPE = Tokenizer.train(sentences(301), vocabulary=331, kind="bpe")
UNIGRAM = Tokenizer.train(sentences(301), vocabulary=331, kind="unigram", exact=False)


@pytest.fixture(scope="module", params=[BPE, UNIGRAM], ids=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return request.param


ODD = "\u2581|\U000f2581|\U000f25810| |  |\t|\n|\0|\ufeff|<s>|</s>|<pad>|<unk>|<0x41>|\U0001f468\u200d\U0001f469|e\u0301|\u202e"
HARD = st.lists(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(ODD.split("|")), st.sampled_from(WORDS)),
    max_size=13,
).map("".join)


@settings(max_examples=200)
@given(st.lists(HARD, min_size=10, max_size=10))
def test_any_text_comes_back_and_no_special_id_comes_out(texts: list[str]) -> None:
    """2,000 texts, ten at a time."""
    for tokenizer in (BPE, UNIGRAM):
        for text in texts:
            ids = tokenizer.encode(text)
            assert tokenizer.decode(ids) == text
            assert not tokenizer.special_ids & set(ids)
            assert all(0 <= id < tokenizer.vocab_size for id in ids)


@settings(max_examples=60)
@given(HARD, st.integers(0, 2**40))
def test_a_sampled_segmentation_is_of_the_same_text(text: str, seed: int) -> None:
    for tokenizer in (BPE, UNIGRAM):
        ids = tokenizer.sample([text], 0.3, seed).lists()[0]
        assert tokenizer.decode(ids) == text
        assert not tokenizer.special_ids & set(ids)
    assert BPE.sample([text], 0.0, seed).lists() == [BPE.encode(text)]


def test_batches_special_ids_and_another_programs_tokens(tokenizer: Tokenizer) -> None:
    texts = ["", *sentences(17)]
    assert tokenizer.encode_batch(texts, num_threads=3) == [tokenizer.encode(t) for t in texts]
    several = [[], *map(tokenizer.encode, texts), [2, *tokenizer.encode("a \u2581"), 3]]
    assert tokenizer.decode_batch(several) == [tokenizer.decode(ids) for ids in several]
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode([2, *ids, 3, 0, 0]) == "the cat"
    assert "".join(tokenizer.token_strings(ids)) == "\u2581the\u2581cat"
    alone = tokenizer.encode("houses")
    assert tokenizer.encode("houses cat houses")[-len(alone) :] == alone
    tokens = [each for each in tokenizer.token_strings(range(tokenizer.vocab_size)) if not each.startswith("<0x")]
    listed = ["</s>", "<unk>", ">>fra<<", "\u2581猫", "猫", *tokens[4:]]
    words = json.dumps({each: 2 * id for id, each in enumerate(listed)})  # ids need not be without gaps
    other = VocabularyTokenizer(tokenizer.proto, words.encode(), name="x", prompt="")
    texts = ["", "the cat", ">>fra<< the cat", "a 猫 here", *sentences(9)]
    assert other.encode_batch(texts) == [other.encode(text) for text in texts]
    several = [[], [0, 2], *map(other.encode, texts)]
    assert other.decode_batch(several) == [other.decode(ids) for ids in several]
    assert all(token[0].isalnum() for token in other.token_strings(Spellings(other).inside))


def test_sampling_repeats_with_the_seed_whatever_ran_before(tokenizer: Tokenizer) -> None:
    texts = sentences(23)
    first = tokenizer.sample(texts, 0.2, seed=5).lists()
    tokenizer.encode_batch(texts, num_threads=2)
    tokenizer.sample(texts[:7], 0.2, seed=11).lists()
    assert tokenizer.sample(texts, 0.2, seed=5).lists() == first
    assert tokenizer.sample(texts, 0.2, seed=6).lists() != first


def test_a_very_long_word_among_short_ones_takes_little_memory(tokenizer: Tokenizer) -> None:
    texts = [*sentences(4001), "tomka" * 401]
    tracemalloc.start()
    try:
        sampled = tokenizer.sample(texts, 0.1, seed=5).lists()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [tokenizer.decode(ids) for ids in sampled] == texts
    assert peak < 300 * 2**20


def test_draws_are_as_frequent_as_asked() -> None:
    # All segmentations of a short word, weighted by hand, against how often each was drawn.
    alpha, word, draws = 0.2, "tomka", 20_000
    scores = {UNIGRAM.token_strings([id])[0]: UNIGRAM._processor.get_score(id) for id in range(260, UNIGRAM.vocab_size)}
    marked, ways = "\u2581" + word, {}
    for cuts in range(2 ** (len(marked) - 1)):
        pieces, start = [], 0
        for place in range(1, len(marked) + 1):
            if place == len(marked) or cuts >> (place - 1) & 1:
                pieces.append(marked[start:place])
                start = place
        if all(piece in scores for piece in pieces):
            ways[tuple(pieces)] = 2.718281828459045 ** (alpha * sum(scores[p] for p in pieces))
    drawn = Counter(tuple(UNIGRAM.token_strings(ids)) for ids in UNIGRAM.sample([word] * draws, alpha, 3).lists())
    assert set(drawn) <= set(ways) and len(ways) > 2
    for pieces, weight in ways.items():
        assert drawn[pieces] / draws == pytest.approx(weight / sum(ways.values()), abs=0.02)
    draws, alpha = 20_000, 0.5
    ids = BPE.sample(["a"] * draws, alpha, 13).lists()
    assert BPE.token_strings(BPE.encode("a")) == ["\u2581a"]
    assert sum(len(row) == 2 for row in ids) / draws == pytest.approx(alpha, abs=0.02)


def test_training_repeats_with_the_seed() -> None:
    def train(seed: int, **options: Any) -> bytes:
        return Tokenizer.train(iter(sentences(301)), vocabulary=311, seed=seed, **options).proto

    assert train(1, max_sentences=47) == train(1, max_sentences=47) != train(2, max_sentences=47)
    assert train(1, kind="unigram", exact=False) == train(1, kind="unigram", exact=False)


def test_save_and_load_are_the_same_bytes_and_a_wrong_file_is_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "new" / "tokens.model")
    loaded = Tokenizer.load(tmp_path / "new" / "tokens.model")
    loaded.save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == tokenizer.proto
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["tokens.model"]
    path = tmp_path / "tokens.model"
    for content in (None, b"", BPE.proto[:1000], b"no model\n" * 99):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ModelError, match=r"tokens\.model must be a"):
            Tokenizer.load(path)
    other = io.BytesIO()
    options = dict(model_writer=other, vocab_size=31, minloglevel=2)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences(101)), **options)
    with pytest.raises(ModelError, match="trained by regard"):
        Tokenizer(other.getvalue())


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_an_impossible_vocabulary_and_rare_signs(kind: str) -> None:
    text = sentences(29)
    with pytest.raises(UsageError, match="vocabulary must be at most .* got 8000"):
        Tokenizer.train(text, vocabulary=8000, kind=kind)
    with pytest.raises(UsageError, match="at least .* got 100"):
        Tokenizer.train(text, vocabulary=100, kind=kind)
    assert 260 < Tokenizer.train(text, vocabulary=8000, kind=kind, exact=False).vocab_size < 8000
    assert Tokenizer.train(text, vocabulary=100, kind=kind, exact=False).vocab_size > 260
    rare = "It costs 5 £ or $ 7, \u20ac & \u00ab \u00c9tat \u00bb; ~ \u4e2d"
    tokenizer = Tokenizer.train([*sentences(2003), rare, 'é"#='], vocabulary=500, kind=kind, exact=False)
    for sign in '£$\u20ac&\u00ab\u00bb\u00c9;~é"#=':
        assert tokenizer.id_of(sign) is not None, sign
    assert tokenizer.id_of("\u4e2d") is None and tokenizer.id_of("@") is None
    assert tokenizer.decode(tokenizer.encode(rare)) == rare


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("text", [["\u4e2d\u6587\t\u2585\0"], ["x" * 30_000, "y z"]])
def test_the_default_never_fails_on_little_text(kind: Any, text: list[str]) -> None:
    size = default_vocabulary(len(text))
    tokenizer = Tokenizer.train(text, vocabulary=size, kind=kind, exact=False)
    assert tokenizer.decode(tokenizer.encode(text[0])) == text[0]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_sign_stands_for_no_text_and_leaves_the_tokens_around_it(kind: Any) -> None:
    text = sentences(211)
    tokenizer = Tokenizer.train(text, vocabulary=700, kind=kind, exact=False, signs=["[MASK]"])
    sign = tokenizer.id_of("[MASK]")
    assert sign is not None and sign in tokenizer.special_ids
    ids = tokenizer.encode("ka [MASK] tomi")
    assert sign not in ids and tokenizer.decode([sign, *ids, sign]) == "ka [MASK] tomi"
    assert sign not in tokenizer.sample(["ka [MASK] tomi"], 0.3, 5).lists()[0]
    tried = 0
    for sentence in text[:23]:
        ids = tokenizer.encode(sentence)
        words = sentence.split(" ")
        for place, word in enumerate(words[:-1]):
            if len(tokenizer.encode(word)) > 1:
                continue
            parts = [" ".join([*words[:place], ""]), " ".join(["", *words[place + 1 :]])]
            before = len(tokenizer.encode(" ".join(words[:place])))
            expected = [*ids[:before], sign, *ids[before + 1 :]]
            assert tokenizer.encode_around(parts, sign) == expected
            tried += 1
    assert tried > 10
