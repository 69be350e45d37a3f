"""Each panel shows the numbers of the trace, to the digits it shows."""

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from browser.reading import assert_traced, reads_as, script, shown_in
from playwright.sync_api import Locator, Page, expect

from regard.look.effects import pca, probability
from regard.look.run import Run

Show = Callable[..., Page]
CROSS = "decoder.layers.1.cross_attention"


VALUES = "cells => cells.map(cell => [Number(cell.dataset.value), cell.textContent])"


def panel(page: Page) -> Locator:
    return page.locator("#panel")


def open_tables(page: Page, *titles: str) -> None:
    """The tables of these heat maps or of all, and every list that is folded."""
    figures = ", ".join(f"#panel figure[data-title='{each}']" for each in titles) or "#panel figure.matrix"
    buttons = page.locator(figures).locator("button[aria-expanded=false]")
    buttons.evaluate_all("nodes => nodes.forEach(node => node.click())")
    page.locator("#panel details").evaluate_all("nodes => nodes.forEach(node => node.open = true)")


def rows_of(table: Locator) -> list[list[str]]:
    read = "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    return table.locator("tbody tr").evaluate_all(read)


def assert_matrix(table: Locator, wanted: np.ndarray) -> None:
    """A table whose numbers follow from the trace but stand in it under no name."""
    values = table.locator("td[data-value]").evaluate_all(VALUES)
    assert len(values) == wanted.size
    for (value, text), right in zip(values, wanted.flat, strict=True):
        assert value == pytest.approx(float(right), rel=1e-5, abs=1e-5)
        assert reads_as(text, value)


def test_the_overview(show: Show, run: Run) -> None:
    page = show("overview", step=2, token=5)
    last = "norm" if run.subject.config.norm_placement == "post" else "residual"
    stations = ["source.position", f"encoder.layers.2.feed_forward.{last}", "memory"]
    open_tables(page, *stations, "target.input")
    shown = shown_in(panel(page).locator("figure[data-title='target.input'] table"))
    assert {each.index[0] for each in shown} == {0, 1, 2}, "what is not written yet is not shown"
    shown = shown_in(panel(page))
    counted = Counter(each.name for each in shown)
    for name in stations:
        assert counted[name] >= run.trace[name].size, f"{name} is not there whole"
    assert_traced(shown, run)
    strips = shown_in(page.locator("#strips"))
    assert_traced(strips, run, len(run.source) + len(run.output) + 1)


@pytest.mark.parametrize("heads", ["one", "all"])
def test_lines(show: Show, run: Run, heads: str) -> None:
    page = show("attention-lines", attention=CROSS, heads=heads, head=3, step=4, threshold=0.25)
    open_tables(page)
    layers = range(2) if heads == "all" else [1]
    chosen = [3] if heads == "one" else list(range(6))
    strings = [string.removeprefix("▁") for string in run.trace.metadata["source_tokens"]]
    expected = {
        (layer, head, key): run.trace[f"decoder.layers.{layer}.cross_attention.weights"][head, :5, key]
        for layer in layers
        for head in chosen
        for key in range(len(strings))
    }
    rows = rows_of(panel(page).locator("details table"))
    assert len(rows) == len(expected)
    for key, layer, head, weight in rows:
        place = (int(layer) - 1, int(head) - 1, strings.index(key.removeprefix("·")))
        assert reads_as(weight, float(expected[place][4]))
    strong = sum(int((weights >= 0.25).sum()) for weights in expected.values())
    count = page.locator("#line-count").inner_text()
    assert count == f"{strong} of {5 * len(expected)} lines"
    assert_traced(shown_in(panel(page), ".line-weight"), run)


