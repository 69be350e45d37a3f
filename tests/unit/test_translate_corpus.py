"""A corpus block by block: the lines of a file, each once and in order, however it is cut and wherever work stopped."""

import gzip
import lzma
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli_fixtures import assert_one_sentence, run
from fixtures import make_model_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api import load
from regard.errors import UsageError
from regard.translate.corpus import Block, Execute, Job, Translate


def shout(texts: list[str], number: int) -> list[str]:
    return [f"{text.upper()}!" for text in texts]


def shouting(job: Job, blocks: list[Block]) -> Iterator[int]:
    for block in blocks:
        yield block.translate(shout, job.side)


def executing_with(translate: Translate) -> Execute:
    return lambda job, blocks: (block.translate(translate, job.side) for block in blocks)


def silent(text: str) -> None:
    assert text


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0")))


@settings(max_examples=60)
@given(LINES, st.integers(1, 41), st.booleans())
def test_lines_in_are_lines_out(tmp_path_factory, lines, block_bytes, ends):
    folder = tmp_path_factory.mktemp("job")
    lines = ["first", *lines, "last"]
    text = "\n".join(lines) + "\n" * ends
    (folder / "text").write_bytes(text.encode())
    job = Job((str(folder / "text"),), str(folder / "out"), "model", block_bytes=block_bytes)
    assert job.run(shouting, silent) == len(lines)
    written = (folder / "out" / "text").read_bytes().decode()
    assert written == "".join(f"{line.upper()}!\n" for line in lines)
    assert {path.name for path in (folder / "out").iterdir()} == {"text", "job.json"}
    assert job.run(shouting, silent) == 0, "there is nothing left to do"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    text = tmp_path / "text.fr"
    text.write_text("".join(f"ligne {number}\n" for number in range(97)))
    return Job((str(text),), str(tmp_path / "out"), "model", block_bytes=101)


def test_work_that_was_stopped_goes_on_with_what_is_left(job: Job) -> None:
    done: list[str] = []

    def stopping(job: Job, blocks: list[Block]) -> Iterator[int]:
        for number, block in enumerate(blocks):
            if number == 3:
                raise KeyboardInterrupt
            done.append(block.output)
            yield block.translate(shout)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            job.run(stopping, silent)
    said: list[str] = []
    job.run(lambda _, blocks: (done.append(b.output) or b.translate(shout) for b in blocks), said.append)
    assert len(done) == len(set(done)), "no block was done twice"
    assert any("6 of" in line and "already" in line for line in said)
    written = (Path(job.output) / "text.fr").read_text().splitlines()
    assert written == [f"LIGNE {number}!" for number in range(97)]


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_packed_files_are_unpacked_for_the_time_being(job: Job, suffix: str, opener) -> None:
    packed = Path(job.inputs[0] + suffix)
    with opener(packed, "wb") as file:
        file.write(Path(job.inputs[0]).read_bytes())
    replace(job, inputs=(str(packed),)).run(shouting, silent)
    assert len((Path(job.output) / "text.fr").read_text().splitlines()) == 97
    assert {path.name for path in Path(job.output).iterdir()} == {"text.fr", "job.json"}


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        (1, "un\tUN\ntrois\tTROIS\tnews\t\r\n\t\nune\u2028 fin\tUNE\u2028 FIN\n"),
        (2, "ONE\tone\nTHREE\tthree\tnews\t\r\nFOUR\tfour\n\t\n"),
    ],
)
def test_of_pairs_one_side_is_translated_in_the_place_of_the_other(job: Job, side: int, expected: str) -> None:
    text = "\ufeffun\tone\ntrois\tthree\tnews\t\r\n\tfour\nune\u2028 fin\t\n"
    Path(job.inputs[0]).write_bytes(text.encode())
    executing = executing_with(lambda texts, _: [text.upper() for text in texts])
    assert replace(job, side=side, block_bytes=7).run(executing, silent) == 4
    assert (Path(job.output) / "text.fr").read_bytes().decode() == expected
    assert {path.name for path in Path(job.output).iterdir()} == {"text.fr", "job.json"}
    # A translation with a tab stays in its column.
    Path(job.inputs[0]).write_text("un\tone\tx\n")
    again = replace(job, side=side, output=f"{job.output}-again")
    again.run(executing_with(lambda *_: ["a\tb\r\nc\nd"]), silent)
    columns = ("un", "a b c d", "x") if side == 1 else ("a b c d", "one", "x")
    assert (Path(again.output) / "text.fr").read_bytes().decode() == "\t".join(columns) + "\n"


@pytest.mark.parametrize("side", [1, 2])
def test_a_line_that_is_no_pair_is_named_and_gets_an_empty_one(job: Job, side: int) -> None:
    Path(job.inputs[0]).write_bytes(b"un\tUN\ndeux\r\n\ntr\xe9s\tTRES\nun\tUN\n")
    said: list[str] = []
    executing = executing_with(lambda texts, _: texts)
    assert replace(job, side=side).run(executing, said.append) == 5
    pair = b"un\tun" if side == 1 else b"UN\tUN"
    assert (Path(job.output) / "text.fr").read_bytes() == pair + b"\n\r\n\n\n" + pair + b"\n"
    named = (Path(job.output) / "text.fr.unusable").read_text()
    assert named.replace(job.inputs[0], "text").splitlines() == [
        "text: the line at byte 6: no tab between source and target",
        "text: the line at byte 12: no tab between source and target",
        "text: the line at byte 13: not UTF-8",
    ]
    assert "cannot be used got an empty line" in said[-1]


@pytest.mark.parametrize("side", [1, 2])
def test_the_command_writes_pairs(tmp_path: Path, side: int) -> None:
    def lines(texts: list[str], others: list[str]) -> str:
        columns = (texts, others) if side == 1 else (others, texts)
        return "".join(f"{one}\t{two}\tnews\n" for one, two in zip(*columns, strict=True))

    model = make_model_folder(tmp_path / "fr-en")
    file, output = tmp_path / "pairs.tsv", tmp_path / "out"
    texts = ["Le chat. Bonjour", "Jane dort."]
    file.write_text(lines(texts, ["The cat. Hello", "Jane sleeps."]))
    command = ["translate-corpus", file, "--whole", "-m", model, "-o", output, "--side"]
    assert run(*command, 3).exit_code == 2 and not output.exists()
    result = run(*command, side)
    assert result.exit_code == 0, result.stderr
    expected = lines(texts, load(model).translate(texts, split=False))
    assert (output / "pairs.tsv").read_text() == expected
    refused = run(*command, 3 - side)
    assert_one_sentence(refused, 2)
    assert f"holds a job with side {side}: got {3 - side}; go on" in refused.stderr


def test_what_cannot_be_gone_on_with_is_refused(job: Job, tmp_path: Path) -> None:
    job.run(shouting, silent)
    with pytest.raises(UsageError, match="holds a job with block_bytes 101: got 103; go on"):
        replace(job, block_bytes=103).run(shouting, silent)
    replace(job, opening={"threads": 3}).run(shouting, silent)
    Path(job.inputs[0]).write_text("un\n")
    with pytest.raises(UsageError, match="holds a job with inputs"):
        job.run(shouting, silent)
    with pytest.raises(UsageError, match="must be a new or empty folder"):
        replace(job, output=str(tmp_path)).run(shouting, silent)
    with pytest.raises(UsageError, match="must be a file: .*absent is not one"):
        replace(job, inputs=(str(tmp_path / "absent"),)).run(shouting, silent)
    with pytest.raises(UsageError, match=r"different names.*got text\.fr"):
        replace(job, inputs=job.inputs * 2).run(shouting, silent)
