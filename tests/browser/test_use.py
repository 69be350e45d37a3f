"""The page in use: played and stepped, by keyboard alone, dark and light, on a telephone, without a network."""

import re
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime

from browser.conftest import Window, address_of
from browser.reading import assert_traced, script, shown_in
from playwright.sync_api import Page, expect

from regard.look.run import Run
from regard.look.server import Server

Show = Callable[..., Page]
VIEWS = "overview attention-lines attention feed-forward heads positions embeddings output what-if".split()


def turn_to(page: Page, view: str) -> None:
    """Choose another view on an open page."""
    page.click(f"#tab-{view}")
    page.wait_for_selector(f"#panel[data-view={view}]")
    page.wait_for_function("() => !document.getElementById('panel').style.minHeight")


def test_play_step_and_back(show: Show, run: Run) -> None:
    page = show("overview", step=0)
    count = page.locator(".step-count")
    last = len(run.output) + 1
    expect(page.locator("#step-back")).to_be_disabled()
    page.click("#step-on")
    expect(count).to_have_text(f"step 2 of {last}")
    page.click("#step-back")
    expect(count).to_have_text(f"step 1 of {last}")
    page.clock.install(time=datetime(2026, 1, 1, tzinfo=UTC))
    page.clock.pause_at(datetime(2026, 1, 1, 1, tzinfo=UTC))
    page.click("#play")
    expect(page.locator("#play")).to_contain_text("pause")
    for step in range(2, last + 1):
        page.clock.run_for(1200)
        expect(count).to_have_text(f"step {step} of {last}")
        expect(page.locator(f"#written-{step - 1}")).to_have_attribute("aria-pressed", "true")
    page.clock.run_for(1200)
    expect(page.locator("#play")).to_contain_text("play")
    expect(page.locator("#step-on")).to_be_disabled()
    expect(page.locator("#strips .future")).to_have_count(0)
    expect(page.locator(".traveller")).to_have_count(0)
    page.emulate_media(reduced_motion="no-preference")
    page.click("#play")
    page.clock.run_for(1200)
    expect(page.locator(".traveller")).not_to_have_count(0)
    page.click("#play")
    page.emulate_media(reduced_motion="reduce")
    # The other tests share the window.
    page.clock.resume()


def test_the_map_is_always_in_sight_and_opens_boxes(show: Show) -> None:
    page = show("overview")
    page.evaluate("window.scrollTo(0, 3000)")
    expect(page.locator("#map svg")).to_be_in_viewport()
    boxes = page.locator("#map [role=button]")
    seen = set()
    for i in range(boxes.count()):
        boxes.nth(i).click()
        expect(page.locator("#panel")).to_have_attribute("data-view", re.compile("."))
        page.wait_for_function("() => location.hash.includes('view=' + document.getElementById('panel').dataset.view)")
        seen.add(page.locator("#panel").get_attribute("data-view"))
    assert seen >= {"attention", "feed-forward", "positions", "embeddings", "output"}


def test_by_keyboard_alone(show: Show, run: Run) -> None:
    """From the address bar to the arithmetic of a number and back, never touching the pointer."""
    page = show("overview", step=0, token=0)

    def tab_to(selector: str) -> None:
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
                outline = page.evaluate(
                    """() => { const style = getComputedStyle(document.activeElement);
                    return style.outlineStyle !== "none" || style.boxShadow !== "none"; }"""
                )
                assert outline, f"{selector} does not show that it has the keyboard"
                return
        raise AssertionError(f"the keyboard does not reach {selector}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    tab_to("#step-on")
    page.keyboard.press("Enter")
    expect(page.locator(".step-count")).to_contain_text("step 2 of")
    assert page.evaluate("document.activeElement.id") == "step-on", "the keyboard keeps its place"
    tab_to("#tab-attention")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_have_attribute("data-view", "attention")
    tab_to("figure[data-title=scores] canvas")
    for key in ("Home", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    label = page.locator("figure[data-title=scores] canvas").get_attribute("aria-label") or ""
    expect(page.locator("#announcer")).to_have_text(label)
    [under] = shown_in(page.locator("figure[data-title=scores]"), ".readout [data-value]")
    assert under.index[1:] == (1, 2)
    page.keyboard.press("Enter")
    expect(page.locator("#explanation")).to_be_visible()
    expect(page.locator("#explanation [data-role=traced]")).to_be_visible()
    [traced] = shown_in(page.locator("#explanation"), "[data-role=traced]")
    assert traced.index == under.index
    assert_traced([traced, under], run)
    tab_to("#explanation button.operand")
    page.keyboard.press("Enter")
    expect(page.locator("#explanation .dock-title code")).to_contain_text(".query[")
    tab_to("#close-explanation")
    page.keyboard.press("Enter")
    expect(page.locator("#explanation")).to_be_hidden()
    back = "document.activeElement.closest('figure')?.dataset.title"
    assert page.evaluate(back) == "scores", "the keyboard is back where it was"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".step-count")).to_contain_text("step 3 of")


