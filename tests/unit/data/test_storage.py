"""Numbers and texts in files: what was added is what is read, whichever part of it is asked for."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import DataConfig
from regard.data import cleaning, storage
from regard.data.corpus import read_pairs
from regard.data.storage import Column, StoredTexts, stored_rows, take_texts


def test_numbers_are_read_as_they_were_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_UNWRITTEN_BYTES", 40)  # some are written, some pending
    numbers = Column(tmp_path / "numbers", np.int32, new=True)
    for start in range(0, 37, 7):
        numbers.extend(np.arange(start, min(start + 7, 37)))
    assert len(numbers) == 37
    assert numbers.slice(3, 11).tolist() == list(range(3, 11))
    assert numbers.take(np.array([36, 0, 5, 5])).tolist() == [36, 0, 5, 5]
    assert [len(chunk) for _, chunk in numbers.chunks(17)] == [17, 17, 3]
    numbers.put(np.array([2, 19]), -1)
    again = Column(tmp_path / "numbers", np.int32)
    assert len(again) == 37 and again.take(np.array([1, 2, 19])).tolist() == [1, -1, -1]
    assert len(Column(tmp_path / "numbers", np.int32, new=True).map()) == 0, "a new one replaces the file"


TEXTS = st.lists(st.text(st.characters(exclude_characters="\n")), max_size=23)


@settings(max_examples=50)
@given(TEXTS, TEXTS)
def test_texts_are_read_as_they_were_added(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("texts")
    texts, more = (StoredTexts(folder / name, new=True) for name in ("first", "second"))
    texts.extend(first)
    more.extend(second)
    texts.extend(more)
    both = first + second
    assert len(texts) == len(both) and list(texts) == both
    assert texts[1::2] == both[1::2]
    if both:
        assert texts[-1] == both[-1] and texts[0] == both[0]
    texts.flush()
    assert list(StoredTexts(folder / "first")) == both
    rows = Column(folder / "rows", np.int64, new=True)
    rows.extend(np.arange(len(both))[::3])
    chosen = texts.select(rows)
    assert list(chosen) == both[::3]
    places = np.arange(len(both[::3]))[::-1]
    assert take_texts(chosen, places) == both[::3][::-1] == take_texts(both[::3], places)
    assert stored_rows(chosen, 0, len(chosen)).tolist() == list(range(len(both)))[::3]
    assert stored_rows(both, 1, 3).tolist() == [1, 2]


def test_memory_does_not_grow_with_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "CHUNK", 101)
    monkeypatch.setattr(storage, "_UNWRITTEN_TEXTS", 53)
    # What is held of any text at once must be full with the smaller one already.
    monkeypatch.setattr(storage, "_UNWRITTEN_BYTES", 1024)
    for name, amount in (("_PAIRS_TO_COMPARE", 211), ("_MAX_RATIOS", 307)):
        monkeypatch.setattr(cleaning, name, amount)
    peaks = []
    for times in (4, 16):
        table, folder = tmp_path / f"{times}.tsv", tmp_path / str(times)
        lines = (f"une ligne numéro {n} du texte\ta line number {n} of it\n" for n in range(1009))
        table.write_text("".join(lines))
        folder.mkdir()
        tracemalloc.start()
        try:
            corpus = read_pairs(pairs=[table] * times, folder=folder)
            cleaned, _ = cleaning.clean(corpus, DataConfig(wrong_language=True), folder)
            assert sum(1 for _ in cleaned.sources) == times * 1009
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