def test_attention(show: Show, run: Run) -> None:
    path = CROSS
    page = show("attention", attention=path, head=2, step=3, token=2)
    open_tables(page)
    shown = shown_in(panel(page))
    counted = Counter(each.name for each in shown)
    kept = [name for name in run.trace if name.startswith(path + ".")]
    names = "query key value scores scaled masked weights context concatenated output residual norm"
    assert {name.rsplit(".", 1)[1] for name in kept} >= set(names.split())
    for name in kept:
        value = run.trace[name]
        assert counted[name] >= (value[2] if value.ndim == 3 else value).size, name
    assert all(each.index[0] == 2 for each in shown if len(each.index) == 3)
    assert_traced(shown, run)


HEADS = """rows => rows.map(row => [...row.querySelectorAll("[data-value]")].map(
    cell => [cell.dataset.name ?? "", cell.dataset.index ?? "", cell.dataset.value, cell.textContent]))"""


def test_all_heads(show: Show, run: Run) -> None:
    page = show("heads")
    open_tables(page)
    rows = panel(page).locator("details tbody tr")
    expect(rows).to_have_count((6 + 2 + 2) * 6)
    assert_traced(shown_in(panel(page)), run, (6 + 2 + 2) * 6)
    for (name, index, value, _), (_, _, entropy, bits) in rows.evaluate_all(HEADS):
        weights = run.trace[name][int(index.split(",")[0])].astype(np.float64)
        assert float(value) == weights.flatten()[1:].max()
        logs = np.log2(np.where(weights > 0, weights, 1))
        assert float(entropy) == pytest.approx(-(weights * logs).sum(axis=1).mean(), rel=1e-5)
        assert reads_as(bits, float(entropy))
    atlas = panel(page).locator("canvas.atlas")
    expect(atlas).to_have_count(3)
    weights = np.stack([run.trace[f"decoder.layers.{i}.cross_attention.weights"] for i in range(2)])
    bright = np.array(atlas.nth(2).evaluate(script("brightness"), list(weights.shape)), float)
    order = np.argsort(weights.flatten(), kind="stable")
    # The scale has 256 steps and grows in red plus green with the weight.
    assert (np.diff(bright[order]) >= -1).all() and np.ptp(bright) > 100


def test_positions(show: Show, run: Run) -> None:
    page = show("positions")
    open_tables(page)
    position = run.trace["source.position"]
    assert_traced(shown_in(panel(page)), run, position.size + 3 * len(position))
    apart = np.linalg.norm(position[:, None].astype(float) - position[None], axis=-1)
    assert_matrix(panel(page).locator("figure[data-title^=distance] table"), apart)
    near = re.search(r"([\d.]+) between 0 and 1, ([\d.]+) between 5 and 6", panel(page).inner_text())
    assert near and reads_as(near.group(1), apart[0, 1]) and reads_as(near.group(2), apart[5, 6])
    assert len(rows_of(page.locator("#panel .curves + p + details table"))) == len(run.source)


CENTRES = """dots => dots.map(dot => {
    const box = dot.firstChild.getBBox();
    return [dot.id, box.x + box.width / 2, box.y + box.height / 2];
})"""


def test_embeddings(show: Show, run: Run) -> None:
    page = show("embeddings", token=5)
    open_tables(page)
    assert_neighbours(page, run.subject.table("source").astype(float), run.source[5])
    points = rows_of(page.locator("#panel .scatter + details table"))
    assert len(points) == len(run.source) + 1 + len(run.output)
    plane = pca(run)
    places = {f"dot-{side}-{i}": point for side in ("source", "target") for i, point in enumerate(plane[side])}
    dots = page.locator("#panel .dot").evaluate_all(CENTRES)
    assert {name for name, _, _ in dots} == set(places)
    drawn = np.array([[x, -y] for _, x, y in dots])
    right = np.array([places[name] for name, _, _ in dots])
    for axis in range(2):
        slope, start = np.polyfit(right[:, axis], drawn[:, axis], 1)
        assert slope > 0
        np.testing.assert_allclose(drawn[:, axis], slope * right[:, axis] + start, atol=0.1)
    kept = re.search(r"holds ([\d.]+ %)", panel(page).inner_text())
    assert kept and reads_as(kept.group(1), sum(plane["explained"]))


