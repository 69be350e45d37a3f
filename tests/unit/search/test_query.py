"""A query finds what is nearest or holds its words; the words shown to match are those with the numbers."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_fixtures import run

from regard.errors import UsageError
from regard.search.encoder import TextEncoder
from regard.search.index import Index, build, update
from regard.search.query import ENOUGH_WORDS, WEIGHT, WEIGHT_OF_SHORT, best, compare, find, nearest, search, words_in
from regard.search.results import SearchResult


@pytest.fixture
def found(reader: TextEncoder, texts: Path) -> SearchResult:
    return find(reader, "the cat sleeps", [texts], top=3)


def test_a_text_finds_itself_first(reader: TextEncoder, texts: Path) -> None:
    index = build(reader, [texts])
    for number, passage in enumerate(index.passages):
        first = search(reader, passage.text, index, top=1)[0]
        score = pytest.approx(1 + WEIGHT - shortness(passage.text), abs=1e-4)
        assert (first.text, first.line, first.score) == (passage.text, passage.line, score)
        assert first.file == index.path_of(number)


def shortness(text: str) -> float:
    return WEIGHT_OF_SHORT * max(0.0, 1 - len(set(words_in(text))) / ENOUGH_WORDS) ** 2


def test_scores_are_those_of_the_formula(reader: TextEncoder, found: SearchResult) -> None:
    def vector(text: str) -> np.ndarray:
        ids = [*reader.tokenizer.encode(text), reader.manifest.model.eos_id]
        mean = reader.encoder.vectors([ids])[0].astype(np.float64).mean(axis=0)
        return mean / np.sqrt((mean**2).sum())

    assert len(found) == 3 and found.num_passages == 5
    for hit in found:
        share = {"The cat sleeps.": 1.0}.get(hit.text, 0.0)
        score = vector("the cat sleeps") @ vector(hit.text) + WEIGHT * share**2
        score -= shortness(hit.text)
        assert hit.score == pytest.approx(score, abs=1e-4)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


@pytest.mark.parametrize("count", [1, 97])
def test_the_nearest_are_exactly_the_nearest(count: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("regard.search.query.ROWS_AT_ONCE", 7)
    draw = np.random.default_rng(3)
    vectors = draw.integers(-2, 3, (41, 5)).astype(np.float32)  # with many equal scores
    vectors.tofile(tmp_path / "vectors")
    queries = draw.integers(-2, 3, (3, 5)).astype(np.float32)
    mapped = np.memmap(tmp_path / "vectors", "<f4", "r", shape=vectors.shape)
    for query in queries:
        rows, scores = nearest(query, mapped, count)
        every = vectors @ query
        expected = sorted(range(41), key=lambda row: (-every[row], row))[:count]
        assert rows.tolist() == expected
        np.testing.assert_array_equal(scores, every[expected])


def test_words_have_the_mean_of_their_tokens_and_the_page_the_real_numbers(reader: TextEncoder, tmp_path: Path) -> None:
    query, passage = "Jane visits!", "Jane, visits Africa."
    [comparison] = compare(reader, query, [passage])
    assert comparison.query_words == ["Jane", "visits"]
    assert comparison.words == ["Jane", "visits", "Africa"]
    ids = reader.tokenizer.encode(passage)
    vectors = reader.encoder.vectors([[*ids, reader.manifest.model.eos_id]])[0]
    spans = reader.tokenizer.spans_in(passage)
    inside = [i for i, (start, end) in enumerate(spans) if start < 12 and end > 6 and start < end]
    mean = vectors[inside].mean(axis=0)
    jane = reader.encoder.vectors([[*reader.tokenizer.encode(query), reader.manifest.model.eos_id]])
    spans = reader.tokenizer.spans_in(query)
    other = jane[0][[i for i, (start, end) in enumerate(spans) if start < 4 and end > 0]].mean(axis=0)
    cosine = mean @ other / np.linalg.norm(mean) / np.linalg.norm(other)
    assert comparison.similarity[0, 1] == pytest.approx(float(cosine), abs=1e-5)
    text = tmp_path / "<b>.txt"
    text.write_text("The cat <script>alert(1)</script> sleeps.")
    found = find(reader, "<i>cat</i> sleeps", [text])
    page = found._repr_html_()
    assert not re.search("<(script|b|i|link|img)[ >]", page)
    values = found[0].comparison.similarity.ravel().tolist()
    assert re.findall(r"<td[^>]*>(-?\d\.\d\d)<", page) == [f"{value:.2f}" for value in values]


def test_matches_are_the_nearest_words_that_stand_out(found: SearchResult) -> None:
    for hit in found:
        similarity = hit.comparison.similarity
        for match in hit.matches:
            assert hit.text[match.start : match.end] == match.word
            column = hit.comparison.spans.index((match.start, match.end))
            row = int(similarity[:, column].argmax())
            assert hit.comparison.query_words[row] == match.query_word
            assert similarity[row, column] == similarity[row].max()
            assert match.similarity == pytest.approx(float(similarity[row, column]), abs=1e-4)
    itself = found.hits[0]
    assert itself.text == "The cat sleeps." and "sleeps" in [m.word for m in itself.matches]


def test_what_cannot_be_asked_and_an_index_of_another_model(reader: TextEncoder, texts: Path, tmp_path: Path) -> None:
    for query, message in {"  ": "must have words", "cat " * 99: "at most 66 tokens"}.items():
        with pytest.raises(UsageError, match=message):
            find(reader, query, [texts])
    with pytest.raises(UsageError, match="top must be at least 1"):
        find(reader, "a", [texts], top=0)
    index = build(reader, [texts])
    other = Index(index.entries, index.passages, index.vectors, "of another model")
    with pytest.raises(UsageError, match="the model that made it"):
        search(reader, "cat", other)
    with pytest.raises(UsageError, match="must be an index"):
        find(reader, "cat", folder=tmp_path / "none")
    with pytest.raises(UsageError, match="needs files"):
        find(reader, "cat")
    update(tmp_path / "index", reader, [texts])
    assert len(find(reader, "cat", folder=tmp_path / "index", top=4)) == 4


def test_from_the_command_line(model_folder: Path, texts: Path, tmp_path: Path) -> None:
    (texts / "program").write_bytes(b"\0\0")
    index = ["--index", str(tmp_path / "index"), "--model", str(model_folder)]
    ran = run("search", "the cat sleeps", texts, "--top", 1, *index)
    assert ran.exit_code == 0, ran.output
    first, second = ran.stdout.splitlines()
    assert first.endswith("one.txt:1") and second.strip().replace("*", "") == "The cat sleeps."
    assert "left out" in ran.stderr and "program" in ran.stderr
    ran = run("search", "the cat sleeps", "--json", *index)
    answer = json.loads(ran.stdout)
    assert answer["num_passages"] == 5 and answer["hits"][0]["text"] == "The cat sleeps."
    page = tmp_path / "found.html"
    ran = run("search", "cat", "--html", page, *index)
    assert ran.exit_code == 0 and not ran.stdout and "<table>" in page.read_text()
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = run("search", "cat", empty, "--model", model_folder)
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert ran.stderr.startswith("regard: there is no text to search")
    ran = run("search", "cat", "--model", model_folder)
    assert ran.exit_code == 2 and "needs files" in ran.stderr


NUM_PASSAGES = 41
REST = " and enough of words that nobody looks for, ten in all"
"""of a passage that is not short"""


@pytest.fixture
def vectors() -> np.ndarray:
    """Whole numbers, so that many scores are equal and sums are exact."""
    return np.random.default_rng(3).integers(-2, 3, (NUM_PASSAGES, 5)).astype(np.float32)


@pytest.mark.parametrize(("query", "count"), [("samedi", 7), ("?!", 97)])
def test_without_a_common_word_the_order_is_that_of_the_vectors(vectors: np.ndarray, query: str, count: int) -> None:
    rows, scores = best(query, vectors[2], vectors, lambda row: f"Cuisine {row}, samedis?!{REST}", count)
    expected, cosines = nearest(vectors[2], vectors, count)
    assert rows == expected.tolist() and scores == cosines.tolist()


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [("école", "L'ECOLE est fermée.", 1.0), ("the cat", "A cat!", 3 / 6), ("snake_case", "a snake", 5 / 9)],
)
def test_the_share_counts_letters_of_whole_words(query: str, text: str, share: float) -> None:
    zero = np.zeros((1, 3), np.float32)
    assert best(query, zero[0], zero, lambda row: text + REST, 1) == ([0], [pytest.approx(WEIGHT * share**2)])
