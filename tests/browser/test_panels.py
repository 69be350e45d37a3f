"""Each panel shows the numbers of the trace, to the digits it shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from browser.reading import assert_traced, reads_as, shown_in
from playwright.sync_api import Locator, Page, expect

from regard.look.document import pca, probability
from regard.look.session import Run

Show = Callable[..., Page]
CROSS = "decoder.layers.1.cross_attention"


def panel(page: Page) -> Locator:
    return page.locator("#panel")


def open_tables(page: Page) -> None:
    """Every heat map's table, and every list that is folded."""
    page.locator("#panel figure.matrix button[aria-expanded=false]").evaluate_all(
        "nodes => nodes.forEach(node => node.click())"
    )
    page.locator("#panel details").evaluate_all("nodes => nodes.forEach(node => node.open = true)")


def rows_of(table: Locator) -> list[list[str]]:
    return table.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    )


def assert_matrix(table: Locator, wanted: np.ndarray) -> None:
    """A table whose numbers follow from the trace but stand in it under no name."""
    values = table.locator("td[data-value]").evaluate_all(
        "cells => cells.map(cell => [Number(cell.dataset.value), cell.textContent])"
    )
    assert len(values) == wanted.size
    for (value, text), right in zip(values, wanted.flat, strict=True):
        assert value == pytest.approx(float(right), rel=1e-5, abs=1e-5)
        assert reads_as(text, value)


def test_the_overview(show: Show, run: Run) -> None:
    page = show("overview", step=8, token=5)
    open_tables(page)
    shown = shown_in(panel(page))
    stations = [
        *("source.embedding", "source.position", "source.input"),
        *(f"encoder.layers.{i}.feed_forward.residual" for i in range(6)),
        "memory",
        *("target.embedding", "target.position", "target.input"),
        *(f"decoder.layers.{i}.feed_forward.residual" for i in range(2)),
        "decoder.final_norm",
    ]
    if run.subject.config.norm_placement == "post":
        stations = [name.replace("residual", "norm") for name in stations]
        stations.remove("decoder.final_norm")
    counted = Counter(each.name for each in shown)
    for name in stations:
        assert counted[name] >= run.trace[name].size, f"{name} is not there whole"
    assert_traced(shown, run)
    strips = shown_in(page.locator("#strips"))
    assert_traced(strips, run, len(run.source) + len(run.output) + 1)


def test_the_overview_writes_row_by_row(show: Show, run: Run) -> None:
    page = show("overview", step=2)
    open_tables(page)
    shown = shown_in(panel(page).locator("figure[data-title='target.input'] table"))
    assert {each.index[0] for each in shown} == {0, 1, 2}


