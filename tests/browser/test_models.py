"""The page of other models than the bundled one: every architecture, other positions and norms, two side by side."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from browser.conftest import Window, address_of
from browser.reading import assert_traced, reads_as, script, shown_in
from browser.test_panels import assert_matrix, assert_neighbours, open_tables
from browser.test_use import turn_to
from look_fixtures import SENTENCE, make_subject
from playwright.sync_api import Page, Route, expect
from web_fixtures import serving

import regard
from regard.config import DecodeConfig, ModelConfig
from regard.look.run import Run
from regard.look.session import Session
from regard.look.view import Look

Serve = Callable[..., Page]
DECODE = DecodeConfig(max_length=13, beam=3, no_repeat_ngram=3)
PROMPT = "Jane visite l'Afrique"

LEARNED = dict(position="learned", scaled_embedding=False, output_bias=True)
RECURRENT = dict(position="none", num_encoder_layers=1, num_decoder_layers=1, d_state=34)
VARIANTS: dict[str, dict[str, Any]] = {
    "decoder-only": {"architecture": "decoder-only"},
    "decoder-only, rotary, rms, gated": dict(
        architecture="decoder-only", d_model=40, position="rotary", norm="rms", feed_forward="gated-silu"
    ),
    "learned, pre-norm, gelu": dict(position="learned", norm_placement="pre", feed_forward="gelu", embedding_norm=True),
    "relative, silu": dict(position="relative", num_buckets=8, max_distance=11, feed_forward="silu"),
    "alibi, gelu": dict(position="alibi", feed_forward="gelu"),
    "gpt2": dict(**LEARNED, architecture="decoder-only", norm_placement="pre", feed_forward="gelu-tanh"),
    "bert": dict(
        **LEARNED, architecture="encoder-only", embedding_norm=True, feed_forward="gelu", output_transform=True
    ),
    "scaled, untied": {"position": "scaled", "tied": "none"},
    "integer, batch norm": {"position": "integer", "norm": "batch"},
    "lstm": {"architecture": "lstm", "attention": "none", **RECURRENT},
    "lstm, additive": {"architecture": "lstm", "attention": "additive", **RECURRENT},
    "gru, dot": {"architecture": "gru", "attention": "dot", **RECURRENT},
}

SHALLOW = dict(num_encoder_layers=1, num_decoder_layers=1)
OPENED = ("decoder-only", "learned, pre-norm, gelu", "relative, silu", "alibi, gelu", "bert", "lstm", "gru, dot")
"""variants whose panels are all opened"""


@pytest.fixture
def serve(window: Window) -> Iterator[Serve]:
    """Opens the served page of any look."""
    with ExitStack() as running:

        def make(look: Look, view: str = "overview", **state: Any) -> Page:
            return window.goto(address_of(running.enter_context(serving(look.serve())).url, view, **state))

        yield make
        window.page.goto("about:blank")


def cells(run: Run) -> list[dict[str, Any]]:
    """The number in the middle of every value that is computed; of distances a dozen."""
    places = []
    for name, value in run.trace.items():
        if name.startswith("steps.") or name.endswith(("tokens", "visible")) or not value.size:
            continue
        step = value.size // 12 if name.endswith("position_bias") else value.size
        flats = range(value.size // 2 % step, value.size, step)
        places += [{"name": name, "index": list(map(int, np.unravel_index(flat, value.shape)))} for flat in flats]
    return places


def views_of(page: Page) -> list[str]:
    return page.locator("#tabs button").evaluate_all("tabs => tabs.map(tab => tab.id.slice(4))")


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_value_adds_up_and_every_panel_opens(serve: Serve, variant: str) -> None:
    look = Look(Session(make_subject(**{**SHALLOW, **VARIANTS[variant]}), PROMPT, DECODE))
    run = look.session.original
    page = serve(look)
    places, derived = cells(run), set()
    for place, (traced, result, formula) in zip(places, page.evaluate(script("addUp"), places), strict=True):
        wanted = float(run.trace[place["name"]][tuple(place["index"])])
        assert float(traced) == wanted, place
        assert float(result) == pytest.approx(wanted, rel=1e-4, abs=1e-5), place
        if formula:
            derived.add(place["name"])
    if "attention" not in VARIANTS[variant]:
        assert derived == {place["name"] for place in places}
    else:
        assert {"source.embedding", "target.input", "logits", "probabilities"} <= derived
        expect(page.locator("#map .whole [id$='.cells']")).to_have_count(2)
        expect(page.locator("#panel")).to_contain_text("Readingtoken by token, in both directions")
    views = views_of(page)
    assert {"overview", "embeddings", "output"} <= set(views)
    has_attention = VARIANTS[variant].get("attention") != "none"
    assert ({"attention-lines", "attention", "heads"} <= set(views)) == has_attention
    assert ("positions" in views) == (VARIANTS[variant].get("position") != "none")
    for view in views if variant in OPENED else ():
        turn_to(page, view)
        assert page.locator("#panel [role=alert]").count() == 0, view
        assert_traced(shown_in(page.locator("#panel")), run, 0)


def test_a_decoder_only_model(serve: Serve) -> None:
    look = Look(Session(make_subject(**VARIANTS["decoder-only"]), PROMPT, DECODE))
    run = look.session.original
    page = serve(look)
    expect(page.locator("#sentence .from")).to_have_text(PROMPT)
    expect(page.locator("#sentence .to")).to_have_text(run.translation.removeprefix(PROMPT).strip())
    expect(page.locator("#strips .given")).to_have_count(run.num_given)
    expect(page.locator(".step-count")).to_contain_text(f"step {run.num_given + 1} of")
    assert page.locator("#map [id^='box-encoder'], #map [id^='box-source']").count() == 0
    turn_to(page, "what-if")
    words = page.locator("#change-index option").all_inner_texts()
    assert len(words) == len(PROMPT.split()), "only what was given can be changed"
    assert words[:2] == PROMPT.split()[:2]
    page.fill("#change-text", "Marie")
    page.click("#do-replace-word")
    expect(page.locator("#sentence .from")).to_have_text(PROMPT.replace("Jane", "Marie"))


def test_a_model_that_only_reads(serve: Serve) -> None:
    page = serve(regard.load("search").look("The cat sleeps on the roof."))
    assert page.locator("#play, #tab-output, #map [id^='box-decoder']").count() == 0
    expect(page.locator("#sentence")).to_have_text("The cat sleeps on the roof.")
    for view in views_of(page):
        turn_to(page, view)
        assert "next token" not in page.locator("body").inner_text()
        assert page.locator("#do-no-mask, #do-force-next").count() == 0
    held: list[Route] = []
    page.route("**/api/nearest", lambda route: route.continue_() if held else held.append(route))
    turn_to(page, "vector")
    page.fill("#passages", "Prices have risen.\nLe chat dort sur le toit.")
    page.click("#do-nearest")
    rows = page.locator("#nearest tbody tr")
    expect(rows.first).to_contain_text("Le chat dort")
    with page.expect_response("**/api/nearest"):
        held[0].continue_()
    page.wait_for_timeout(300)
    expect(rows.first).to_contain_text("Le chat dort")  # the late answer to the older question is dropped


def alignment(run: Run) -> np.ndarray:
    """What each written word reads of each word of the source, in the last layer, the mean of its heads."""
    from regard.look.document import describe

    described = describe(run)
    layer = run.subject.config.num_decoder_layers - 1
    weights = run.trace[f"decoder.layers.{layer}.cross_attention.weights"].astype(float).mean(axis=0)
    spans = [[first - 1, last - 1] for first, last in described["target"]["words"][1:]]
    spans.append([len(run.output), len(run.output)])
    rows = [weights[top : bottom + 1].mean(axis=0) for top, bottom in spans]
    return np.array([[row[left : right + 1].sum() for left, right in described["source"]["words"]] for row in rows])


def test_two_models_side_by_side(serve: Serve) -> None:
    """One sentence in two models of different depth and width; every panel can show the second."""
    other = make_subject("other", seed=5, num_decoder_layers=2, d_model=42, num_heads=7)
    both = Look(Session(make_subject(), SENTENCE, DECODE, other))
    page = serve(both, "compare")
    open_tables(page)
    first, second = both.session.unchanged
    for run in (first, second):
        card = page.locator(f"#panel section[data-run='{run.number}']")
        expect(card.locator(".versus b")).to_have_text(run.translation)
        assert_matrix(card.locator("figure table"), alignment(run))
        written = [*run.output, run.subject.config.eos_id]
        shares = [float(run.trace["probabilities"][i, each]) for i, each in enumerate(written)]
        shown = shown_in(card, ".strip small")
        assert [each.value for each in shown] == shares and all(each.reads() for each in shown)
        whole = card.locator(".note b").inner_text()
        assert reads_as(whole, math.fsum(map(math.log, shares)))
        layers = card.locator(f"[id^='run-{run.number}-layer-decoder-']")
        expect(layers).to_have_count(run.subject.config.num_decoder_layers)
    last = page.locator("#panel .card").last
    read = "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.value)))"
    *parts, whole = last.locator("tr:has(td[data-value])").evaluate_all(read)
    for i, run in enumerate((first, second)):
        counted = sum(each.numel() for each in run.subject.network.parameters())
        assert sum(row[i] for row in parts) == whole[i] == counted
    settings = last.locator("tbody th").all_inner_texts()[len(parts) + 1 :]
    assert settings == ["num_decoder_layers", "d_model", "num_heads"]
    page.click("#choice-every_panel_shows-1")
    expect(page.locator("#banner")).to_contain_text("other, the second model")
    expect(page.locator("#sentence .to")).to_have_text(second.translation)
    assert_traced(shown_in(page.locator("#strips")), second, 10)
    for view in ("overview", "attention-lines", "attention", "heads", "positions", "output"):
        turn_to(page, view)
        assert_traced(shown_in(page.locator("#panel")), second, 0)
    turn_to(page, "embeddings")
    assert_neighbours(page, second.subject.table("source").astype(float), second.source[0])
    turn_to(page, "what-if")
    with page.expect_response("**/api/whatif") as answered:
        page.click("#do-no-positions")
    changes = answered.value.json()["document"]["changes"]
    assert changes["original"] == 1 and changes["original_text"] == second.translation
    expect(page.locator("#text-before")).to_have_text(second.translation)
    page.click("#back-to-original")
    expect(page.locator("#sentence .to")).to_have_text(second.translation)
    page.click("#back-to-original")
    expect(page.locator("#sentence .to")).to_have_text(first.translation)


TODAY: dict[str, Any] = dict(
    **dict(architecture="decoder-only", d_model=48, num_heads=6, num_key_value_heads=2, position="rotary", norm="rms"),
    **dict(norm_placement="pre", feed_forward="gated-silu", biases="none", query_key_norm=True),
)


def test_the_figure_is_drawn_as_the_model_is(serve: Serve) -> None:
    look = Look(Session(make_subject(**TODAY), PROMPT, DECODE))
    page = serve(look)
    figure = page.locator("#map .figure-one")
    said = "[...box.querySelectorAll('text')].map(each => each.textContent).join(' ')"
    texts = dict(figure.locator(".box").evaluate_all(f"boxes => boxes.map(box => [box.id, {said}])"))
    assert {name for name, text in texts.items() if "≠" not in text} == {
        "box-target.embedding", "box-decoder.norm.self_attention", "box-decoder.norm.feed_forward", "box-linear", "box-softmax"
    }  # fmt: skip
    assert texts["box-decoder.self_attention"] == "Masked Grouped- Query Attention 6 heads, 2 of keys ≠"
    assert texts["box-decoder.rotation"] == "norm, rotate q, k ≠"
    assert texts["box-decoder.feed_forward"] == "Feed Forward gate: silu ≠"
    assert texts["box-decoder.before.feed_forward"] == texts["box-decoder.final"] == "RMSNorm ≠"
    plain, config = ModelConfig(), look.session.original.subject.config
    unlike = {name for name in TODAY if getattr(plain, name) != getattr(config, name)} - {"d_model", "num_heads"}
    assert len(unlike) == 8
    expect(page.locator("#map .whole li")).to_have_count(len(unlike))
    page.click("#box-decoder\\.rotation")
    expect(page.locator("#panel")).to_have_attribute("data-view", "positions")
    expect(page.locator("#box-decoder\\.rotation")).to_have_attribute("aria-current", "true")
    page.click("#choice--paper")
    expect(figure.locator("[id='box-decoder.cross_attention']")).to_have_class(re.compile("absent"))
    expect(figure.locator(".absent")).to_have_count(9)
    expect(figure.get_by_text("Add & Norm")).to_have_count(5)
    expect(figure.locator(".absent[role=button]")).to_have_count(0)
    figure.locator("[id='box-decoder.feed_forward']").click()
    expect(page.locator("#panel")).to_have_attribute("data-view", "feed-forward")


def test_the_model_of_the_paper_differs_in_nothing_from_its_figure(serve: Serve) -> None:
    page = serve(Look(Session(make_subject(), SENTENCE, DECODE)), figure="paper")
    expect(page.locator("#map .figure-one .box")).to_have_count(16)
    assert page.locator("#map .differs, #map .absent, #choice--paper").count() == 0


def test_weights_are_fetched_when_they_are_asked_for(serve: Serve) -> None:
    look = Look(Session(make_subject(d_ff=150), SENTENCE, DECODE))
    run = look.session.original
    asked: list[str] = []
    page = serve(look)
    page.on("request", lambda request: asked.append(request.url))
    turn_to(page, "weights")
    assert not any("param:" in url or "/weights/" in url for url in asked)
    page.select_option("#layer-of-weights", "encoder.layers.1")
    name = "encoder.layers.1.feed_forward.hidden.weight"
    page.locator(f"[id='weights-{name}']").click()
    figure = page.locator(f"figure[data-title='{name}']")
    figure.get_by_role("button", name="table").click()
    value = run.subject.network.state_dict()[name].double().numpy()
    assert value.shape == (150, 30)
    found = figure.locator("td").evaluate_all("cells => cells.map(cell => Number(cell.dataset.value))")
    means = [np.sqrt((value[row : row + 3, column] ** 2).mean()) for row in range(0, 150, 3) for column in range(30)]
    np.testing.assert_allclose(found, means, rtol=1e-5)
    figure.locator("canvas").press("ArrowDown")
    figure.locator("canvas").press("Enter")
    expect(page.locator("#whole-weight")).to_be_visible()
    figure.get_by_role("button", name="table").click()
    expect(figure.locator("tbody tr")).to_have_count(3)
    expect(figure.locator("tbody th").first).to_have_text("3")
    shown = shown_in(figure, "td[data-name]")
    assert_traced(shown, run, 3)
    assert [each.index for each in shown] == [(3, 0), (4, 0), (5, 0)]
    page.click("#whole-weight")
    expect(figure.locator("figcaption")).to_contain_text("blocks of 3 × 1")


def test_the_stages_of_the_text_and_the_choice_of_a_sentence(serve: Serve) -> None:
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
