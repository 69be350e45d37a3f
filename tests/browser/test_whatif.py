"""Each kind of change: the translation and all numbers follow it, and the original stays beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from browser.reading import assert_traced, reads_as, shown_in
from playwright.sync_api import Page, Route, expect

from regard.look.session import Run
from regard.look.view import Look

Show = Callable[..., Page]
CROSS = "decoder.layers.1.cross_attention"


def turn_a_head_off(page: Page) -> None:
    page.select_option("#off-attention", CROSS)
    page.select_option("#off-head", "2")
    page.click("#do-head-off")


def change_a_word(page: Page) -> None:
    page.select_option("#change-index", label="septembre")
    page.fill("#change-text", "janvier")
    page.click("#do-replace-word")


def force_a_word(page: Page) -> None:
    page.fill("#force-text", "goes")
    page.click("#do-force-next")


def edit_a_row(page: Page) -> None:
    page.locator("#panel details summary").click()
    for i in range(page.locator(".sliders input:not([disabled])").count()):
        page.locator(".sliders input:not([disabled])").nth(i).fill("1" if i == 9 else "0")
    page.click("#do-edit-row")


KINDS: dict[str, Callable[[Page], None]] = {
    "head-off": turn_a_head_off,
    "no-positions": lambda page: page.click("#do-no-positions"),
    "no-mask": lambda page: page.click("#do-no-mask"),
    "replace-word": change_a_word,
    "force-next": force_a_word,
    "edit-row": edit_a_row,
}


@pytest.fixture
def changed(show: Show, look: Look) -> Iterator[Callable[[str], tuple[Page, Run]]]:
    """Makes a change on the page; the page, and the run that it must now show."""

    def make(kind: str) -> tuple[Page, Run]:
        page = show("what-if", attention=CROSS, head=2, step=2)
        with page.expect_response("**/api/whatif") as answered:
            KINDS[kind](page)
        answer = answered.value.json()
        expect(page.locator("#part-result")).to_be_visible()
        run = look.session.run(answer["run"])
        assert [edit["kind"] for edit in answer["document"]["changes"]["edits"]] == [kind]
        return page, run

    yield make


def values(page: Page, role: str) -> list[float]:
    shown = shown_in(page.locator("#panel"), f"td[data-role={role}]")
    assert all(each.reads() for each in shown)
    return [each.value for each in shown]


def written(run: Run) -> list[float]:
    tokens = [*run.output, run.subject.config.eos_id]
    return [float(run.trace["probabilities"][i, token]) for i, token in enumerate(tokens)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_is_shown_against_the_original(
    changed: Callable[[str], tuple[Page, Run]], run: Run, kind: str
) -> None:
    page, after = changed(kind)
    assert page.locator("#text-before").inner_text() == run.translation
    assert page.locator("#text-after").inner_text() == after.translation
    assert values(page, "before") == written(run)
    assert values(page, "after") == written(after)
    assert written(run) != written(after)
    if kind in ("no-positions", "replace-word", "force-next"):
        assert after.translation != run.translation
    expect(page.locator("#banner")).to_contain_text(run.translation)
    for title, each in (("original", run), ("what if", after)):
        figure = page.locator(f"figure[data-title='{title}']")
        figure.locator("button[aria-expanded]").click()
        assert_traced(shown_in(figure), each, each.trace[f"{CROSS}.weights"][0].size)
    before, now = run.trace["memory"], after.trace["memory"]
    if before.shape == now.shape and kind != "replace-word":
        moved = page.get_by_text(
            "Distance between the old and the new memory of each token"
        ).inner_text()
        apart = np.linalg.norm(before.astype(float) - now, axis=1)
        for text, value in zip(moved.split(": ", 1)[1].split(" · "), apart, strict=True):
            assert reads_as(text.rsplit(" ", 1)[1], float(value))


def test_every_panel_follows_and_the_way_back(
    changed: Callable[[str], tuple[Page, Run]], run: Run
) -> None:
    page, after = changed("no-mask")
    page.click("#tab-attention")
    page.click("#choice-attention-decoder_self_attention")
    figure = page.locator("figure[data-title=weights]")
    figure.locator("button[aria-expanded]").click()
    shown = shown_in(page.locator("#panel"))
    assert_traced(shown, after, 50)
    assert any(each.value > 0 for each in shown if each.index[-1] > each.index[-2])
    assert figure.locator("td[title]").count() == 0, "nothing is hidden any more"
    page.click("#tab-overview")
    expect(page.locator("figure[data-title='target.input']")).to_be_visible()
    assert_traced(shown_in(page.locator("#panel")), after)
    page.click("#back-to-original")
    expect(page.locator("#banner")).to_be_hidden()
    expect(page.locator("#sentence .to")).to_have_text(run.translation)
    assert_traced(shown_in(page.locator("#strips")), run, 10)


def test_who_goes_back_before_the_answer_comes_stays_there(show: Show, run: Run) -> None:
    page = show("what-if")
    page.fill("#change-text", "Pierre")
    page.click("#do-replace-word")
    expect(page.locator("#part-result")).to_be_visible()
    held: list[Route] = []
    page.route("**/api/whatif", lambda route: held.append(route))
    page.click("#do-no-positions")
    page.click("#back-to-original")
    expect(page.locator("#banner")).to_be_hidden()
    with page.expect_response("**/api/whatif"):
        held[0].continue_()
    page.wait_for_timeout(100)
    expect(page.locator("#banner")).to_be_hidden()
    expect(page.locator("#sentence .to")).to_have_text(run.translation)


def test_a_head_that_is_off_hands_over_nothing(
    changed: Callable[[str], tuple[Page, Run]],
) -> None:
    page, after = changed("head-off")
    page.click("#tab-attention")
    figure = page.locator("figure[data-title=context]")
    figure.locator("button[aria-expanded]").click()
    shown = shown_in(figure.locator("table"))
    assert_traced(shown, after, 64)
    assert {each.value for each in shown} == {0.0}


def test_changes_add_up_and_can_be_taken_back(
    changed: Callable[[str], tuple[Page, Run]], run: Run
) -> None:
    page, _ = changed("replace-word")
    with page.expect_response("**/api/whatif") as answered:
        turn_a_head_off(page)
    assert len(answered.value.json()["document"]["changes"]["edits"]) == 2
    expect(page.locator("ul.edits li")).to_have_count(2)
    page.locator("ul.edits button").first.evaluate("node => node.click()")
    expect(page.locator("ul.edits li")).to_have_count(1)
    expect(page.locator("ul.edits")).to_contain_text("head 3 off")
    page.locator("ul.edits button").first.evaluate("node => node.click()")
    expect(page.locator("#part-result")).to_have_count(0)
    assert_traced(shown_in(page.locator("#strips")), run, 10)


def test_what_makes_no_sense_is_said_in_a_sentence(show: Show) -> None:
    page = show("what-if", window={"expected": "status of 400"})
    page.locator("details.card summary").click()
    page.click("#do-edit-row")
    expect(page.locator("ul.edits li")).to_have_count(1)
    page.fill("#change-text", "la petite Jeanne")
    page.click("#do-replace-word")
    expect(page.locator("#what-if-status [role=alert]")).to_contain_text("take the edit back")
    expect(page.locator("ul.edits li")).to_have_count(1)
