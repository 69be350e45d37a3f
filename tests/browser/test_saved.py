"""The page as one file, from disk, with no network at all; and the page of weights from elsewhere."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from browser.conftest import Window, address_of
from browser.reading import assert_traced, shown_in
from browser.test_arithmetic import click_cell, close_dock, read_dock
from browser.test_panels import open_tables
from browser.test_use import VIEWS, turn_to
from playwright.sync_api import Page, expect

import regard
from regard.look.run import Run

Windows = Callable[..., Window]


def test_the_same_numbers_as_served(show: Callable[..., Page], windows: Windows, saved: Path, run: Run) -> None:
    state = {"attention": "decoder.layers.1.cross_attention", "head": 4, "step": 2}
    alone = windows(offline=True).goto(address_of(saved.as_uri(), "overview", **state))
    pages = [show("overview", **state), alone]
    for view in VIEWS[:-1]:
        found = []
        for page in pages:
            turn_to(page, view)
            if view not in ("overview", "attention", "feed-forward"):
                open_tables(page)
            if view == "embeddings":
                expect(page.locator("#neighbours li").first).to_be_visible()
            shown = shown_in(page.locator("#panel"), "[data-value]")
            found.append([each for each in shown if each.name != "logits"])
        served, kept = found
        if view == "embeddings":
            # The file may hold a few neighbours more.
            assert set(served) <= set(kept)
        else:
            assert kept == served
        assert len(served) > 1
        assert_traced([each for each in kept if each.name], run, 0)
    check_arithmetic(alone, run, state["attention"])
    page = alone
    turn_to(page, "output")
    page.fill("#typed-word", "visits")
    page.keyboard.press("Enter")
    expect(page.locator("#typed-answer")).to_contain_text("%")


def check_arithmetic(page: Page, run: Run, path: object) -> None:
    turn_to(page, "attention")
    for title, row, column in (*(("query", 2, 9), ("scores", 1, 4)), *(("weights", 1, 4), ("output", 3, 7))):
        click_cell(page, run, f"{path}.{title}", row, column)
        computed, traced, _, _ = read_dock(page)
        assert_traced([traced], run)
        assert computed == pytest.approx(traced.value, rel=1e-4, abs=1e-5)
        close_dock(page)


def test_weights_from_elsewhere(windows: Windows, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    source, target = ["the", "cat", "sleeps", "."], ["le", "chat", "dort", "ici", "."]

    def shares(*shape: int) -> np.ndarray:
        weights = rng.random(shape).astype(np.float32)
        return weights / weights.sum(axis=-1, keepdims=True)

    given = {"encoder": shares(2, 3, 4, 4), "decoder": shares(1, 2, 5, 5), "cross": shares(1, 2, 5, 4)}
    path = tmp_path / "attention.html"
    regard.look.attention(**given, source=source, target=target).save(path)
    window = windows(offline=True)
    page = window.goto(address_of(path.as_uri(), "heads"))
    assert page.locator("#tabs button").all_inner_texts() == ["Attention lines", "Attention", "All heads"]
    by_name = {}
    kinds = (("encoder", "encoder", "self"), ("decoder", "decoder", "self"), ("cross", "decoder", "cross"))
    for kind, stack, name in kinds:
        for i, value in enumerate(given[kind]):
            by_name[f"{stack}.layers.{i}.{name}_attention.weights"] = value
    open_tables(page)
    expect(page.locator("#panel details tbody tr")).to_have_count(2 * 3 + 2 + 2)
    shown = shown_in(page.locator("#panel"))
    assert {each.name for each in shown} == set(by_name)
    for each in shown:
        assert each.value == float(by_name[each.name][each.index]) and each.reads()
    path = tmp_path / "encoder.html"
    regard.look.attention(encoder=np.full((1, 2, 3, 3), 1 / 3), source=["a", "b", "c"]).save(path)
    page = window.goto(path.as_uri())
    expect(page.locator("#line-count")).to_have_text(re.compile("9 of 9 lines"))


def test_in_a_notebook_it_shows_itself(windows: Windows, look: regard.look.view.Look, tmp_path: Path) -> None:
    """As a notebook does: its HTML inside another page."""
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{look._repr_html_()}", encoding="utf-8")
    window = windows(offline=True)
    window.page.goto(path.as_uri())
    frame = window.page.frame_locator("iframe")
    expect(frame.locator("body[data-ready=true]")).to_be_visible()
    expect(frame.locator("#sentence .to")).to_have_text(look.text)
    frame.locator("#start-tour").click()
    frame.locator("#tour-on").click()
    expect(frame.locator("#tour .number")).to_contain_text("2 / ")
    frame.locator("#panel .code-link").first.click()
    source = Path(regard.__file__).parent / "model" / "embedding.py"
    expect(frame.locator("dialog code")).to_have_text("src/regard/model/embedding.py")
    assert frame.locator("dialog pre").inner_text().strip() == source.read_text(encoding="utf-8").strip()
    assert frame.locator("dialog mark").inner_text() in source.read_text(encoding="utf-8").splitlines()
