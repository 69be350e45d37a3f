"""The arithmetic of a number that is clicked adds up to the traced value, and every operand is traced too."""

import re
from collections.abc import Callable

import pytest
from browser.reading import Shown, assert_traced, reads_as, shown_in
from playwright.sync_api import Locator, Page, expect

from regard.look.run import Run

Show = Callable[..., Page]
ENCODER, DECODER = "encoder.layers.3.self_attention", "decoder.layers.1.self_attention"
CROSS, FEED_FORWARD = "decoder.layers.0.cross_attention", "decoder.layers.1.feed_forward"

SUMS = {"query", "key", "value", "scores", "context", "output", "hidden"}
"""what is nothing but a sum of products, with a bias where the model has one"""

Cell = tuple[str, int, int]
"""the title of a heat map, a row and a column"""

STATIONS: list[Cell] = [
    *(("source.embedding", 2, 7), ("source.position", 4, 9), ("target.input", 3, 11)),
    *(("memory", 5, 101), ("decoder.final_norm", 6, 200)),
]
STATIONS_SHOWN = {name for name, _, _ in STATIONS}
ATTENTION: list[Cell] = [
    *(("query", 3, 17), ("key", 2, 5), ("value", 1, 60)),
    *(("scores", 4, 2), ("scaled", 4, 2), ("masked", 4, 2), ("weights", 4, 2)),
    *(("context", 4, 33), ("concatenated", 4, 97), ("output", 4, 301)),
    *(("residual", 4, 301), ("norm", 4, 301)),
]
FEED_FORWARD_CELLS: list[Cell] = [
    *(("norm", 2, 13), ("hidden", 2, 1001), ("activated", 2, 1001)),
    *(("output", 2, 13), ("residual", 2, 13)),
]


def click_cell(page: Page, run: Run, name: str, row: int, column: int) -> tuple[str, tuple[int, ...]]:
    """Click where a cell is drawn and wait for its arithmetic; the name and index that the readout has for it."""
    title = name if name in STATIONS_SHOWN else name.rsplit(".", 1)[1]
    figure = page.locator(f"#panel figure[data-title='{title}']")
    canvas = figure.locator("canvas")
    canvas.scroll_into_view_if_needed()
    num_rows, num_columns = run.trace[name].shape[-2:]
    box = canvas.bounding_box()
    assert box is not None
    position = {"x": (column + 0.5) * box["width"] / num_columns, "y": (row + 0.5) * box["height"] / num_rows}
    canvas.click(position=position)  # type: ignore[arg-type]
    [under] = shown_in(figure, ".readout [data-value]")
    # Where cells are narrower than a pixel, the neighbour may be hit.
    near = 1 + num_columns / box["width"] if num_columns > box["width"] else 0
    assert under.index[-2] == row and abs(under.index[-1] - column) <= near
    assert under.name == name
    inside = ", ".join(str(each) for each in under.index)
    expect(dock(page).locator(".dock-title code")).to_have_text(f"{under.name}[{inside}]")
    return under.name, under.index


def dock(page: Page) -> Locator:
    return page.locator("#explanation")


def close_dock(page: Page) -> None:
    page.click("#close-explanation")
    expect(dock(page)).to_be_hidden()


def read_dock(page: Page) -> tuple[float, Shown, list[float], str]:
    """What is computed on the page, what is traced, the terms, and the text."""
    panel = dock(page)
    expect(panel.locator("[data-role=computed]")).to_be_visible()
    more = panel.get_by_role("button", name=re.compile("^all .* terms$"))
    if more.count():
        more.click()
    computed = panel.locator("[data-role=computed]")
    value = float(computed.get_attribute("data-value") or "")
    assert reads_as(computed.inner_text(), value)
    [traced] = shown_in(panel, "[data-role=traced]")
    terms = [each.value for each in shown_in(panel, "[data-role=term]")]
    return value, traced, terms, panel.inner_text()


@pytest.mark.parametrize(
    "view, state, cells",
    [
        ("overview", {"step": 8}, STATIONS),
        ("attention", {"attention": ENCODER, "head": 1}, ATTENTION),
        ("attention", {"attention": CROSS, "head": 1}, ATTENTION),
        ("feed-forward", {"attention": FEED_FORWARD}, FEED_FORWARD_CELLS),
    ],
    ids=["overview", "encoder", "cross", "feed-forward"],
)
def test_a_clicked_cell_adds_up(show: Show, run: Run, view: str, state: dict[str, object], cells: list[Cell]) -> None:
    page = show(view, **state)
    for title, row, column in cells:
        path = str(state["attention"]) + "." if "attention" in state else ""
        name, index = click_cell(page, run, path + title, row, column)
        computed, traced, terms, text = read_dock(page)
        assert (traced.name, traced.index) == (name, index)
        assert_traced([each for each in shown_in(dock(page)) if each.name in run.trace], run)
        assert computed == pytest.approx(traced.value, rel=1e-4, abs=1e-5), name
        if title in SUMS:
            assert len(terms) > 1
            bias = dock(page).get_by_role("row", name="bias").locator("[data-value]")
            extra = float(bias.get_attribute("data-value") or "") if bias.count() else 0.0
            assert sum(terms) + extra == pytest.approx(computed, rel=1e-9), name
            assert ("bias" in text) == (bias.count() == 1)
        close_dock(page)


def test_hidden_cells_and_the_way_back_to_the_word(show: Show, run: Run) -> None:
    """Then from a weight over its score to query and input, one click each."""
    page = show("attention", attention=DECODER, head=1)
    click_cell(page, run, f"{DECODER}.masked", 2, 6)
    computed, traced, _, text = read_dock(page)
    assert computed == traced.value == float("-inf") and "future: " in text
    close_dock(page)
    click_cell(page, run, f"{DECODER}.weights", 2, 6)
    computed, traced, _, _ = read_dock(page)
    assert computed == traced.value == 0
    close_dock(page)
    name, _ = click_cell(page, run, f"{DECODER}.weights", 3, 1)
    for wanted in ("masked", "scaled", "scores", "query"):
        dock(page).locator(f"button[data-name$='.{wanted}']").first.click()
        expect(dock(page).locator(".dock-title code")).to_contain_text(f".{wanted}[")
        computed, traced, _, _ = read_dock(page)
        assert computed == pytest.approx(traced.value, rel=1e-4, abs=1e-5)
    for _ in range(4):
        dock(page).get_by_role("button", name="◂ back").click()
    expect(dock(page).locator(".dock-title code")).to_contain_text(name)


def test_the_output_adds_up(show: Show, run: Run) -> None:
    page = show("output", step=4)
    page.locator("#panel button[data-name=logits]").first.click()
    computed, traced, terms, _ = read_dock(page)
    assert_traced([traced], run)
    assert sum(terms) == pytest.approx(computed, rel=1e-9)
    assert computed == pytest.approx(traced.value, rel=1e-4)
    close_dock(page)
    page.locator("#panel button[data-name=probabilities]").first.click()
    computed, traced, terms, _ = read_dock(page)
    assert_traced([traced], run)
    assert computed == pytest.approx(traced.value, rel=1e-4)
    lines = shown_in(dock(page), "table.lines td [data-value]:not([data-role])")
    largest, others, whole, own = (each.value for each in lines[:4])
    assert sum(terms) + others == pytest.approx(whole, rel=1e-9)
    assert own / whole == pytest.approx(computed, rel=1e-9) and largest < 1e3
