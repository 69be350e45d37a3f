"""The order of a corpus: each pair once an epoch, whatever the window; and lanes that many processes share."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from batch_fixtures import BOTH, same, stream, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import DataConfig
from regard.data import cleaning, encoding
from regard.data.batch_stream import Lanes, PairStream
from regard.data.corpus import read_pairs
from regard.data.encoding import Order


@settings(max_examples=20)
@given(st.integers(1, 1009), st.integers(1, 211), st.integers(3, 89))
def test_each_pair_comes_once_an_epoch(num_pairs: int, window: int, step: int) -> None:
    order = Order(num_pairs, 3, window)
    bounds = [*range(0, num_pairs, step * 7), num_pairs]
    found = np.concatenate([order.rows(2, *part) for part in zip(bounds, bounds[1:], strict=False)])
    assert sorted(found.tolist()) == list(range(num_pairs))
    again = Order(num_pairs, 3, window)
    middle = num_pairs // 2
    assert again.rows(2, middle, num_pairs).tolist() == found[middle:].tolist()


def test_a_larger_one_is_mixed_far_beyond_its_neighbours() -> None:
    found = Order(100_003, 5, 10_007).rows(0, 0, 100_003)
    away = np.abs(np.diff(found))
    assert np.median(away) > 10_007, "pairs that follow one another stood further apart than a window"
    first = found[:10_007]
    assert len(np.unique(first // 10_007)) == 10, "and a window holds blocks from everywhere"


@pytest.mark.parametrize(("sampling", "num_workers"), [(0.0, 0), (0.2, 2)])
def test_lanes_are_the_same_on_any_number_of_processes(sampling: float, num_workers: int) -> None:
    corpus, changes = texts(701), dict(sampling=sampling, batch_tokens=251, shuffle_window=97)
    whole = stream(corpus, **changes, lanes=Lanes(4))
    expected = list(islice(whole, 4 * 29))
    assert all(expected)
    for size in (2, 5):
        position: dict[str, object] = {"lanes": {}}
        for rank in range(size):
            with stream(corpus, **changes, lanes=Lanes(4, rank, size), num_workers=num_workers) as own:
                found = list(islice(own, 4 * 29))
                position = {
                    "lanes": {**position["lanes"], **own.state()["lanes"]},  # type: ignore[dict-item]
                    "fingerprint": own.state()["fingerprint"],
                }
            for number, (batch, other) in enumerate(zip(found, expected, strict=True)):
                if number % 4 in Lanes(4, rank, size).own:
                    assert batch is not None and other is not None and same(batch, other)
                else:
                    assert batch is None
        assert position == whole.state()
    again = stream(corpus, **changes, lanes=Lanes(4))
    again.restore(json.loads(json.dumps(whole.state())))
    for batch, other in zip(islice(again, 53), islice(whole, 53), strict=True):
        assert batch is not None and other is not None and same(batch, other)


def test_tokens_are_made_once_and_by_several_processes_the_same(tmp_path, monkeypatch):
    corpus = texts(307)
    corpus.sources[7] += " bi" * 97
    made = dict(batch_tokens=251, packing=True, max_length=97, folder=tmp_path)
    first = PairStream(corpus, BOTH, **made)  # type: ignore[arg-type]
    monkeypatch.setattr(encoding.EncodedPairs, "_encode_all", None)
    again = PairStream(corpus, BOTH, **made)  # type: ignore[arg-type]
    assert again.num_too_long == first.num_too_long == 1
    assert all(map(same, islice(first, 41), islice(again, 41)))
    again.restore(first.state())
    monkeypatch.undo()
    other = PairStream(corpus, BOTH, **{**made, "max_length": 89})  # type: ignore[arg-type]
    assert other.max_sequence_length == 90, "other settings make them anew"
    monkeypatch.setattr(encoding, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr("regard.data.storage.CHUNK", 101)
    corpus = texts(907)
    streams = [stream(corpus, num_readers=count) for count in (1, 2)]
    assert streams[0].state() == streams[1].state(), "texts and lengths have the same checksum"
    assert all(map(same, *(islice(each, 31) for each in streams)))


def test_a_corpus_in_files_is_cleaned_as_one_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.storage.CHUNK", 101)
    monkeypatch.setattr(cleaning, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(cleaning, "_PAIRS_TO_COMPARE", 211)
    french = "Les députés ont voté la résolution numéro {} après un long débat hier à Strasbourg."
    english = "The members adopted resolution number {} after a long debate yesterday evening."
    lines = [f"{french.format(n)}\t{english.format(n)}" for n in range(1009)]
    lines[5:5] = lines[3:11] + ["\tempty", f"{english.format('x')}\t{english.format('y')}"]
    lines += ["Il pleut." * 3 + "\tIt rains. " + "really " * 31, f"{english}\t{english}", "no tab"]
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{line}\n" for line in lines))
    found = []
    for folder in (None, tmp_path / "text"):
        if folder is not None:
            folder.mkdir()
        corpus = read_pairs(pairs=[table, table], folder=folder)
        cleaned, report = cleaning.clean(corpus, DataConfig(), folder, num_processes=2)
        pairs = list(zip(cleaned.sources, cleaned.targets, strict=True))
        found.append((pairs, str(report), str(corpus.report)))
    assert found[0] == found[1]
    assert "duplicate 16" in found[0][1] and "wrong language 2" in found[0][1]
