"""The page of recurrent models: every panel opens, the alignment is the trace's, and stands beside a Transformer's."""

from __future__ import annotations

import numpy as np
import pytest
from browser.reading import assert_traced, shown_in
from browser.test_models import ADD_UP, Serve, serve
from browser.test_use import turn_to
from look_fixtures import SENTENCE, make_subject

from regard.config import DecodeConfig
from regard.look.subject import Subject
from regard.look.view import Look

__all__ = ["serve"]

DECODE = DecodeConfig(max_length=9, beam=3, no_repeat_ngram=3)


def recurrent(attention: str) -> Subject:
    return make_subject(
        architecture="lstm",
        attention=attention,
        position="none",
        num_encoder_layers=1,
        num_decoder_layers=1,
        d_state=34,
    )


@pytest.mark.parametrize("attention", ["none", "additive", "dot"])
def test_every_panel_opens(serve: Serve, attention: str) -> None:
    look = Look(recurrent(attention), SENTENCE, DECODE)
    page = serve(look)
    views = page.locator("#tabs button").evaluate_all("tabs => tabs.map(tab => tab.id.slice(4))")
    looks = {"attention-lines", "attention", "heads"}
    assert {"overview", "embeddings", "output", "what-if"} <= set(views)
    assert looks <= set(views) if attention != "none" else not looks & set(views)
    assert "positions" not in views and "feed-forward" not in views
    for view in views:
        turn_to(page, view)
        assert page.locator("#panel [role=alert]").count() == 0, view
        assert_traced(shown_in(page.locator("#panel")), look.session.original, 0)


@pytest.mark.parametrize("attention", ["none", "additive", "dot"])
def test_what_has_an_arithmetic_adds_up(serve: Serve, attention: str) -> None:
    run = Look(recurrent(attention), SENTENCE, DECODE)
    trace = run.session.original.trace
    page = serve(run)
    places = []
    for name, value in trace.items():
        if not name.startswith("steps.") and not name.endswith("tokens"):
            index = np.unravel_index(value.size // 2, value.shape)
            places.append({"name": name, "index": [int(each) for each in index]})
    derived = set()
    for place, (traced, result, formula) in zip(places, page.evaluate(ADD_UP, places), strict=True):
        wanted = float(trace[place["name"]][tuple(place["index"])])
        assert float(traced) == wanted, place
        assert float(result) == pytest.approx(wanted, rel=1e-4, abs=1e-5), place
        if formula:
            derived.add(place["name"])
    names = {"source.embedding", "target.input", "logits", "probabilities"}
    if attention != "none":
        names |= {"decoder.attention.masked", "decoder.attention.weights"}
    assert names <= derived


def test_alignments_side_by_side(serve: Serve) -> None:
    look = Look(recurrent("additive"), SENTENCE, DECODE, make_subject())
    page = serve(look, "compare")
    cards = page.locator("#panel section.card[data-run]")
    assert cards.count() == 2
    notes = [cards.nth(i).inner_text() for i in range(2)]
    assert "mean of 1 head, decoder.attention" in notes[0]
    assert "mean of 5 heads, decoder.layers.2.cross_attention" in notes[1]
    assert cards.nth(0).locator("canvas, table, .matrix").count() > 0
    assert page.locator("#panel [role=alert]").count() == 0
