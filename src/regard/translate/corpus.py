"""A corpus of any size, translated block by block, here or on a Ray cluster; every finished block is a file.

A block is some hundred kilobytes of whole lines of an input. What has no file yet is left to do, so stopped work goes on,
and blocks may be done in any order. When all blocks of an input are done they are joined to one file.

    out/job.json               what was asked for
        news.fr                the translation of news.fr, or of news.fr.xz
        web.fr.blocks/         00000000, 00000001 ...: blocks of an unfinished input
        web.fr.unpacked        a compressed input, unpacked so that it can be read from its middle
        web.fr.unusable        positions of lines that are not text or not a pair; their translation is an empty line

On a cluster Ray starts the processes, gives each the next block, and restarts one that has died with its block. The inputs,
the output and the model must have the same paths on every machine.
"""

import gc
import json
import logging
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from regard.data.corpus import NO_TAB
from regard.data.lines import decode, on_one_line, open_bytes
from regard.errors import UsageError, how_to_install
from regard.files import write_file, writing

JOB, BLOCKS, UNPACKED, UNUSABLE = "job.json", ".blocks", ".unpacked", ".unusable"
BLOCK_BYTES = 1 << 19
LOCAL = "local"  # address of a new cluster on this machine alone
_MARK = b"\xef\xbb\xbf"

