"""A model's thread: who shares a batch, who waits for whom, and what is not computed any more."""

from __future__ import annotations

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
from regard.serve.models import Served
from regard.serve.ticket import Busy, Dead, Drafting, Stream, Ticket, Translating
from regard.serve.worker import Worker


class Engine:
    """A real engine that can be held before a step, and that counts what it is asked."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.config, self.device = engine.config, None
        self.open = threading.Event()
        self.open.set()
        self.num_steps = 0
        self.batches: list[int] = []
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


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    """A model whose thread stands ready and has not begun."""
    models, metrics = load([folder], queue=7)
    [each] = models.all.values()
    engine = Engine(each.translator.engine)
    each.translator.engine = engine
    started = Served("fr-en", folder, each.translator, Worker("fr-en", each.translator, 7, metrics))
    yield started
    engine.open.set()
    started.worker.stop()


def engine_of(served: Served) -> Engine:
    engine: Any = served.translator.engine
    assert isinstance(engine, Engine)
    return engine


DECODE = DecodeConfig(max_length=7)
WORDS = ("Bonjour", "Je vais bien", "Le chat dort", "Jane visite", "il fait beau", "Jane")


def ticket(count: int, length: int = 5, **options: Any) -> Ticket:
    sentences = [f"{WORDS[i % len(WORDS)]} {100 * count + i}." for i in range(count)]
    wish = Translating(DECODE, alignment=options.pop("alignment", False))
    return Ticket(wish, sentences, [length] * count, **options)


def taken(worker: Worker) -> list[int]:
    """How many sentences of each ticket, by its length, the next batch takes."""
    batch = worker._take()
    worker._batch = []
    counts: dict[int, int] = {}
    for each, _ in batch:
        counts[len(each.results)] = counts.get(len(each.results), 0) + 1
    return sorted(counts.items())  # type: ignore[return-value]


def test_each_request_has_its_turn(served: Served) -> None:
    """A text of 100 sentences does not keep those of 2 and of 1 waiting."""
    worker = served.worker
    worker.start()
    engine_of(served).open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    for count in (101, 2, 3):
        worker.submit(ticket(count))
    assert taken(worker) == [(2, 2), (3, 3), (101, 11)]
    assert taken(worker) == [(101, 16)]
    worker.submit(ticket(5))
    assert taken(worker) == [(5, 5), (101, 11)]


def test_sentences_of_a_batch_are_of_like_length(served: Served) -> None:
    worker = served.worker
    worker.start()
    engine_of(served).open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    worker.submit(ticket(2, length=50))
    worker.submit(ticket(3, length=10))
    worker.submit(ticket(4, length=40))
    worker.submit(ticket(5, length=3))
    assert taken(worker) == [(2, 2), (4, 4)]
    assert taken(worker) == [(3, 3), (5, 5)]


def test_a_batch_of_long_sentences_is_small(served: Served) -> None:
    worker = served.worker
    worker.start()
    engine_of(served).open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    worker.submit(ticket(11, length=200))
    assert taken(worker) == [(11, 2)]


def test_requests_that_ask_otherwise_do_not_share_a_batch(served: Served) -> None:
    worker = served.worker
    worker.start()
    engine_of(served).open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    worker.submit(ticket(2))
    worker.submit(ticket(3, alignment=True))
    assert taken(worker) == [(2, 2)]
    assert taken(worker) == [(3, 3)]


def test_shared_batches_change_no_answer(served: Served) -> None:
    worker = served.worker
    worker.start()
    engine = engine_of(served)
    engine.open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    tickets = [ticket(count) for count in (2, 11, 3)]
    for each in tickets:
        worker.submit(each)
    engine.open.set()
    for each in tickets:
        texts = [translation.source for translation in each.future.result(20)]
        alone = served.translator.translate(texts, DECODE, sentences=False)
        assert [one.text for one in each.future.result()] == [one.text for one in alone]
    assert max(engine.batches) == 16


def test_only_so_many_wait(served: Served) -> None:
    worker = served.worker
    worker.start()
    engine_of(served).open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    for _ in range(7):
        worker.submit(ticket(1))
    with pytest.raises(Busy):
        worker.submit(ticket(1))
    assert worker.num_waiting == 7


def test_one_that_fails_does_not_take_the_others_with_it(served: Served) -> None:
    worker, engine = served.worker, engine_of(served)
    poison, wish = served.translator.source_ids(["Jane 5."])[0], Translating(DECODE)

    def fail(sources: Any) -> None:
        if poison in [list(source) for source in sources]:
            raise ValueError("poisoned")

    worker.start()
    engine.open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    engine.fail = fail
    good, bad = [ticket(count) for count in (2, 3, 4, 6)], Ticket(wish, ["Jane 5."], [5])
    for each in (*good[:2], bad, *good[2:]):
        worker.submit(each)
    engine.open.set()
    assert all(each.future.result(20)[0].text for each in good)
    with pytest.raises(ValueError, match="poisoned"):
        bad.future.result(20)
    assert worker.is_well and engine.batches[1] == 16


def test_what_nobody_waits_for_is_not_computed(served: Served) -> None:
    worker, engine = served.worker, engine_of(served)
    worker.start()
    engine.open.clear()
    begun, waiting = ticket(3), ticket(5)
    worker.submit(begun)
    wait_until(lambda: engine.num_steps)
    worker.submit(waiting)
    assert begun.future.cancel() and waiting.future.cancel()
    engine.open.set()
    wait_until(lambda: not worker._tickets and not worker._batch)
    assert engine.num_steps == 1 and engine.batches == [3]


def test_a_stream_goes_on_while_a_batch_runs(served: Served) -> None:
    worker, engine = served.worker, engine_of(served)
    arrived: list[Any] = []
    worker.start()
    engine.open.clear()
    long = ticket(16)
    worker.submit(long)
    wait_until(lambda: worker._batch)
    worker.stream(Stream(lambda model: iter(range(4)), arrived.append))
    engine.open.set()
    long.future.result(20)
    wait_until(lambda: arrived and arrived[-1] is None)
    assert arrived == [0, 1, 2, 3, None]
    assert engine.num_steps >= 4


def test_no_stream_waits_for_another(served: Served) -> None:
    """One that begins late goes as many steps as the others do meanwhile."""
    worker = served.worker
    order: list[int] = []
    gate = threading.Event()

    def counted(name: int, count: int) -> Callable[[Any], Iterator[int]]:
        def steps(model: Any) -> Iterator[int]:
            for _ in range(count):
                assert gate.wait(20)
                yield name

        return steps

    def deliver(item: Any) -> None:
        if item is not None:
            order.append(item)

    worker.start()
    worker.stream(Stream(counted(0, 1), deliver))
    for name, count in ((1, 97), (2, 89), (3, 5)):
        worker.stream(Stream(counted(name, count), deliver))
    gate.set()
    wait_until(lambda: len(order) == 192)
    assert order[:16] == [0, *([1, 2, 3] * 5)]


def test_conversations_share_batches_and_each_has_its_own_reply(served: Served) -> None:
    translator, worker, engine = served.translator, served.worker, engine_of(served)
    decode = DecodeConfig(method="sample", n_best=3, max_length=7, seed=11)
    prompts = [chat_prompt(translator, [f"{word} {i}"]) for i, word in enumerate(WORDS)]
    worker.start()
    engine.open.clear()
    worker.submit(ticket(1))
    wait_until(lambda: worker._batch)
    tickets = [
        Ticket(Drafting(decode), [(prompt, number)], [prompt.num_tokens])
        for number, prompt in enumerate(prompts)
    ]
    for each in tickets:
        worker.submit(each)
    engine.open.set()
    for number, (each, prompt) in enumerate(zip(tickets, prompts, strict=True)):
        [found] = each.future.result(20)
        [alone] = reply_candidates(translator, [prompt], decode, [number])
        assert [draft.text for draft in found] == [draft.text for draft in alone]
    assert engine.batches[1] == len(WORDS)


def test_a_stream_that_fails_says_so_and_one_that_is_left_ends(served: Served) -> None:
    worker = served.worker
    worker.start()
    arrived: list[Any] = []

    def fails(model: Any) -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    worker.stream(Stream(fails, arrived.append))
    wait_until(lambda: len(arrived) == 2)
    assert arrived[0] == 1 and isinstance(arrived[1], ValueError)

    def endless(model: Any) -> Iterator[int]:
        while True:
            yield 7

    left = Stream(endless, arrived.append)
    worker.stream(left)
    wait_until(lambda: len(arrived) > 5)
    left.is_abandoned = True
    wait_until(lambda: worker.num_waiting == 0)
    assert worker.is_well


def test_a_thread_that_ends_fails_all_who_wait(served: Served) -> None:
    worker, engine = served.worker, engine_of(served)

    def fail(sources: Any) -> None:
        raise SystemExit

    engine.fail = fail
    first = ticket(1)
    worker.start()
    worker.submit(first)
    with pytest.raises(Dead):
        first.future.result(20)
    assert not worker.is_well
    with pytest.raises(Dead):
        worker.submit(ticket(1))


def test_a_thread_that_hangs_is_unwell(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_STALLED_AFTER", 0.05)
    worker, engine = served.worker, engine_of(served)
    worker.start()
    assert worker.is_well
    engine.open.clear()
    waiting = ticket(1)
    worker.submit(waiting)
    wait_until(lambda: not worker.is_well)
    with pytest.raises(Dead):
        worker.submit(ticket(1))
    engine.open.set()
    assert waiting.future.result(20)
    wait_until(lambda: worker.is_well)


def test_sentences_come_in_order_to_who_reads_along(served: Served) -> None:
    places: list[int] = []
    sentences = ["Jane dort.", "Bonjour, comment allez-vous ?", "Le chat."]
    wish = Translating(DECODE)
    each = Ticket(wish, sentences, [3, 30, 2], on_each=lambda place, _: places.append(place))
    assert [job.place for job in each.waiting] == [0, 1, 2]
    like_ones_together = Ticket(wish, sentences, [3, 30, 2])
    assert [job.place for job in like_ones_together.waiting] == [1, 0, 2]
    served.worker.start()
    served.worker.submit(each)
    each.future.result(20)
    assert sorted(places) == [0, 1, 2]
    assert [job.source for job in each.future.result()] == sentences
