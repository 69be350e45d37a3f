"""Each kind of change: the translation and all numbers follow it, and the original stays beside it."""

from collections.abc import Callable

import numpy as np
import pytest
from browser.conftest import Window
from browser.reading import assert_traced, reads_as, shown_in
from browser.test_use import turn_to
from playwright.sync_api import Page, Route, expect

from regard.look.effects import head_effects
from regard.look.run import Run
from regard.look.view import Look
from regard.look.whatif import attentions

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


def change(page: Page, look: Look, kind: str) -> Run:
    """Make a change on the page; the run that it must now show."""
    with page.expect_response("**/api/whatif") as answered:
        KINDS[kind](page)
    answer = answered.value.json()
    expect(page.locator("#part-result")).to_be_visible()
    assert [edit["kind"] for edit in answer["document"]["changes"]["edits"]] == [kind]
    return look.session.run(answer["run"])


def go_back(page: Page, run: Run) -> None:
    page.click("#back-to-original")
    expect(page.locator("#banner")).to_be_hidden()
    expect(page.locator("#sentence .to")).to_have_text(run.translation)


def values(page: Page, role: str) -> list[float]:
    shown = shown_in(page.locator("#panel"), f"td[data-role={role}]")
    assert all(each.reads() for each in shown)
    return [each.value for each in shown]


def written(run: Run) -> list[float]:
    tokens = [*run.output, run.subject.config.eos_id]
    return [float(run.trace["probabilities"][i, token]) for i, token in enumerate(tokens)]


def test_a_change_is_shown_against_the_original(show: Show, look: Look, run: Run) -> None:
    page = show("what-if", attention=CROSS, head=2, step=2)
    for kind in KINDS:
        after = change(page, look, kind)
        expect(page.locator("#text-after")).to_have_text(after.translation)
        assert page.locator("#text-before").inner_text() == run.translation
        assert values(page, "before") == written(run)
        assert values(page, "after") == written(after) != written(run)
        if kind in ("no-positions", "replace-word", "force-next"):
            assert after.translation != run.translation
        [moved] = shown_in(page.locator("#panel"), "#log-probability-change")
        assert moved.value == pytest.approx(np.log(written(after)).sum() - np.log(written(run)).sum(), abs=1e-5)
        expect(page.locator("#banner")).to_contain_text(run.translation)
        for title, each in (("original", run), ("what if", after)):
            figure = page.locator(f"figure[data-title='{title}']")
            figure.locator("button[aria-expanded]").click()
            assert_traced(shown_in(figure), each, each.trace[f"{CROSS}.weights"][0].size)
        before, now = run.trace["memory"], after.trace["memory"]
        if before.shape == now.shape and kind != "replace-word":
            moved = page.get_by_text("Distance between the old and the new memory of each token").inner_text()
            apart = np.linalg.norm(before.astype(float) - now, axis=1)
            for text, value in zip(moved.split(": ", 1)[1].split(" · "), apart, strict=True):
                assert reads_as(text.rsplit(" ", 1)[1], float(value))
        if kind in FOLLOWED:
            FOLLOWED[kind](page, after)
            turn_to(page, "what-if")
        go_back(page, run)
        assert_traced(shown_in(page.locator("#strips")), run, 10)


def check_without_mask(page: Page, after: Run) -> None:
    turn_to(page, "attention")
    page.click("#choice-attention-decoder_self_attention")
    figure = page.locator("figure[data-title=weights]")
    expect(figure.locator("td[title]")).to_have_count(0)
    figure.locator("button[aria-expanded]").click()
    shown = shown_in(page.locator("#panel"))
    assert_traced(shown, after, 50)
    assert any(each.value > 0 for each in shown if each.index[-1] > each.index[-2])
    assert figure.locator("td[title]").count() == 0, "nothing is hidden any more"
    page.click("#choice-attention-decoder_cross_attention")
    turn_to(page, "overview")
    expect(page.locator("figure[data-title='target.input']")).to_be_visible()
    assert_traced(shown_in(page.locator("#panel")), after)


