"""A run of `regard train --recipe learn-reverse`, seen to learn: the slider, the curves, a training step."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from browser.conftest import Window, address_of
from browser.reading import shown_in
from playwright.sync_api import Page, expect
from web_fixtures import serving

from regard.look.live import live_session
from regard.look.server import Server
from regard.look.view import look_at
from regard.train.recipe import parse_settings, read_recipe
from regard.train.run import train
from regard.train.snapshots import list_snapshots

TEXT, WRITTEN = "a b c d e f", "f e d c b a"
SHORTER = ["steps=450", "validate_every=450", "warmup=40"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lesson") / "run"
    request = read_recipe("learn-reverse").changed(parse_settings(SHORTER, ["train"]), "the test")
    assert train(request, folder, show_progress=False)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(look_at(folder, TEXT).serve()) as server:
        yield server


def slide(page: Page, stop: int) -> None:
    """Move the slider, as a hand does, and wait until every view has followed."""
    drawn = page.locator("#panel").get_attribute("data-drawn")
    page.locator("#snapshot").evaluate(
        "(slider, stop) => { slider.value = stop; slider.dispatchEvent(new Event('input')); }", stop
    )
    page.wait_for_function("drawn => document.getElementById('panel').dataset.drawn !== drawn", arg=drawn)


def test_the_anti_diagonal_rises_over_the_slider(window: Window, server: Server, folder: Path) -> None:
    """With teacher forcing, so that it is the same six letters at every step."""
    page = window.goto(address_of(server.url, "learning"))
    steps = list_snapshots(folder)
    slide(page, len(steps) - 1)
    page.locator("#reference").fill(WRITTEN)
    page.locator("#take-step").click()
    expect(page.locator("#gradient")).to_be_visible()
    seen: list[float] = []
    for stop in (0, len(steps) // 2, len(steps) - 1):
        slide(page, stop)
        expect(page.locator("#snapshot-told")).to_contain_text(f"step {steps[stop]}")
        run = server.session.learning(0, steps[stop], WRITTEN)
        weights = run.trace["decoder.layers.0.cross_attention.weights"]
        mean = max(float(np.mean([head[i, 5 - i] for i in range(6)])) for head in weights)
        # The page may still be drawing an earlier answer; pytest ends a wait that never ends.
        cells = page.locator("#panel"), "td[data-role=anti-diagonal]"
        while (value := max(each.value for each in shown_in(*cells))) != pytest.approx(mean, rel=1e-5):
            page.wait_for_timeout(50)
        seen.append(value)
    assert seen[0] < 0.3 and seen[-1] > 0.6, seen


def test_the_output_and_the_open_number_follow_the_slider(window: Window, server: Server, folder: Path) -> None:
    name = "encoder.layers.0.feed_forward.hidden"
    page = window.goto(address_of(server.url, "output", number=f"{name},2,5"))
    steps = list_snapshots(folder)
    expect(page.locator("#snapshot-told")).to_contain_text("the finished model")
    expect(page.locator("#sentence .to")).to_have_text(WRITTEN)
    written = []
    for stop in (len(steps) // 2, len(steps) - 1):
        slide(page, stop)
        expect(page.locator("#snapshot-told")).to_contain_text(f"step {steps[stop]}")
        run = server.session.learning(0, steps[stop])
        written.append(page.locator("#sentence .to").text_content())
        wanted = float(run.trace[name][2, 5])
        expect(page.locator("#explanation [data-role=traced]")).to_have_attribute("data-value", str(wanted))
        computed = page.locator("#explanation [data-role=computed]").get_attribute("data-value")
        assert written[-1] == run.translation and float(computed or "nan") == pytest.approx(wanted, rel=1e-4)
    assert written[0] != written[1] == WRITTEN


def test_the_page_follows_a_run_to_its_end(window: Window, folder: Path, tmp_path: Path) -> None:
    """It begins at the random start, and shows the newest snapshot with no hand on the slider."""
    kept = shutil.copytree(folder, tmp_path / "run") / "result.json"
    kept.rename(tmp_path / "result.json")
    with serving(Server(lambda: live_session(tmp_path / "run"))) as server:
        told = window.goto(address_of(server.url, "learning")).locator("#snapshot-told")
        expect(told).to_contain_text(f"step {list_snapshots(folder)[-1]}", timeout=120_000)
        (tmp_path / "result.json").rename(kept)
        expect(told).to_contain_text("the finished model", timeout=120_000)


def test_a_saved_file_has_the_slider_too(windows: Callable[..., Window], folder: Path, tmp_path: Path) -> None:
    """With no network the page runs each snapshot itself, on any sentence; a step is taken apart by Python alone."""
    look = look_at(folder, TEXT)
    look.save(tmp_path / "lesson.html")
    page = windows(offline=True).goto(address_of((tmp_path / "lesson.html").as_uri(), "learning"))
    steps = list_snapshots(folder)
    expect(page.locator("#snapshot-told")).to_contain_text("the finished model")
    for text in (TEXT, "b c d"):
        for stop in (len(steps) // 2, len(steps) - 1):
            slide(page, stop)
            expect(page.locator("#snapshot-told")).to_contain_text(f"step {steps[stop]}")
            run = look.session.learning(look.session.text(text).number, steps[stop])
            expect(page.locator("#sentence .to")).to_have_text(run.translation)
            weights = run.trace["decoder.layers.0.cross_attention.weights"]
            most = min(weights.shape[1:]) - 1
            found = max(sum(head[i, i] for i in range(most)) / max(1, most) for head in weights)
            shown = max(each.value for each in shown_in(page.locator("#panel"), "td[data-role=diagonal]"))
            assert shown == pytest.approx(found, rel=1e-4), (text, stop)
        page.fill("#ask-text", "b c d")
        page.keyboard.press("Enter")
        # Its answer shows the finished model, whatever the slider asked meanwhile.
        expect(page.locator("#sentence .from")).to_have_text("b c d")
    assert not page.locator("#take-step").count()
    slide(page, len(steps))
    expect(page.locator("#snapshot-told")).to_contain_text("the finished model")
    assert page.locator("#ask-model option").count() == 1


def test_a_training_step_is_taken_apart(window: Window, server: Server, folder: Path) -> None:
    page = window.goto(address_of(server.url, "learning"))
    steps = list_snapshots(folder)
    stop = len(steps) // 2
    slide(page, stop)
    page.locator("#reference").fill(WRITTEN)
    page.locator("#take-step").click()
    expect(page.locator("#gradient")).to_be_visible()
    run = server.session.learning(0, steps[stop], WRITTEN)
    assert run.step is not None
    losses = shown_in(page.locator("#panel"), "td[data-role=loss]")
    assert [each.value for each in losses] == pytest.approx(run.step.losses)
    norms = shown_in(page.locator("#map"), "[data-role=gradient-norm]")
    assert {"logits", "decoder.layers.0.cross_attention.output", "source.embedding"} <= {each.name for each in norms}
    for each in norms:
        assert each.value == pytest.approx(float(np.linalg.norm(run.step.gradients[each.name])), rel=1e-5)
        assert each.reads()
    page.locator("#panel figure.matrix canvas").first.press("Enter")
    dock = page.locator("#explanation")
    whose = "gradient of decoder layer 1, cross-attention, head 1, weights: “<s>” → “a”."
    expect(dock.locator(".dock-title strong")).to_have_text(whose)
    expect(dock.locator("[data-role=traced]")).to_be_visible()
    places = (dock.locator(f"[data-role={role}]") for role in ("traced", "computed"))
    traced, computed = (float(place.get_attribute("data-value") or "nan") for place in places)
    assert computed == pytest.approx(traced, rel=1e-3, abs=1e-8)
    dock.locator("button.operand").first.click()
    expect(dock.locator(".dock-title code")).to_contain_text("grad:")
    name = "decoder.layers.0.feed_forward.output.weight"
    page.locator("#gradient").select_option(f"after:{name}")
    page.locator(f"#panel figure[data-title='after:{name}'] canvas").press("Enter")
    expect(dock.locator(".dock-title strong")).to_have_text("the weight at [0, 0] after the step.")
    expect(dock.locator(".dock-title")).to_contain_text("Adam's update")
    assert float(dock.locator("[data-role=traced]").get_attribute("data-value") or "nan") == run.step.after[name][0, 0]
