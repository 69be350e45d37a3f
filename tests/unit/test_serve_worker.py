"""A model's thread: who shares a batch, who waits for whom, and what is not computed any more."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_fixtures import load, make_folders, wait_until

from regard.config import DecodeConfig
from regard.generate.chat import reply_candidates
from regard.generate.prompts import chat_prompt
from regard.serve import worker as worker_module
from regard.serve.answers import ReplyTask, TranslateTask
from regard.serve.worker import ModelJob, ModelStopped, TextStream, Worker
from regard.translate.pipeline import Translator

DECODE = DecodeConfig(max_length=7)
TASK = TranslateTask(DECODE)
WORDS = ("Bonjour", "Je vais bien", "Le chat dort", "Jane visite", "il fait beau", "Jane")


class Engine:
    """A real engine that can be held before a step, and that counts what it is asked."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.config, self.device = engine.config, None
        self.open = threading.Event()
        self.open.set()
        self.num_steps = 0
        self.batches: list[int] = []
        self.copies: list[Engine] = []
        self.fail: Callable[[Any], None] = lambda sources: None

    def start(self, sources: Any, *, attention: bool = False) -> Any:
        self.batches.append(len(sources))
        self.fail(sources)
        return self._engine.start(sources, attention=attention)

    def step(self, tokens: Any, state: Any) -> Any:
        self.num_steps += 1
        assert self.open.wait(20)
        return self._engine.step(tokens, state)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folders(tmp_path_factory.mktemp("models"), ("fr-en",))[0]


class Thread:
    """A model's worker, and the engine that it runs."""

    def __init__(self, folder: Path, side_by_side: bool = False) -> None:
        models, metrics = load([folder], queue=7)
        [served] = models.all.values()
        self.translator: Translator = served.translator
        self.engine = Engine(self.translator.engine)
        self.engine.copies = [Engine(served.reopen()) for _ in range(2)] if side_by_side else []
        self.translator.engine = self.engine
        self.worker = Worker("fr-en", self.translator, 7, metrics)
        self.worker.start()

    def hold(self) -> ModelJob:
        """Stop the worker in the middle of a batch, so that what is submitted now waits."""
        self.engine.open.clear()
        first = job(1)
        self.worker.submit(first)
        wait_until(lambda: self.worker._lanes[0].batch)
        return first

    def taken(self) -> list[tuple[int, int]]:
        """How many items the next batch takes of each job, by the job's size."""
        counts: dict[int, int] = {}
        for each, _ in self.worker._take(99):
            counts[len(each.futures)] = counts.get(len(each.futures), 0) + 1
        return sorted(counts.items())


@pytest.fixture
def thread(folder: Path, request: pytest.FixtureRequest) -> Iterator[Thread]:
    started = Thread(folder, getattr(request, "param", False))
    yield started
    started.engine.open.set()
    started.worker.stop()


def job(count: int, length: int = 5, task: TranslateTask = TASK) -> ModelJob:
    return ModelJob(task, [f"{WORDS[i % len(WORDS)]} {100 * count + i}." for i in range(count)], [length] * count)


def results(each: ModelJob) -> list[Any]:
    return [future.result(20) for future in each.futures]


def test_each_request_has_its_turn(thread: Thread) -> None:
    """A text of 100 sentences does not keep those of 2 and of 1 waiting."""
    thread.hold()
    for count in (101, 2, 3):
        thread.worker.submit(job(count))
    assert thread.taken() == [(2, 2), (3, 3), (101, 7)]
    assert thread.taken() == [(101, 12)]
    thread.worker.submit(job(5))
    assert thread.taken() == [(5, 5), (101, 7)]


def test_a_batch_is_of_like_length_and_of_equal_tasks_and_not_too_large(thread: Thread) -> None:
    thread.hold()
    for count, length in ((2, 84), (3, 20), (4, 30), (5, 3)):
        thread.worker.submit(job(count, length))
    assert thread.taken() == [(2, 2), (4, 4)]
    assert thread.taken() == [(3, 3), (5, 5)]
    thread.worker.submit(job(11, 200))
    assert thread.taken() == [(11, 2)]
    thread.worker._jobs.clear()
    thread.worker.submit(job(2))
    thread.worker.submit(job(3, task=TranslateTask(DECODE, alignment=True)))
    assert thread.taken() == [(2, 2)]
    assert thread.taken() == [(3, 3)]


@pytest.mark.parametrize("thread", [False, True], indirect=True)
def test_shared_batches_change_no_answer(thread: Thread) -> None:
    thread.hold()
    jobs = [job(count) for count in (2, 11, 3)]
    for each in jobs:
        thread.worker.submit(each)
    thread.engine.open.set()
    for each in jobs:
        found = results(each)
        alone = TASK.run(thread.translator, [translation.source for translation in found])
        assert [one.text for one in found] == [one.text for one in alone]
    assert max(thread.engine.batches) == (1 if thread.engine.copies else 12)