def assert_neighbours(page: Page, table: np.ndarray, token: int) -> None:
    """The tokens with the largest cosine, best first."""
    expect(page.locator("#neighbours li")).not_to_have_count(0)
    cosines = table @ table[token] / np.linalg.norm(table, axis=1) / np.linalg.norm(table[token])
    shown = shown_in(page.locator("#neighbours"), "[data-role=cosine]")
    best = [int(each) for each in np.argsort(-cosines) if each != token][: len(shown)]
    assert [each.index[0] for each in shown] == best
    for each in shown:
        assert each.value == pytest.approx(cosines[each.index[0]], rel=1e-4) and each.reads()


def test_output(show: Show, run: Run) -> None:
    page = show("output", step=3)
    shown = shown_in(panel(page))
    names = Counter(each.name for each in shown)
    row = run.trace["probabilities"][3]
    most = sorted(each.index[1] for each in shown if each.name == "probabilities")
    assert most == sorted(np.argsort(-row)[: len(most)].tolist())
    assert names["logits"] == 1 and names["output"] == len(run.output) + 1
    assert names["steps.1.scores"] == len(run.trace["steps.1.scores"])
    assert_traced(shown, run)
    written = [*run.output, run.subject.config.eos_id]
    logs = np.log([run.trace["probabilities"][i, each] for i, each in enumerate(written)])
    sums = [cells[2] for cells in rows_of(panel(page).locator(".table-scroll table"))]
    for text, value in zip(sums, np.cumsum(logs), strict=True):
        assert reads_as(text, float(value))
    open_tables(page)
    tree = rows_of(page.locator("#panel details table"))
    assert len(tree) == sum(len(step.beams) for step in run.found.history)
    for word in ("visits", "elephants"):
        page.fill("#typed-word", word)
        with page.expect_response("**/api/probability*"):
            page.keyboard.press("Enter")
        right = probability(run, 3, word)["probabilities"]
        expect(page.locator("#typed-answer [data-role=typed]")).to_have_count(len(right))
        typed = page.locator("#typed-answer [data-role=typed]").evaluate_all(VALUES)
        assert [value for value, _ in typed] == right
        assert all(reads_as(text, value) for value, text in typed)
        if len(right) > 1:
            whole = page.locator("#typed-answer b").last.inner_text()
            assert reads_as(whole, float(np.prod(right)))


def test_the_tour(show: Show, run: Run) -> None:
    page = show("overview")
    page.click("#start-tour")
    tour = page.locator("#tour")
    expect(tour).to_be_visible()
    total = int(tour.locator(".number").inner_text().split("/")[1])
    assert total >= 12
    texts, numbers = [], 0
    for step in range(1, total + 1):
        expect(tour.locator(".number")).to_have_text(f"{step} / {total}")
        shown = shown_in(tour)
        numbers += len(shown)
        assert_traced(shown, run, 0)
        link = tour.locator(".code-link").get_attribute("title") or ""
        assert re.fullmatch(r"computed in src/regard/[\w/]+\.py, line \d+", link)
        code = tour.locator(".code-link").evaluate("link => link.href")
        assert '<mark id="here">' in page.request.get(code).text()
        texts.append(tour.locator("p").inner_text())
        page.click("#tour-on")
    assert numbers >= 9
    expect(tour).to_be_hidden()
    word, *quoted = re.findall(r"“(.+?)”(?: gets)? (\d[\d.]* %)", texts[11])
    tokens = [*run.trace.metadata["target_tokens"][-len(run.output) :], "</s>"]
    row = [string.removeprefix("▁") for string in tokens].index(word[0].removeprefix("·"))
    most = np.sort(run.trace["probabilities"][row])[:-3:-1]
    assert len(quoted) == 1
    assert all(any(reads_as(text, float(p)) for p in most) for text in (word[1], quoted[0][1]))