@pytest.mark.parametrize("heads", ["one", "layer", "all"])
def test_lines(show: Show, run: Run, heads: str) -> None:
    page = show("attention-lines", attention=CROSS, heads=heads, head=3, step=4, threshold=0.25)
    open_tables(page)
    layers = range(2) if heads == "all" else [1]
    chosen = [3] if heads == "one" else list(range(6))
    strings = [string.removeprefix("▁") for string in run.trace.metadata["source_tokens"]]
    expected = {
        (layer, head, key): run.trace[f"decoder.layers.{layer}.cross_attention.weights"][
            head, :5, key
        ]
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


def test_lines_between_whole_words(show: Show, run: Run) -> None:
    page = show(
        "attention-lines",
        attention="encoder.layers.2.self_attention",
        head=1,
        unit="words",
        token=5,
    )
    open_tables(page)
    document = page.evaluate("fetch('api/document').then(answer => answer.json())")
    spans = document["source"]["words"]
    weights = run.trace["encoder.layers.2.self_attention.weights"][1].astype(np.float64)
    [(first, last)] = [span for span in spans if span[0] <= 5 <= span[1]]
    row = weights[first : last + 1].mean(axis=0)
    wanted = sorted((row[a : b + 1].sum() for a, b in spans), reverse=True)
    shown = rows_of(panel(page).locator("details table"))
    assert [reads_as(cells[-1], value) for cells, value in zip(shown, wanted, strict=True)] == [
        True
    ] * len(spans)


@pytest.mark.parametrize(
    "path", ["encoder.layers.4.self_attention", "decoder.layers.1.self_attention", CROSS]
)
def test_attention(show: Show, run: Run, path: str) -> None:
    page = show("attention", attention=path, head=2, step=3, token=2)
    open_tables(page)
    shown = shown_in(panel(page))
    counted = Counter(each.name for each in shown)
    kept = [name for name in run.trace if name.startswith(path + ".")]
    assert {name.rsplit(".", 1)[1] for name in kept} >= {
        *("query", "key", "value", "scores", "scaled", "masked", "weights"),
        *("context", "concatenated", "output", "residual", "norm"),
    }
    for name in kept:
        value = run.trace[name]
        assert counted[name] >= (value[2] if value.ndim == 3 else value).size, name
    assert all(each.index[0] == 2 for each in shown if len(each.index) == 3)
    assert_traced(shown, run)


def test_each_hidden_cell_says_why(show: Show, run: Run) -> None:
    page = show("attention", attention="decoder.layers.0.self_attention", head=4, step=3)
    open_tables(page)
    strings = ["<s>", *run.trace.metadata["target_tokens"]]
    strings = strings[-len(run.trace["decoder.layers.0.self_attention.masked"][0]) :]
    for title, text in (("masked", "−∞"), ("weights", "0.0000")):
        cells = page.locator(f"figure[data-title={title}] td[data-value]").evaluate_all(
            "cells => cells.map(cell => [cell.dataset.index, cell.title, cell.textContent])"
        )
        assert len(cells) == len(strings) ** 2
        for index, why, shown in cells:
            _, row, column = (int(each) for each in index.split(","))
            if column > row:
                assert why.startswith("future: ") and shown == text
                assert f"“{strings[row]}”" in why and f"“{strings[column]}”" in why
            else:
                assert why == "" and shown != "−∞"
    canvas = page.locator("figure[data-title=masked] canvas")
    size = canvas.bounding_box()
    assert size is not None
    cell = size["width"] / len(strings), size["height"] / len(strings)
    canvas.hover(position={"x": 6.5 * cell[0], "y": 1.5 * cell[1]})
    expect(page.locator("figure[data-title=masked] .reason")).to_contain_text("future: ")
    expect(canvas).to_have_attribute("aria-label", re.compile("−∞ .future: "))


def test_padding_is_a_reason_of_its_own(show: Show) -> None:
    page = show("attention")
    said = page.evaluate(
        """async () => {
            const { parsePath, reasonHidden } = await import("./anatomy.js");
            const doc = await (await fetch("api/document")).json();
            doc.source.token_strings[1] = "<pad>";
            const part = parsePath("encoder.layers.0.self_attention");
            return [reasonHidden(doc, part, 0, 1, -Infinity), reasonHidden(doc, part, 0, 1, 0.5)];
        }"""
    )
    assert said[0].startswith("padding: ") and said[1] is None


@pytest.mark.parametrize("stack, layer", [("encoder", 5), ("decoder", 0)])
def test_feed_forward(show: Show, run: Run, stack: str, layer: int) -> None:
    path = f"{stack}.layers.{layer}.feed_forward"
    page = show("feed-forward", attention=path, step=1)
    open_tables(page)
    shown = shown_in(panel(page))
    counted = Counter(each.name for each in shown)
    for name in ("norm", "hidden", "activated", "output", "residual"):
        assert counted[f"{path}.{name}"] >= run.trace[f"{path}.{name}"].size
    assert_traced(shown, run)
    active = (run.trace[f"{path}.activated"] > 0).mean() * 100
    share = re.search(r"([\d.]+) % of the features are positive", panel(page).inner_text())
    assert share and reads_as(share.group(1), float(active))


def test_all_heads(show: Show, run: Run) -> None:
    page = show("heads")
    open_tables(page)
    layers = {"encoder.self": 6, "decoder.self": 2, "decoder.cross": 2}
    expect(panel(page).locator("details tbody tr")).to_have_count(sum(layers.values()) * 6)
    shown = shown_in(panel(page))
    assert_traced(shown, run, sum(layers.values()) * 6)
    rows = (
        panel(page)
        .locator("details tbody tr")
        .evaluate_all(
            """rows => rows.map(row => [...row.querySelectorAll("[data-value]")].map(
            cell => [cell.dataset.name ?? "", cell.dataset.index ?? "", cell.dataset.value, cell.textContent]))"""
        )
    )
    for (name, index, value, _), (_, _, entropy, bits) in rows:
        weights = run.trace[name][int(index.split(",")[0])].astype(np.float64)
        others = weights.flatten()[1:]
        assert float(value) == others.max()
        logs = np.log2(np.where(weights > 0, weights, 1))
        assert float(entropy) == pytest.approx(-(weights * logs).sum(axis=1).mean(), rel=1e-5)
        assert reads_as(bits, float(entropy))


def test_the_atlas_is_painted_from_the_weights(show: Show, run: Run) -> None:
    page = show("heads")
    expect(panel(page).locator("canvas.atlas")).to_have_count(3)
    weights = np.stack([run.trace[f"decoder.layers.{i}.cross_attention.weights"] for i in range(2)])
    pixels = (
        page.locator("canvas.atlas")
        .nth(2)
        .evaluate(
            """(canvas, [layers, heads, rows, columns]) => {
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            const gap = 6, size = canvas.width / heads - gap, height = canvas.height / layers - gap;
            const found = [];
            for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++)
                for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
                    const x = Math.floor(h * (size + gap) + (c + 0.5) * size / columns);
                    const y = Math.floor(l * (height + gap) + (r + 0.5) * height / rows);
                    const at = 4 * (y * canvas.width + x);
                    found.push(data[at] + data[at + 1]);
                }
            return found;
        }""",
            list(weights.shape),
        )
    )
    bright = np.array(pixels, float)
    order = np.argsort(weights.flatten(), kind="stable")
    # The scale has 256 steps and grows in red plus green with the weight.
    assert (np.diff(bright[order]) >= -1).all() and np.ptp(bright) > 100


def test_positions(show: Show, run: Run) -> None:
    page = show("positions")
    open_tables(page)
    position = run.trace["source.position"]
    shown = shown_in(panel(page))
    assert_traced(shown, run, position.size + 3 * len(position))
    apart = np.linalg.norm(position[:, None].astype(float) - position[None], axis=-1)
    assert_matrix(panel(page).locator("figure[data-title^=distance] table"), apart)
    near = re.search(
        r"([\d.]+) between 0 and 1, ([\d.]+) between 5 and 6", panel(page).inner_text()
    )
    assert near and reads_as(near.group(1), apart[0, 1]) and reads_as(near.group(2), apart[5, 6])


def test_two_simpler_ideas_fail_where_the_lectures_say(show: Show) -> None:
    page = show("positions")
    verdicts = page.locator("#criteria tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.className))"
    )
    assert verdicts == [
        ["holds", "holds", "holds"],
        ["holds", "fails", "holds"],
        ["holds", "holds", "fails"],
        ["holds", "holds", "holds"],
    ]


def test_words_in_space(show: Show, run: Run) -> None:
    page = show("embeddings", token=5)
    open_tables(page)
    expect(page.locator("#neighbours li")).not_to_have_count(0)
    table = run.subject.table("source").astype(float)
    token = run.source[5]
    cosines = table @ table[token] / np.linalg.norm(table, axis=1) / np.linalg.norm(table[token])
    shown = shown_in(page.locator("#neighbours"), "[data-role=cosine]")
    best = [int(each) for each in np.argsort(-cosines) if each != token][: len(shown)]
    assert [each.index[0] for each in shown] == best
    for each in shown:
        assert each.value == pytest.approx(cosines[each.index[0]], rel=1e-4) and each.reads()


def test_the_plane_is_where_the_words_differ_most(show: Show, run: Run) -> None:
    page = show("embeddings")
    dots = page.locator("#panel .dot").evaluate_all(
        """dots => dots.map(dot => {
            const box = dot.firstChild.getBBox();
            return [dot.id, box.x + box.width / 2, box.y + box.height / 2];
        })"""
    )
    plane = pca(run)
    points = {
        f"dot-{side}-{i}": point
        for side in ("source", "target")
        for i, point in enumerate(plane[side])
    }
    assert {name for name, _, _ in dots} == set(points)
    drawn = np.array([[x, -y] for _, x, y in dots])
    right = np.array([points[name] for name, _, _ in dots])
    for axis in range(2):
        slope, start = np.polyfit(right[:, axis], drawn[:, axis], 1)
        assert slope > 0
        np.testing.assert_allclose(drawn[:, axis], slope * right[:, axis] + start, atol=0.1)
    kept = re.search(r"holds ([\d.]+ %)", panel(page).inner_text())
    assert kept and reads_as(kept.group(1), sum(plane["explained"]))


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


@pytest.mark.parametrize("word", ["visits", "elephants"])
def test_the_probability_of_a_word_that_is_typed(show: Show, run: Run, word: str) -> None:
    page = show("output", step=2)
    page.fill("#typed-word", word)
    page.keyboard.press("Enter")
    expect(page.locator("#typed-answer b").first).to_be_visible()
    right = probability(run, 2, word)["probabilities"]
    shown = page.locator("#typed-answer [data-role=typed]").evaluate_all(
        "nodes => nodes.map(node => [Number(node.dataset.value), node.textContent])"
    )
    assert [value for value, _ in shown] == right
    assert all(reads_as(text, value) for value, text in shown)
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
    numbers = 0
    for step in range(1, total + 1):
        expect(tour.locator(".number")).to_have_text(f"{step} / {total}")
        shown = shown_in(tour)
        numbers += len(shown)
        assert_traced(shown, run, 0)
        link = tour.locator(".code-link").get_attribute("title") or ""
        assert re.fullmatch(r"computed in src/regard/[\w/]+\.py, line \d+", link)
        code = tour.locator(".code-link").evaluate("link => link.href")
        assert '<mark id="here">' in page.request.get(code).text()
        page.click("#tour-on")
    assert numbers >= 9
    expect(tour).to_be_hidden()


def test_the_tour_quotes_the_output(show: Show, run: Run) -> None:
    page = show("overview", tour=11)
    text = page.locator("#tour p").inner_text()
    quoted = re.findall(r"“(.+?)”(?: gets)? (\d[\d.]* %)", text)
    assert len(quoted) == 2
    written = {
        string.removeprefix("▁"): row
        for string, row in zip(
            [*run.trace.metadata["target_tokens"][-len(run.output) :], "</s>"],
            run.trace["probabilities"],
            strict=True,
        )
    }
    row = written[quoted[0][0].removeprefix("·")]
    ranked = np.sort(row)[::-1]
    assert any(reads_as(quoted[0][1], float(p)) for p in ranked[:2])
    assert any(reads_as(quoted[1][1], float(p)) for p in ranked[:2])