NAMELESS = """nodes => nodes.filter(node => !(node.getAttribute("aria-label") || node.textContent.trim()
    || node.labels?.length || node.title)).map(node => node.outerHTML)"""
UNREACHABLE = "nodes => nodes.filter(node => node.tabIndex < 0).map(node => node.outerHTML)"


def test_dark_and_light_can_be_read_and_every_control_has_a_name(show: Show, run: Run) -> None:
    page = show(step=2)
    background = "getComputedStyle(document.body).backgroundColor"
    for view in VIEWS:
        turn_to(page, view)
        assert page.evaluate(script("unreadable"), "body *") == []
        controls = "button, a, input, select, [role=button], canvas[tabindex]"
        assert page.locator(controls).evaluate_all(NAMELESS) == []
        assert page.locator("[role=button]").evaluate_all(UNREACHABLE) == []
        check_tables(page)
    turn_to(page, "attention")
    pixels = "document.querySelector('figure[data-title=scores] canvas').toDataURL()"
    page.wait_for_function(f"() => {pixels}.length > 1000")
    light, painted = page.evaluate(background), page.evaluate(pixels)
    assert level(light) > 200
    page.click("#theme")
    page.wait_for_function(f"before => {background} !== before", arg=light)
    page.wait_for_function(f"before => {pixels} !== before", arg=painted)
    assert level(page.evaluate(background)) < 60
    for view in VIEWS:
        turn_to(page, view)
        assert page.evaluate(script("unreadable"), "body *") == []
        assert_traced(shown_in(page.locator("#panel")), run, 0)
    page.click("#theme")
    page.wait_for_function(f"before => {background} === before", arg=light)
    page.emulate_media(color_scheme="dark")
    page.reload()
    page.wait_for_selector("body[data-ready=true]")
    assert level(page.evaluate(background)) < 60
    page.click("#theme")
    page.reload()
    page.wait_for_selector("body[data-ready=true]")
    assert level(page.evaluate(background)) > 200, "a theme that was chosen is remembered"
    page.click("#theme")
    page.emulate_media(color_scheme="light")


def level(colour: str) -> float:
    return sum(int(each) for each in re.findall(r"\d+", colour)[:3]) / 3


def check_tables(page: Page) -> None:
    """Every canvas in view has a table of its numbers."""
    canvases = page.locator("#panel canvas")
    for i in range(canvases.count()):
        holder = canvases.nth(i).locator("xpath=ancestor::*[self::figure or self::section][1]")
        button = holder.locator("button[aria-expanded], details > summary").first
        button.evaluate("node => node.click()")
        expect(holder.locator("table td").nth(1)).to_be_visible()
        button.evaluate("node => node.click()")


