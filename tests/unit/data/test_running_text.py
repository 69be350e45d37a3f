"""Running text from files to batches: nothing lost, nothing twice, the same again; and BERT's blanks."""

import gzip
import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from batch_fixtures import epoch, same, sequences

from regard.data.batches import MASK, Batch, Masking, make_batch, num_asked
from regard.data.running_text import RunningTextStream, TextChunks, encode_documents, read_running_text
from regard.errors import DataError, ModelError, TrainingError, UsageError
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

SIZES = [1, 2, 11, 12, 13, 97, 250, 5]
TEXT = ["ka tomi re sunal", "bi dorando ya"]
TOKENIZER = Tokenizer.train(TEXT, vocabulary=300, exact=False, signs=[MASK])
SPECIAL = np.array(sorted(TOKENIZER.special_ids))
ORDINARY = [id for id in range(TOKENIZER.vocab_size) if id not in TOKENIZER.special_ids]
MASKING = Masking(TOKENIZER)


def test_documents_end_at_empty_lines_and_unusable_ones_are_named(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_text("\n# One\nka\r\n\n \t\n# Two\ntomi")
    second.write_bytes(gzip.compress(b"re\nbi\n"))
    text = read_running_text([first, second])
    assert text.documents == [["# One", "ka"], ["# Two", "tomi"], ["re", "bi"]]
    assert len(text) == 3 and text.num_lines == 6
    assert text.num_characters == len("# One\nka\n# Two\ntomi\nre\nbi\n")
    assert read_running_text([second], each_line=True).documents == [["re"], ["bi"]]
    file = tmp_path / "a.txt"
    file.write_bytes(b"ka\n\xff\xfe!\nre\n")
    text = read_running_text([file])
    assert text.documents == [["ka", "re"]]
    assert text.report.num_lines == 3 and text.report.named == [f"{file}:2: not UTF-8"]
    with pytest.raises(DataError, match=r"a\.txt:2: .* not UTF-8; mend it"):
        read_running_text([file], strict=True, advice="mend it")
    file.write_text("\n\n  \n")
    with pytest.raises(DataError, match="a line that is not empty: got none from .*a.txt"):
        read_running_text([file])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_document_has_the_tokens_of_its_whole_text(kind: str) -> None:
    draw = random.Random(5)
    words = ["ka", "tomi", "re", "sunal", "bi", "dorando", "été", "—"]
    lines = [" ".join(draw.choices(words, k=draw.randint(1, 13))) for _ in range(211)]
    tokenizer = Tokenizer.train(lines, vocabulary=400, kind=kind, exact=False)
    documents = [lines[:7], lines[7:8], ["  two spaces", " at the beginning", "\tand a tab"]]
    encoded = encode_documents(tokenizer, documents).lists()
    assert encoded == [tokenizer.encode("\n".join(document)) for document in documents]


def documents(sizes: list[int] = SIZES) -> Ragged:
    """Every token of the text differs, so that none can be counted for another."""
    ends = np.cumsum([0, *sizes])
    return Ragged.of([list(range(a + 10, b + 10)) for a, b in zip(ends, ends[1:], strict=False)])


def words() -> Ragged:
    """Tokens of the vocabulary, none special."""
    rng = np.random.default_rng(2)
    return Ragged.of([rng.choice(ORDINARY, size).tolist() for size in SIZES])


def stream(masked: bool = False, packing: bool = True, **changes: object) -> RunningTextStream:
    chunks = TextChunks.of(words(), 12, MASKING) if masked else TextChunks.of(documents(), 12, None)
    values = dict(batch_tokens=73, seed=3) | changes
    return RunningTextStream(chunks, packing=packing, **values)  # type: ignore[arg-type]


def rows(batches: list[Batch]) -> list[tuple[list[int], list[int]]]:
    """Input and output of each real sequence."""
    return [row for batch in batches for _, *row in sequences(batch)]  # type: ignore[misc]


def expected_steps() -> list[tuple[int, int]]:
    steps = []
    for ids in documents().lists():
        whole = [BOS_ID, *ids, EOS_ID]
        steps += list(zip(whole, whole[1:], strict=False))
    return sorted(steps)


@pytest.mark.parametrize("packing", [True, False])
def test_an_epoch_asks_for_every_token_once_after_the_one_before_it(packing: bool) -> None:
    for number in range(2):
        found = rows(epoch(stream(packing=packing), number))
        steps = [step for i, o in found for step in zip(i, o, strict=True)]
        assert sorted(steps) == expected_steps()
        assert max(len(i) for i, _ in found) == 12
        assert all(i[1:] == o[:-1] for i, o in found)
        assert all(BOS_ID not in i[1:] and EOS_ID not in o[:-1] for i, o in found)


@pytest.mark.parametrize(("masked", "packing"), [(False, True), (True, False)])
def test_a_stream_goes_on_exactly_where_it_stood(masked: bool, packing: bool) -> None:
    whole = list(islice(stream(masked, packing), 40))
    cut = stream(masked, packing)
    list(islice(cut, 17))
    again = stream(masked, packing)
    again.restore(cut.state())
    assert all(map(same, whole[17:], islice(again, 23)))


def test_what_cannot_be_is_refused() -> None:
    other = TextChunks.of(documents([*SIZES[:-1], 6]), 12, None)
    with pytest.raises(TrainingError, match="they have changed"):
        RunningTextStream(other, batch_tokens=73, packing=True, seed=3).restore(stream().state())
    with pytest.raises(UsageError, match="room for a row of 12 tokens: got 11"):
        stream(batch_tokens=11, packing=False)
    with pytest.raises(UsageError, match="max_length must be at least 2"):
        TextChunks.of(documents(), 1, None)
    with pytest.raises(ModelError, match=r"must have the token \[MASK\]"):
        Masking(Tokenizer.train(TEXT, vocabulary=300, exact=False))


def test_to_fill_in_blanks_texts_are_read_whole_and_in_validation_alike() -> None:
    found = [row for number in range(9) for row in rows(epoch(stream(masked=True), number))]
    assert all(i[-1] == EOS_ID and BOS_ID not in i and EOS_ID not in i[:-1] for i, _ in found)
    assert max(len(i) for i, _ in found) == 12
    assert sum(len(i) - 1 for i, _ in found) == 9 * sum(SIZES)
    chunks = TextChunks.of(words(), 12, MASKING)
    first, second = (chunks.even_batches(60, 7) for _ in range(2))
    assert sum(len(i) - 1 for i, _ in rows(first)) == sum(SIZES)
    assert all(map(same, first, second))
    plain = TextChunks.of(documents(), 12, None).even_batches(60, 7)
    steps = [step for i, o in rows(plain) for step in zip(i, o, strict=True)]
    assert sorted(steps) == expected_steps()


def batch_of(num_rows: int, length: int, seed: int = 1) -> Batch:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, length, num_rows)
    target = Ragged.of([[EOS_ID, *rng.choice(ORDINARY, n), EOS_ID] for n in lengths])
    return make_batch(Ragged.of([()] * num_rows), target, np.arange(num_rows))


