"""A corpus of any size, translated block by block; every finished block is a file.

A block is some hundred kilobytes of whole lines of an input. What has no file yet is left to do, so stopped work goes on,
and blocks may be done in any order by this process or by a Ray cluster. When all blocks of an input are done they are
joined to one file.

    out/job.json               what was asked for
        news.fr                the translation of news.fr, or of news.fr.xz
        web.fr.blocks/         00000000, 00000001 ...: blocks of an unfinished input
        web.fr.unpacked        a compressed input, unpacked so that it can be read from its middle
        web.fr.unusable        positions of lines that are not text or not a pair; their translation is an empty line
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from regard.data.corpus import NO_TAB
from regard.data.lines import decode, on_one_line, open_bytes
from regard.errors import UsageError
from regard.files import write_file

JOB, BLOCKS, UNPACKED, UNUSABLE = "job.json", ".blocks", ".unpacked", ".unusable"
BLOCK_BYTES = 1 << 19
_MARK = b"\xef\xbb\xbf"

Translate = Callable[[list[str], int], list[str]]
"""texts and a number for sampling to translations"""
Load = Callable[..., Any]
"""`regard.load`: opens a model folder"""
Execute = Callable[["Job", list["Block"]], Iterable[int]]
"""translates blocks, and yields the number of lines of each when it is done"""


@dataclass(frozen=True)
class Block:
    """The lines of a file that begin between two byte positions."""

    path: str
    start: int
    stop: int
    output: str

    def translate(self, translate: Translate, side: int | None = None) -> int:
        """Write the translation; the number of lines.

        side: which column of pairs is translated, 1 or 2; the translation takes the place of the other.
        """
        lines, unusable = [], []
        for place, line in _lines(Path(self.path), self.start, self.stop):
            text, problem = decode(line.removesuffix(b"\r"))
            if side and not problem and "\t" not in text:
                text, problem = "", NO_TAB
            if problem:
                unusable.append(
                    f"{self.path.removesuffix(UNPACKED)}: the line at byte {place}: {problem}\n"
                )
            end = "\r\n" if line.endswith(b"\r") else "\n"
            lines.append((*_columns(text, side), end))
        texts = translate([text for text, *_ in lines], self.start)
        output = Path(self.output)
        if unusable:
            write_file(output.with_name(output.name + UNUSABLE), "".join(unusable).encode())
        write = on_one_line if side is None else _in_one_column
        written = (
            f"{before}{write(new)}{after}{end}"
            for new, (_, before, after, end) in zip(texts, lines, strict=True)
        )
        write_file(output, "".join(written).encode())
        return len(lines)


def _columns(line: str, side: int | None) -> tuple[str, str, str]:
    """The text to translate, and what stands before and after its translation."""
    if side is None or not line:
        return line, "", ""
    first, second, *others = line.split("\t")
    if side == 1:
        return first, f"{first}\t", "".join(f"\t{other}" for other in others)
    return second, "", "".join(f"\t{column}" for column in (second, *others))


def _in_one_column(text: str) -> str:
    """A model can write a tab as well."""
    return on_one_line(text).replace("\t", " ")


def _lines(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """The lines that begin there, and where each begins."""
    with path.open("rb") as file:
        if start:
            # The line that holds the byte before is the block's before.
            file.seek(start - 1)
            file.readline()
        while (place := file.tell()) < stop and (line := file.readline()):
            line = line.removesuffix(b"\n")
            yield place, line.removeprefix(_MARK) if place == 0 else line


@dataclass(frozen=True)
class Job:
    """What is to be translated, with what, and where to."""

    inputs: tuple[str, ...]
    output: str
    model: str
    """the folder"""
    opening: Mapping[str, Any] = field(default_factory=dict)
    """how `regard.load` is to open it"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """of the translation"""
    block_bytes: int = BLOCK_BYTES
    side: int | None = None
    """of pairs, which one to translate; without it a line is one text"""

    def run(self, execute: Execute, say: Callable[[str], None]) -> int:
        """Translate what is not there yet; the number of lines done now."""
        outputs = self._outputs()
        self._begin()
        num_lines = 0
        for path, output in outputs.items():
            if output.exists():
                say(f"{output} is there already")
                continue
            blocks = list(self._blocks(path, output))
            left = [block for block in blocks if not Path(block.output).exists()]
            done = len(blocks) - len(left)
            if done:
                say(f"{path}: {done:,} of {len(blocks):,} blocks are there already")
            for number, count in enumerate(execute(self, left), start=done + 1):
                num_lines += count
                say(f"{path}: {number:,} of {len(blocks):,} blocks")
            _join(blocks, output, say)
        return num_lines

    def translate(self, load: Load) -> Translate:
        """The model of the job, opened in this process."""
        model = load(self.model, **self.opening)

        def translate(texts: list[str], number: int) -> list[str]:
            return model.translate(texts, number=number, **self.options)

        return translate

    def _outputs(self) -> dict[Path, Path]:
        found: dict[Path, Path] = {}
        for name in self.inputs:
            path = Path(name)
            if not path.is_file():
                raise UsageError(f"an input must be a file: {path} is none; check its name")
            plain = path.name.removesuffix(".gz").removesuffix(".xz")
            output = Path(self.output) / plain
            if output in found.values() or plain == JOB:
                raise UsageError(
                    f"inputs must have different names, by which their translations are called: got {plain} "
                    "twice or reserved; rename one"
                )
            found[path] = output
        return found

    def _begin(self) -> None:
        """Refuse to go on with what was begun otherwise."""
        folder = Path(self.output)
        files = [[name, os.stat(name).st_size, os.stat(name).st_mtime_ns] for name in self.inputs]
        # How a model is opened does not change what it says.
        wanted = json.loads(json.dumps({**asdict(self), "inputs": files, "opening": None}))
        if (folder / JOB).exists():
            begun = json.loads((folder / JOB).read_bytes())
            for key, value in wanted.items():
                if begun.get(key) != value:
                    raise UsageError(
                        f"{folder} holds a job with {key} {begun.get(key)}: got {value}; go on with the same, or "
                        "name another folder"
                    )
            return
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(
                f"--output must be a new or empty folder: {folder} holds files; name another"
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / JOB, json.dumps(wanted, indent=1).encode())

    def _blocks(self, path: Path, output: Path) -> Iterator[Block]:
        folder = output.with_name(output.name + BLOCKS)
        folder.mkdir(exist_ok=True)
        path = _unpacked(path, output)
        size = path.stat().st_size
        for number, start in enumerate(range(0, size, self.block_bytes)):
            stop = min(start + self.block_bytes, size)
            yield Block(str(path), start, stop, str(folder / f"{number:08d}"))


def in_this_process(load: Load) -> Execute:
    """Translate blocks one after another in this process."""

    def execute(job: Job, blocks: list[Block]) -> Iterator[int]:
        if blocks:
            translate = job.translate(load)
            for block in blocks:
                yield block.translate(translate, job.side)

    return execute


def _unpacked(path: Path, output: Path) -> Path:
    if path.suffix not in (".gz", ".xz"):
        return path
    plain = output.with_name(output.name + UNPACKED)
    if not plain.exists():
        unfinished = plain.with_name(plain.name + ".unfinished")
        with open_bytes(path) as packed, unfinished.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
        os.replace(unfinished, plain)
    return plain


def _join(blocks: list[Block], output: Path, say: Callable[[str], None]) -> None:
    """One file of all blocks, and what was wrong; then they are no longer needed."""
    for suffix in (UNUSABLE, ""):
        parts = [Path(block.output + suffix) for block in blocks]
        if suffix and not any(part.exists() for part in parts):
            continue
        final = output.with_name(output.name + suffix)
        unfinished = final.with_name(final.name + ".unfinished")
        with unfinished.open("wb") as file:
            for part in parts:
                if not suffix or part.exists():
                    with part.open("rb") as block:
                        shutil.copyfileobj(block, file, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, final)
        if suffix:
            say(f"lines that cannot be used got an empty line: {final} says where")
    shutil.rmtree(output.with_name(output.name + BLOCKS))
    output.with_name(output.name + UNPACKED).unlink(missing_ok=True)