def test_narrow_pages_do_not_scroll_sideways(show: Show) -> None:
    page = show(step=3)
    page.set_viewport_size({"width": 390, "height": 844})
    for view in VIEWS:
        turn_to(page, view)
        page.locator("#panel details").evaluate_all("nodes => nodes.forEach(node => node.open = true)")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, f"{view} is {width} wide"
        outside = page.locator("#panel :is(p, h2, h3, canvas, button)").evaluate_all(
            """nodes => nodes.filter(node => node.checkVisibility() && !node.closest(".table-scroll, .tree-scroll")
            && node.getBoundingClientRect().right > innerWidth + 1).map(node => node.outerHTML.slice(0, 120))"""
        )
        assert outside == []
        small = page.locator("#panel p").evaluate_all(
            "nodes => nodes.filter(node => parseFloat(getComputedStyle(node).fontSize) < 11.5).length"
        )
        assert small == 0
    page.click("#start-tour")
    expect(page.locator("#tour")).to_be_visible()
    for text, said in (("anticonstitutionnellement" * 8, "looks most at"), ("これは日本語の文です。", "it is copied")):
        page.fill("#ask-text", text)
        page.keyboard.press("Enter")
        expect(page.locator("#sentence .from")).to_have_text(text)
        expect(page.locator("#panel")).to_contain_text(said)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})


def test_the_address_keeps_what_is_in_view(window: Window, server: Server) -> None:
    state = dict(attention="decoder.layers.0.cross_attention", step=5, heads="layer")
    page = window.goto(address_of(server.url, "attention-lines", **state))
    page.click("#choice-unit-words")
    page.click("#step-on")
    expect(page.locator(".step-count")).to_contain_text("step 7 of")
    count = page.locator("#line-count").inner_text()
    window.goto(page.url)
    expect(page.locator(".step-count")).to_contain_text("step 7 of")
    expect(page.locator("#choice-unit-words")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#line-count")).to_have_text(count)


def test_a_number_has_an_address_and_back_leads_back(window: Window, server: Server, run: Run) -> None:
    name = "encoder.layers.0.self_attention.scores"
    page = window.goto(address_of(server.url, "attention", number=f"{name},1,2,3"))
    assert_traced(shown_in(page.locator("#explanation"), "[data-role=traced]"), run)
    page.locator("#explanation button.operand").first.click()
    expect(page.locator("#explanation .dock-title code")).to_contain_text(".query[1, 2, 0]")
    page.click("#tab-output")
    expect(page.locator("#panel")).to_have_attribute("data-view", "output")
    for shown in ("query[1, 2, 0]", "scores[1, 2, 3]"):
        page.go_back()
        expect(page.locator("#explanation .dock-title code")).to_contain_text(shown)
        expect(page.locator("#panel")).to_have_attribute("data-view", "attention")


def test_the_figure_is_the_models_or_the_papers(show: Show) -> None:
    page = show("overview")
    norms = page.locator("#map [id^='box-'].norm")
    expect(norms).to_have_text([*["Add", "Norm≠"] * 2, "Norm≠", *["Add", "Norm≠"] * 3, "Norm≠"])
    page.locator("[id='box-encoder.final']").click()
    expect(page.locator("[id='part-encoder.final_norm'] h3")).to_be_in_viewport()
    page.locator("[id='box-decoder.before.feed_forward']").click()
    expect(page.locator("#part-norm")).to_be_in_viewport()
    page.get_by_role("button", name="the paper's figure").click()
    expect(norms).to_have_text(["Add & Norm≠"] * 5)
    page.locator("[id='box-encoder.norm.self_attention']").click()
    expect(page.locator("#part-add-norm h3")).to_contain_text(["Add", "Norm"])
    expect(page.locator("#part-add-norm")).to_be_in_viewport()


def test_the_policy_lets_nothing_else_in(show: Show, window: Window, server: Server) -> None:
    with urllib.request.urlopen(server.url) as answer:
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
    page = show("output")
    window.expected = "Content Security Policy"
    done = page.evaluate(
        """async () => {
            const inline = document.createElement("script");
            inline.textContent = "window.ran = true";
            document.body.append(inline);
            const image = new Image();
            image.src = "http://192.0.2.1/x.png";
            document.body.append(image);
            const met = await fetch("http://192.0.2.1/").then(() => "met", () => "refused");
            return [window.ran ?? false, met];
        }"""
    )
    assert done == [False, "refused"]
    page.wait_for_function("() => window.breaches.length >= 3")
    page.evaluate("() => { window.breaches = []; }")