def test_what_is_asked_for_and_what_stands_there() -> None:
    batch = batch_of(199, 307)
    text = batch.target_output
    masked = MASKING(batch, [5, 2])
    asked = masked.target_output != PAD_ID
    count = int(asked.sum())
    assert count == round(0.15 * int((~np.isin(text, SPECIAL)).sum()))
    assert not np.isin(text[asked], SPECIAL).any()
    assert np.array_equal(masked.target_output[asked], text[asked])
    assert np.array_equal(masked.target_input[~asked], text[~asked])
    given, mask_id = masked.target_input[asked], TOKENIZER.id_of(MASK)
    hidden, kept = (given == mask_id).mean(), (given == text[asked]).mean()
    four_sigma = 4 * np.sqrt(0.25 / count)
    assert abs(hidden - 0.8) < four_sigma and abs(kept - 0.1) < four_sigma
    replaced = given[(given != mask_id) & (given != text[asked])]
    assert not np.isin(replaced, SPECIAL).any()
    assert len(np.unique(replaced)) > 0.6 * len(ORDINARY)
    assert not same(MASKING(batch, [5, 3]), masked), "every batch draws anew"


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_no_batch_asks_for_more_than_its_places_allow(share: float) -> None:
    for size in range(3, 40):
        batch = batch_of(1, size)
        asked = Masking(TOKENIZER, share)(batch, [7, size]).target_output != PAD_ID
        assert asked.sum() <= num_asked(share, batch.target_output.size)