def check_head_off(page: Page, after: Run) -> None:
    """It hands over nothing."""
    turn_to(page, "attention")
    figure = page.locator("figure[data-title=context]")
    figure.locator("button[aria-expanded]").click()
    shown = shown_in(figure.locator("table"))
    assert_traced(shown, after, 64)
    assert {each.value for each in shown} == {0.0}


FOLLOWED = {"head-off": check_head_off, "no-mask": check_without_mask}


def test_changes_add_up_and_can_be_taken_back(show: Show, look: Look, run: Run) -> None:
    page = show("what-if", attention=CROSS, head=2, step=2)
    change(page, look, "replace-word")
    with page.expect_response("**/api/whatif") as answered:
        turn_a_head_off(page)
    assert len(answered.value.json()["document"]["changes"]["edits"]) == 2
    expect(page.locator("ul.edits li")).to_have_count(2)
    page.locator("ul.edits button").first.evaluate("node => node.click()")
    expect(page.locator("ul.edits li")).to_have_count(1)
    expect(page.locator("ul.edits")).to_contain_text("head 3 off")
    # Who goes back before an answer comes stays there.
    held: list[Route] = []
    page.route("**/api/whatif", lambda route: held.append(route))
    page.click("#do-no-positions")
    go_back(page, run)
    with page.expect_response("**/api/whatif"):
        held[0].continue_()
    page.wait_for_timeout(100)
    expect(page.locator("#banner")).to_be_hidden()
    page.unroute_all()
    assert_traced(shown_in(page.locator("#strips")), run, 10)


def test_heads_are_ranked_and_the_strongest_go_first(show: Show, window: Window, look: Look, run: Run) -> None:
    """No answer moves a button: between the mouse's down and up that would lose the click."""
    held: list[Route] = []
    window.page.route("**/api/effects/**", lambda route: route.continue_() if held else held.append(route))
    page = show("what-if")
    before = page.locator("#do-no-positions").bounding_box()
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.locator("#ranking-state")).to_contain_text("All 60 heads")
    page.unroute_all()
    assert page.locator("#do-no-positions").bounding_box() == before
    found = {path: head_effects(run, path)["effects"] for path in attentions(run.subject.config)}
    effects = {(path, i): sum(each) for path, heads in found.items() for i, each in enumerate(heads)}
    order = sorted(effects, key=lambda each: -abs(effects[each]))
    shown = shown_in(page.locator("#ranking"), "td[data-value]")
    assert [each.value for each in shown] == pytest.approx([effects[each] for each in order])
    expect(page.locator("#ranking input").first).to_be_checked()
    page.locator("#ranking input").nth(1).check()
    with page.expect_response("**/api/whatif") as answered:
        page.click("#do-heads-off")
    after = look.session.run(answered.value.json()["run"])
    assert [(each["attention"], each["head"]) for each in after.plan.changes] == order[:2]
    expect(page.locator("#text-after")).to_have_text(after.translation)
    go_back(page, run)


def test_another_beam_and_a_temperature(show: Show, look: Look, run: Run) -> None:
    page = show("output", step=2)
    logits = run.trace["logits"][2].astype(float)
    page.locator("#temperature").fill("0.5")
    drawn = np.exp((logits - logits.max()) / 0.5)
    shares = [each.value for each in shown_in(page.locator("#temperature-bars"), "[data-value]")]
    assert shares == pytest.approx(np.sort(drawn / drawn.sum())[::-1][: len(shares)].tolist(), rel=1e-4)
    page.locator("#beam").fill("2")
    with page.expect_response("**/api/whatif") as answered:
        page.click("#do-beam")
    expect(page.locator("#banner")).to_contain_text("a beam of 2")
    assert look.session.run(answered.value.json()["run"]).decode.beam == 2
    go_back(page, run)


def test_what_makes_no_sense_is_said_in_a_sentence(show: Show, window: Window) -> None:
    page = show("what-if")
    window.expected = "status of 400"
    page.locator("details.card summary").click()
    page.click("#do-edit-row")
    expect(page.locator("ul.edits li")).to_have_count(1)
    page.fill("#change-text", "la petite Jeanne")
    page.click("#do-replace-word")
    expect(page.locator("#what-if-status [role=alert]")).to_contain_text("take the edit back")
    expect(page.locator("ul.edits li")).to_have_count(1)