@pytest.mark.parametrize("thread", [True], indirect=True)
def test_free_lanes_share_a_text_and_one_sentence_has_all_threads(thread: Thread) -> None:
    thread.worker.submit(alone := job(1))
    assert results(alone)
    assert thread.engine.batches == [1]
    thread.worker.submit(both := job(16))
    assert len(results(both)) == 16
    assert [each.batches for each in thread.engine.copies] == [[8], [8]]


@pytest.mark.parametrize("thread", [True], indirect=True)
def test_a_lane_does_not_wait_for_one_that_is_held(thread: Thread) -> None:
    held = thread.hold()
    thread.worker.submit(other := job(5))
    assert len(results(other)) == 5 and not held.futures[0].done()
    assert thread.engine.copies[0].batches == [] and sum(thread.engine.copies[1].batches) == 5


def test_one_that_fails_does_not_take_the_others_with_it(thread: Thread) -> None:
    poison = thread.translator.source_ids("Jane 5.")

    def fail(sources: Any) -> None:
        if poison in [list(source) for source in sources]:
            raise ValueError("poisoned")

    thread.hold()
    thread.engine.fail = fail
    good, bad = [job(count) for count in (2, 3, 4, 6)], ModelJob(TASK, ["Jane 5."], [5])
    for each in (*good[:2], bad, *good[2:]):
        thread.worker.submit(each)
    thread.engine.open.set()
    assert all(results(each)[0].text for each in good)
    with pytest.raises(ValueError, match="poisoned"):
        results(bad)
    assert thread.worker.is_alive and thread.engine.batches[1] == 12


def test_no_stream_waits_for_another(thread: Thread) -> None:
    """One that begins late makes as many steps as the others do meanwhile; one that fails says so."""
    order: list[int] = []
    ended: list[ValueError] = []
    gate = threading.Event()

    def counted(name: int, count: int) -> Callable[[Any], Iterator[int]]:
        def steps(model: Any) -> Iterator[int]:
            for _ in range(count):
                assert gate.wait(20)
                yield name
            raise ValueError("no more")

        return steps

    def deliver(item: Any) -> None:
        ended.append(item) if isinstance(item, ValueError) else order.append(item)

    for name, count in ((0, 1), (1, 27), (2, 29), (3, 5)):
        thread.worker.submit(TextStream(counted(name, count), deliver))
    thread.hold()  # a batch runs meanwhile
    gate.set()
    thread.engine.open.set()
    wait_until(lambda: len(ended) == 4)
    assert order[:16] == [0, *([1, 2, 3] * 5)] and len(order) == 62


def test_conversations_share_batches_and_each_has_its_own_reply(thread: Thread) -> None:
    decode = DecodeConfig(method="sample", n_best=3, max_length=7, seed=11)
    prompts = [chat_prompt(thread.translator, [f"{word} {i}"]) for i, word in enumerate(WORDS)]
    thread.hold()
    task = ReplyTask(decode)
    jobs = [ModelJob(task, [(prompt, number)], [prompt.num_tokens]) for number, prompt in enumerate(prompts)]
    for each in jobs:
        thread.worker.submit(each)
    thread.engine.open.set()
    for number, (each, prompt) in enumerate(zip(jobs, prompts, strict=True)):
        [found] = results(each)
        [alone] = reply_candidates(thread.translator, [prompt], decode, [number])
        assert [draft.text for draft in found] == [draft.text for draft in alone]
    assert thread.engine.batches[1] == len(WORDS)


def test_a_thread_that_hangs_is_not_alive(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_STALLED_AFTER", 0.05)
    assert thread.worker.is_alive
    waiting = thread.hold()
    wait_until(lambda: not thread.worker.is_alive)
    with pytest.raises(ModelStopped):
        thread.worker.submit(job(1))
    thread.engine.open.set()
    assert results(waiting)
    wait_until(lambda: thread.worker.is_alive)


def test_sentences_come_in_order_to_who_reads_along(thread: Thread) -> None:
    sentences = ["Jane dort.", "Bonjour, comment allez-vous ?", "Le chat."]
    each = ModelJob(TASK, sentences, [3, 30, 2], in_order=True)
    assert [item.length for item in each.waiting] == [3, 30, 2]
    assert [item.length for item in ModelJob(TASK, sentences, [3, 30, 2]).waiting] == [30, 3, 2]
    thread.worker.submit(each)
    assert [translation.source for translation in results(each)] == sentences
