"""The page of other models than the bundled one: decoder-only, other positions and norms, two side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from browser.conftest import Window, address_of
from browser.reading import assert_traced, reads_as, shown_in
from browser.test_panels import assert_matrix, open_tables, rows_of
from browser.test_use import turn_to
from look_fixtures import SENTENCE, make_subject
from playwright.sync_api import Page, expect
from web_fixtures import serving

import regard
from regard.config import DecodeConfig
from regard.look.session import Run
from regard.look.view import Look

Serve = Callable[..., Page]
DECODE = DecodeConfig(max_length=13, beam=3, no_repeat_ngram=3)
PROMPT = "Jane visite l'Afrique"

VARIANTS: dict[str, dict[str, Any]] = {
    "decoder-only": {"architecture": "decoder-only"},
    "decoder-only, rotary, rms, gated": {
        "architecture": "decoder-only",
        "d_model": 40,
        "position": "rotary",
        "norm": "rms",
        "feed_forward": "gated-silu",
    },
    "learned, pre-norm, gelu": {
        "position": "learned",
        "norm_placement": "pre",
        "feed_forward": "gelu",
        "embedding_norm": True,
    },
    "relative, silu": {
        "position": "relative",
        "num_buckets": 8,
        "max_distance": 11,
        "feed_forward": "silu",
    },
    "gpt2": {
        "architecture": "decoder-only",
        "position": "learned",
        "norm_placement": "pre",
        "feed_forward": "gelu-tanh",
        "scaled_embedding": False,
        "output_bias": True,
    },
    "bert": {
        "architecture": "encoder-only",
        "position": "learned",
        "embedding_norm": True,
        "feed_forward": "gelu",
        "scaled_embedding": False,
        "output_transform": True,
        "output_bias": True,
    },
    "scaled, untied": {"position": "scaled", "tied": "none"},
    "integer, batch norm": {"position": "integer", "norm": "batch"},
}

ADD_UP = """async places => {
    const { derive } = await import("./arithmetic.js");
    const { DataSource } = await import("./source.js");
    const data = new DataSource(null);
    const doc = await data.open();
    const found = [];
    for (const place of places) {
        const { traced, result, formula } = await derive(doc, (name, row) => data.tensor(name, 0, row), place);
        found.push([traced, result, formula].map(String));
    }
    return found;
}"""


@pytest.fixture
def serve(windows: Callable[..., Window]) -> Iterator[Serve]:
    """Opens the served page of any look."""
    with ExitStack() as running:

        def make(look: Look, view: str = "overview", **state: Any) -> Page:
            server = running.enter_context(serving(look.serve()))
            return windows().goto(address_of(server.url, view, **state))

        yield make


def cells(run: Run) -> list[dict[str, Any]]:
    """Two numbers of every value that is computed, the first and one in the middle; of distances all."""
    given = ("tokens", "visible")
    places = []
    for name, value in run.trace.items():
        if name.startswith("steps.") or name.endswith(given) or not value.size:
            continue
        is_distance = name.endswith("position_bias")
        for flat in range(value.size) if is_distance else (0, value.size // 2):
            index = [int(each) for each in np.unravel_index(flat, value.shape)]
            places.append({"name": name, "index": index})
    return places


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_value_adds_up_in_every_kind_of_model(serve: Serve, variant: str) -> None:
    look = Look(make_subject(**VARIANTS[variant]), PROMPT, DECODE)
    run = look.session.original
    page = serve(look)
    places = cells(run)
    for place, (traced, result, formula) in zip(places, page.evaluate(ADD_UP, places), strict=True):
        wanted = float(run.trace[place["name"]][tuple(place["index"])])
        assert float(traced.replace("Infinity", "inf")) == wanted, place
        computed = float(result.replace("Infinity", "inf"))
        assert formula, f"{place} has no arithmetic"
        assert computed == pytest.approx(wanted, rel=1e-4, abs=1e-5), place


def test_relative_positions_are_shown_and_taken_apart(serve: Serve) -> None:
    look = Look(make_subject(**VARIANTS["relative, silu"]), PROMPT, DECODE)
    run = look.session.original
    page = serve(look, "attention", attention="encoder.layers.1.self_attention", head=1)
    page.locator("#part-position_bias").get_by_role("button", name="table").click()
    shown = shown_in(page.locator("#part-position_bias"))
    assert_traced(shown, run, at_least=len(run.source) ** 2)
    page.locator("#part-position_bias canvas").click()
    expect(page.locator("#explanation .formula")).to_contain_text("bucket(key − query)")
    computed = page.locator("#explanation [data-role=computed]").get_attribute("data-value")
    place = page.locator("#explanation [data-role=traced]").get_attribute("data-index")
    index = tuple(int(each) for each in (place or "").split(","))
    assert float(computed or "nan") == float(run.trace["encoder.position_bias"][index])


def test_an_encoder_only_model(serve: Serve) -> None:
    look = Look(make_subject(**VARIANTS["bert"]), PROMPT, DECODE)
    page = serve(look)
    expect(page.locator("#sentence .from")).to_have_text(PROMPT)
    assert page.locator("#map [id^='box-decoder'], #map [id^='box-target']").count() == 0
    views = page.locator("#tabs button").evaluate_all("tabs => tabs.map(tab => tab.id.slice(4))")
    assert {"overview", "attention", "heads", "positions", "output"} <= set(views)
    for view in views:
        turn_to(page, view)
        assert page.locator("#panel [role=alert]").count() == 0, view
        assert_traced(shown_in(page.locator("#panel")), look.session.original, 0)


@pytest.mark.parametrize("variant", ["decoder-only", "decoder-only, rotary, rms, gated"])
def test_a_decoder_only_model(serve: Serve, variant: str) -> None:
    look = Look(make_subject(**VARIANTS[variant]), PROMPT, DECODE)
    run = look.session.original
    page = serve(look)
    expect(page.locator("#sentence .from")).to_have_text(PROMPT)
    expect(page.locator("#sentence .to")).to_have_text(run.translation.removeprefix(PROMPT).strip())
    expect(page.locator("#strips .given")).to_have_count(run.num_given)
    expect(page.locator(".step-count")).to_contain_text(f"step {run.num_given + 1} of")
    assert page.locator("#map [id^='box-encoder'], #map [id^='box-source']").count() == 0
    views = page.locator("#tabs button").evaluate_all("tabs => tabs.map(tab => tab.id.slice(4))")
    assert {"overview", "attention-lines", "attention", "heads", "output", "what-if"} <= set(views)
    assert ("positions" in views) == ("rotary" not in variant)
    for view in views:
        turn_to(page, view)
        assert page.locator("#panel [role=alert]").count() == 0
        assert_traced(shown_in(page.locator("#panel")), run, 0)
        assert "source" not in page.locator("#panel .lead").inner_text()
    words = page.locator("#change-index option").all_inner_texts()
    assert len(words) == len(PROMPT.split()), "only what was given can be changed"
    assert words[:2] == PROMPT.split()[:2]
    page.fill("#change-text", "Marie")
    page.click("#do-replace-word")
    expect(page.locator("#sentence .from")).to_have_text(PROMPT.replace("Jane", "Marie"))


def test_the_tour_of_a_decoder_only_model(serve: Serve) -> None:
    look = Look(make_subject(**VARIANTS["decoder-only"]), PROMPT, DECODE)
    page = serve(look)
    page.click("#start-tour")
    tour = page.locator("#tour")
    expect(tour.locator("p")).to_contain_text(f"“{PROMPT}” is split into")
    total = int(tour.locator(".number").inner_text().split("/")[1])
    assert total >= 10
    for step in range(1, total + 1):
        expect(tour.locator(".number")).to_have_text(f"{step} / {total}")
        text = tour.locator("p").inner_text()
        assert "memory" not in text and "second sentence" not in text
        assert_traced(shown_in(tour), look.session.original, 0)
        page.click("#tour-on")
    expect(tour).to_be_hidden()


@pytest.fixture(scope="module")
def both() -> Look:
    """One sentence in two models of different depth and width."""
    second = make_subject("other", seed=5, num_decoder_layers=2, d_model=42, num_heads=7)
    return Look(make_subject(), SENTENCE, DECODE, second)


def alignment(run: Run) -> np.ndarray:
    """What each written word reads of each word of the source, in the last layer, the mean of its heads."""
    from regard.look.document import describe

    described = describe(run)
    layer = run.subject.config.num_decoder_layers - 1
    weights = (
        run.trace[f"decoder.layers.{layer}.cross_attention.weights"].astype(float).mean(axis=0)
    )
    spans = [[first - 1, last - 1] for first, last in described["target"]["words"][1:]]
    spans.append([len(run.output), len(run.output)])
    return np.array(
        [
            [
                weights[top : bottom + 1, left : right + 1].sum() / (bottom - top + 1)
                for left, right in described["source"]["words"]
            ]
            for top, bottom in spans
        ]
    )


def test_two_models_side_by_side(serve: Serve, both: Look) -> None:
    page = serve(both, "compare")
    open_tables(page)
    runs = [both.session.original, both.session.second]
    for run in runs:
        assert run is not None
        card = page.locator(f"#panel section[data-run='{run.number}']")
        expect(card.locator(".versus b")).to_have_text(run.translation)
        assert_matrix(card.locator("figure table"), alignment(run))
        written = [*run.output, run.subject.config.eos_id]
        shares = [float(run.trace["probabilities"][i, each]) for i, each in enumerate(written)]
        shown = shown_in(card, ".strip small")
        assert [each.value for each in shown] == shares and all(each.reads() for each in shown)
        whole = card.locator(".note b").inner_text()
        assert reads_as(whole, math.fsum(map(math.log, shares)))


def test_every_panel_can_show_the_second_model(serve: Serve, both: Look) -> None:
    page = serve(both, "compare")
    second = both.session.second
    assert second is not None
    page.click("#choice-every_panel_shows-1")
    expect(page.locator("#banner")).to_contain_text("other, the second model")
    expect(page.locator("#sentence .to")).to_have_text(second.translation)
    assert_traced(shown_in(page.locator("#strips")), second, 10)
    for view in (
        "overview",
        "attention-lines",
        "attention",
        "heads",
        "positions",
        "embeddings",
        "output",
    ):
        turn_to(page, view)
        assert_traced(shown_in(page.locator("#panel")), second, 0)
    turn_to(page, "embeddings")
    token = second.source[0]
    table = second.subject.table("source").astype(float)
    cosines = table @ table[token] / np.linalg.norm(table, axis=1) / np.linalg.norm(table[token])
    expect(page.locator("#neighbours li")).not_to_have_count(0)
    for each in shown_in(page.locator("#neighbours"), "[data-role=cosine]"):
        assert each.value == pytest.approx(cosines[each.index[0]], rel=1e-4)
    page.click("#back-to-original")
    expect(page.locator("#sentence .to")).to_have_text(both.session.original.translation)


def test_a_what_if_is_asked_of_the_model_in_view(serve: Serve, both: Look) -> None:
    page = serve(both, "compare")
    second = both.session.second
    assert second is not None
    page.click("#choice-every_panel_shows-1")
    turn_to(page, "what-if")
    with page.expect_response("**/api/whatif") as answered:
        page.click("#do-no-positions")
    changes = answered.value.json()["document"]["changes"]
    assert changes["original"] == 1 and changes["original_text"] == second.translation
    expect(page.locator("#text-before")).to_have_text(second.translation)
    page.click("#back-to-original")
    expect(page.locator("#sentence .to")).to_have_text(second.translation)


def test_drawings_have_tables_too(show: Callable[..., Page], run: Run) -> None:
    """What is drawn without a canvas: the tree of the search, the points and the curves."""
    page = show("output", step=2)
    open_tables(page)
    rows = rows_of(page.locator("#panel details table"))
    assert len(rows) == sum(len(step.beams) for step in run.found.history)
    turn_to(page, "positions")
    open_tables(page)
    assert len(rows_of(page.locator("#panel .curves + p + details table"))) == len(run.source)
    turn_to(page, "embeddings")
    open_tables(page)
    points = rows_of(page.locator("#panel .scatter + details table"))
    assert len(points) == len(run.source) + 1 + len(run.output)
    assert_traced(shown_in(page.locator("#panel")), run, 0)


def test_the_stages_of_the_text_and_the_choice_of_a_sentence(
    serve: Serve,
) -> None:
    text = "IL FAIT FROID ! Jane écrit à jane@exemple.fr."
    model = regard.load("fr-en")
    look = model.look(text)
    page = serve(look, "journey")  # as earlier versions named it
    expect(page.locator("#sentence .to")).to_have_text(model.translate(text))
    expect(page.locator("#panel")).to_have_attribute("data-view", "overview")
    expect(page.locator("#stage-normalised")).to_have_text("Il fait froid !")
    expect(page.locator("#text .folded")).to_have_text("→ protected unchanged")
    page.click("#sentence-1")
    expect(page.locator("#stage-given")).to_have_text("Jane écrit à jane@exemple.fr.")
    expect(page.locator("#stage-restored")).to_contain_text("jane@exemple.fr")
    assert_traced(shown_in(page.locator("#strips")), look.session.run(1), 10)
    page.click("#sentence-0")
    assert_traced(shown_in(page.locator("#strips")), look.session.original, 10)
