"""Which validations count as the best, and since when nothing improves."""

from __future__ import annotations

import json

from regard.train.progress import History, Validation


def test_the_best_are_kept_best_first() -> None:
    history = History(num_kept=2)
    found = [
        history.add(step, Validation(loss, None))
        for step, loss in ((7, 3.0), (11, 2.0), (13, 2.5), (17, 4.0))
    ]
    assert found == [True, True, False, False]
    assert history.best_steps == [11, 13]
    assert history.without_improvement == 2
    assert history.add(19, Validation(1.0, None)) and history.without_improvement == 0
    assert history.best_steps == [19, 11]


def test_bleu_decides_and_the_loss_between_equals() -> None:
    history = History(num_kept=3)
    assert history.add(5, Validation(1.0, 20.0))
    assert history.add(7, Validation(3.0, 30.0)), "a higher BLEU, whatever the loss"
    assert history.add(11, Validation(2.0, 30.0)), "as high, and a lower loss"
    assert not history.add(13, Validation(2.0, 30.0)), "the same is no better"
    assert 5 not in history.best_steps


def test_it_goes_on_from_what_it_was() -> None:
    history = History(num_kept=2)
    for step, loss in ((3, 2.0), (5, 1.0), (7, 1.5)):
        history.add(step, Validation(loss, None))
    again = History(num_kept=2)
    again.restore(json.loads(json.dumps(history.state())))
    assert again.best == history.best and again.without_improvement == 1
