"""Worker processes that read text and build batches while the parent trains.

They talk over pipes. Unlike `multiprocessing` this neither imports the caller's main script again nor pickles anything.
A worker ends when its pipe closes, so it never outlives the parent.

A message is the length of a JSON header (8 bytes), the header, and the arrays that it names.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import TrainingError
from regard.text.ragged import Ragged

SIDES = ("source", "target")

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Message = tuple[Header, Arrays]


def write_message(file: IO[bytes], message: Message) -> None:
    header, arrays = message
    described = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    encoded = json.dumps({"header": header, "arrays": described}).encode()
    file.write(len(encoded).to_bytes(8, "little") + encoded)
    for array in arrays.values():
        file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    file.flush()


def read_message(file: IO[bytes]) -> Message:
    content = json.loads(_read(file, int.from_bytes(_read(file, 8), "little")))
    arrays: Arrays = {}
    for name, kind, shape in content["arrays"]:
        dtype = np.dtype(kind)
        data = _read(file, dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
        arrays[name] = np.frombuffer(data, dtype).reshape(shape)
    return content["header"], arrays


def _read(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


class Workers(contextlib.AbstractContextManager["Workers"]):
    """Processes that run `main` of a module, one for each of `firsts`: its first message. Then it answers messages."""

    def __init__(self, module: str, firsts: Sequence[Message]) -> None:
        self.num_workers = len(firsts)
        self._children: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(len(firsts), "regard-worker")
        children = [_start(module) for _ in firsts]
        self._finalizer = weakref.finalize(self, _stop, children)
        for child, first in zip(children, firsts, strict=True):
            assert child.stdin is not None
            write_message(child.stdin, first)
            self._children.put(child)

    def submit(self, prepare: Callable[[], Message]) -> Future[Message]:
        """The answer to a message; `prepare`, too, runs in a thread of its own."""
        return self._threads.submit(self._ask, prepare)

    def _ask(self, prepare: Callable[[], Message]) -> Message:
        child = self._children.get()
        assert child.stdin is not None and child.stdout is not None
        try:
            write_message(child.stdin, prepare())
            return read_message(child.stdout)
        except (EOFError, OSError, ValueError) as error:
            raise TrainingError(
                "the processes that prepare text must stay alive: one has ended; "
                "if memory ran out, train with fewer of them"
            ) from error
        finally:
            self._children.put(child)

    def in_order(self, messages: Iterable[Message]) -> Iterator[Message]:
        """The answers to many messages in their order; few are in memory at a time."""
        waiting: deque[Future[Message]] = deque()
        for message in messages:
            waiting.append(self.submit(partial(_same, message)))
            if len(waiting) > self.num_workers + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._finalizer()


def _same(message: Message) -> Message:
    return message


def _start(module: str) -> subprocess.Popen[bytes]:
    # Workers multiply no matrices: without this each would start a thread per core.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-c", f"from {module} import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )


def _stop(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.kill()
    for child in children:
        child.wait()
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError, ValueError):
                pipe.close()


def serve(begin: Callable[[Message], Callable[[Message], Message]]) -> None:
    """In a worker: `begin` gets the first message and returns what answers the others, until the pipe closes."""
    # Ctrl-C reaches the whole process group; the parent decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, BrokenPipeError):
        answer = begin(read_message(sys.stdin.buffer))
        while True:
            write_message(answers, answer(read_message(sys.stdin.buffer)))


def tokens_to_arrays(source: Ragged, target: Ragged) -> Arrays:
    return {
        "source_ids": source.ids,
        "source_offsets": source.offsets,
        "target_ids": target.ids,
        "target_offsets": target.offsets,
    }


def tokens_from_arrays(arrays: Arrays) -> tuple[Ragged, Ragged]:
    source, target = (Ragged(arrays[f"{side}_ids"], arrays[f"{side}_offsets"]) for side in SIDES)
    return source, target


def texts_to_arrays(sources: Sequence[str], targets: Sequence[str]) -> Arrays:
    arrays: Arrays = {}
    for side, texts in zip(SIDES, (sources, targets), strict=True):
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        arrays[f"{side}_bytes"] = np.frombuffer(b"".join(encoded), np.uint8)
        arrays[f"{side}_lengths"] = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return arrays


def texts_from_arrays(arrays: Arrays) -> tuple[list[str], list[str]]:
    sources, targets = (_texts(arrays[f"{s}_bytes"], arrays[f"{s}_lengths"]) for s in SIDES)
    return sources, targets


def _texts(data: NDArray[np.uint8], lengths: NDArray[np.int64]) -> list[str]:
    joined, ends = data.tobytes(), np.cumsum(lengths).tolist()
    return [
        joined[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip([0, *ends], ends, strict=False)
    ]