Translate = Callable[[list[str], int], list[str]]  # texts and a number for sampling to translations
Load = Callable[..., Any]  # `regard.load`: opens a model folder
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
        for place, line in self._lines():
            text, problem = decode(line.removesuffix(b"\r"))
            if side and not problem and "\t" not in text:
                text, problem = "", NO_TAB
            if problem:
                name = self.path.removesuffix(UNPACKED)
                unusable.append(f"{name}: the line at byte {place}: {problem}\n")
            lines.append((text, "\r\n" if line.endswith(b"\r") else "\n"))
        columns = [text.split("\t") if side and text else [text] for text, _ in lines]
        which = (side or 1) - 1
        texts = translate([each[min(which, len(each) - 1)] for each in columns], self.start)
        written = ""
        for new, each, (_, end) in zip(texts, columns, lines, strict=True):
            new = on_one_line(new)
            if len(each) > 1:  # a model can write a tab as well
                each[1 - which] = new.replace("\t", " ")
                new = "\t".join(each)
            written += new + end
        if unusable:
            write_file(Path(self.output + UNUSABLE), "".join(unusable).encode())
        write_file(Path(self.output), written.encode())
        return len(lines)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that begin there, and where each begins."""
        with open(self.path, "rb") as file:
            if self.start:
                # The line that holds the byte before is the block's before.
                file.seek(self.start - 1)
                file.readline()
            while (place := file.tell()) < self.stop and (line := file.readline()):
                line = line.removesuffix(b"\n")
                yield place, line.removeprefix(_MARK) if place == 0 else line


@dataclass(frozen=True)
class Job:
    """What is to be translated, with what, and where to."""

    inputs: tuple[str, ...]
    output: str
    model: str  # the folder
    opening: Mapping[str, Any] = field(default_factory=dict)  # options of `regard.load`
    options: Mapping[str, Any] = field(default_factory=dict)  # options of the translation
    block_bytes: int = BLOCK_BYTES
    side: int | None = None  # column of pairs to translate, 1 or 2; None where a line is one text

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
            # The many objects of a block have no cycles: looking for some takes a fifth of the time.
            gc.disable()
            try:
                return model.translate(texts, number=number, **self.options)
            finally:
                gc.enable()

        return translate

    def _outputs(self) -> dict[Path, Path]:
        found: dict[Path, Path] = {}
        for path in map(Path, self.inputs):
            if not path.is_file():
                raise UsageError(f"an input must be a file: {path} is not one; check its name")
            plain = path.name.removesuffix(".gz").removesuffix(".xz")
            output = Path(self.output) / plain
            if output in found.values() or plain == JOB:
                raise UsageError(
                    f"inputs must have different names, which their translations get: got {plain} "
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
            raise UsageError(f"--output must be a new or empty folder: {folder} holds files; name another")
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / JOB, json.dumps(wanted, indent=1).encode())

    def _blocks(self, path: Path, output: Path) -> Iterator[Block]:
        folder = output.with_name(output.name + BLOCKS)
        folder.mkdir(exist_ok=True)
        if path.suffix in (".gz", ".xz"):
            packed, path = path, output.with_name(output.name + UNPACKED)
            if not path.exists():
                with open_bytes(packed) as file:
                    _write([file], path)
        size = path.stat().st_size
        for number, start in enumerate(range(0, size, self.block_bytes)):
            stop = min(start + self.block_bytes, size)
            yield Block(str(path), start, stop, str(folder / f"{number:08d}"))


def _join(blocks: list[Block], output: Path, say: Callable[[str], None]) -> None:
    """One file of all blocks, and what was wrong; then they are no longer needed."""
    unusable = [path for block in blocks if (path := Path(block.output + UNUSABLE)).exists()]
    if unusable:
        final = output.with_name(output.name + UNUSABLE)
        _write((path.open("rb") for path in unusable), final)
        say(f"lines that cannot be used got an empty line: {final} says where")
    _write((open(block.output, "rb") for block in blocks), output)
    shutil.rmtree(output.with_name(output.name + BLOCKS))
    output.with_name(output.name + UNPACKED).unlink(missing_ok=True)


def _write(sources: Iterable[Any], path: Path) -> None:
    """Write open files one after another; the result is complete or absent."""
    with writing(path) as file:
        for source in sources:
            with source:
                shutil.copyfileobj(source, file, 1 << 20)


def in_this_process(load: Load) -> Execute:
    """Translate blocks one after another in this process."""

    def execute(job: Job, blocks: list[Block]) -> Iterator[int]:
        if blocks:
            translate = job.translate(load)
            for block in blocks:
                yield block.translate(translate, job.side)

    return execute


def on_ray(load: Load, address: str, num_workers: int | None = None) -> Execute:
    """Translate blocks on a cluster: `local`, `auto` for the one this machine is in, or an address.

    num_workers: number of processes; by default one for each core of the cluster, or for each GPU if the model uses them.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise UsageError(f"--ray needs the package ray, which is not installed: {how_to_install('ray')}") from error

    def execute(job: Job, blocks: list[Block]) -> Iterator[int]:
        if not blocks:
            return
        _connect(ray, address, num_workers)
        ray.data.DataContext.get_current().enable_progress_bars = False
        unit = "GPU" if str(job.opening.get("device", "")).startswith("cuda") else "CPU"
        most = num_workers or int(ray.cluster_resources().get(unit, 1))
        rows = ray.data.from_items([asdict(block) for block in blocks], override_num_blocks=len(blocks))
        done = rows.map(
            cast("Any", _Worker),
            compute=ray.data.ActorPoolStrategy(size=min(most, len(blocks))),
            fn_constructor_args=(asdict(job), load),
            num_cpus=0 if unit == "GPU" else 1,
            num_gpus=1 if unit == "GPU" else None,
        )
        for row in done.iter_rows():
            yield int(row["num_lines"])

    return execute


def _connect(ray: Any, address: str, num_workers: int | None) -> None:
    if ray.is_initialized():
        return
    # No usage statistics, and no messages that are not for the user.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if address == LOCAL:
        options |= {"include_dashboard": False, "num_cpus": num_workers}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray.init(None if address == LOCAL else address, **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UsageError(
                f"--ray must be local, auto or the address of a cluster: got {address!r} "
                f"({str(error).splitlines()[0]}); start one with  ray start --head"
            ) from error


class _Worker:
    """A process of the cluster, which holds the model."""

    def __init__(self, job: dict[str, Any], load: Load) -> None:
        self._job = Job(**job)
        self._translate = self._job.translate(load)

    def __call__(self, row: dict[str, Any]) -> dict[str, int]:
        return {"num_lines": Block(**row).translate(self._translate, self._job.side)}
