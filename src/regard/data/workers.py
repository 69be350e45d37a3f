"""Worker processes that read text and build batches while the parent trains.

They talk over pipes. Unlike `multiprocessing` this neither imports the caller's main script again nor pickles anything.
A worker ends when its pipe closes, so it never outlives the parent.

A message is any JSON value with arrays inside: the length of the JSON (8 bytes), the JSON, and the numbers of the arrays.
"""

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
from typing import IO, Any

import numpy as np

from regard.errors import TrainingError

Answer = Callable[[Any], Any]
Worker = Callable[[Any], Answer]
"""gets the first message in the worker process, and returns the function that answers all others"""


def write_message(file: IO[bytes], message: Any) -> None:
    arrays: list[np.ndarray] = []

    def described(array: np.ndarray) -> dict[str, Any]:
        arrays.append(np.ascontiguousarray(array))
        return {"dtype": array.dtype.str, "shape": array.shape}

    text = json.dumps(message, default=described).encode()
    file.write(len(text).to_bytes(8, "little") + text)
    for array in arrays:
        file.write(array.data.cast("B") if array.size else b"")
    file.flush()


def read_message(file: IO[bytes]) -> Any:
    def read(size: int) -> bytes:
        data = file.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def with_array(value: dict[str, Any]) -> Any:
        if value.keys() != {"dtype", "shape"}:
            return value
        dtype, shape = np.dtype(value["dtype"]), value["shape"]
        data = read(dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
        return np.frombuffer(data, dtype).reshape(shape)

    # The parser meets the arrays in the order in which they were written.
    return json.loads(read(int.from_bytes(read(8), "little")), object_hook=with_array)


class Workers(contextlib.AbstractContextManager["Workers"]):
    """Processes of one kind of worker, one for each of the first messages."""

    def __init__(self, worker: Worker, firsts: Sequence[Any]) -> None:
        self.num_workers = len(firsts)
        self._children: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(len(firsts), "regard-worker")
        children = [_start(worker) for _ in firsts]
        self._finalizer = weakref.finalize(self, _stop, children)
        for child, first in zip(children, firsts, strict=True):
            assert child.stdin is not None
            write_message(child.stdin, first)
            self._children.put(child)

    def submit(self, prepare: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """The answer to the message that `prepare` returns; `prepare`, too, runs in a thread of its own."""
        return self._threads.submit(self._ask, prepare, *arguments)

    def _ask(self, prepare: Callable[..., Any], *arguments: Any) -> Any:
        child = self._children.get()
        assert child.stdin is not None and child.stdout is not None
        try:
            write_message(child.stdin, prepare(*arguments))
            return read_message(child.stdout)
        except (EOFError, OSError, ValueError) as error:
            advice = "if memory ran out, train with fewer of them"
            raise TrainingError(f"the processes that prepare text must stay alive: one has ended; {advice}") from error
        finally:
            self._children.put(child)

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._finalizer()


def answers(worker: Worker, first: Any, messages: Iterable[Any], num_processes: int) -> Iterator[Any]:
    """The answers to many messages in their order; few are in memory at a time. One process is this one."""
    if num_processes < 2:
        yield from map(worker(first), messages)
        return
    with Workers(worker, [first] * num_processes) as workers:
        waiting: deque[Future[Any]] = deque()
        for message in messages:
            waiting.append(workers.submit(lambda message=message: message))
            if len(waiting) > num_processes + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _start(worker: Worker) -> subprocess.Popen[bytes]:
    # Workers multiply no matrices: without this each would start a thread per core.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    name = worker.__qualname__
    program = f"from {__name__} import serve; from {worker.__module__} import {name}; serve({name})"
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _stop(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.kill()
    for child in children:
        child.wait()
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError, ValueError):
                pipe.close()


def serve(worker: Worker) -> None:
    """The worker process: answer messages until the pipe closes."""
    # Ctrl-C reaches the whole process group; the parent decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a library prints must not get between the answers.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, BrokenPipeError):
        answer = worker(read_message(sys.stdin.buffer))
        while True:
            write_message(output, answer(read_message(sys.stdin.buffer)))
