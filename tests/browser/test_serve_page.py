"""The page of `regard serve` in a real browser: translate, alternatives, links, files, chat, write, keys, look."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.conftest import Window
from playwright.sync_api import Page, expect
from serve_fixtures import KEY, Running, make_folders, running

import regard
from regard.folder.catalogue import BUNDLED

SENTENCE = "Jane visite l'Afrique en septembre."
SCRIPT = "<img src=x onerror=\"document.title='broken'\"> <script>alert(1)</script>"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The bundled translator, and random models for what is not bundled."""
    made = make_folders(tmp_path_factory.mktemp("models"), ("en-fr", "chat", "story"))
    return [BUNDLED / "fr-en", *made]


@pytest.fixture(scope="module")
def serving(folders: list[Path]) -> Iterator[Running]:
    with running(folders) as started:
        yield started


@pytest.fixture(scope="module")
def model() -> regard.Model:
    return regard.load("fr-en")


@pytest.fixture
def page(window: Window, serving: Running) -> Page:
    return opened(window, serving.url)


def opened(window: Window, url: str) -> Page:
    for _ in range(2):  # the first time the text of the test before is still there
        window.page.goto("about:blank")
        window.page.goto(f"{url}/#translate")
        window.page.evaluate("sessionStorage.clear()")
    window.page.wait_for_selector("body[data-ready=true]")
    return window.page


def test_it_translates_as_one_types(page: Page, model: regard.Model) -> None:
    page.locator("#source").press_sequentially(SENTENCE, delay=1)
    expect(page.locator("#result")).to_have_text(model.translate(SENTENCE))
    expect(page.locator("#source-language option:checked")).to_have_text("French, detected")
    expect(page.locator("#target-language")).to_have_value("en")
    page.fill("#source", f"{SENTENCE}\n\nLe chat dort.  Il fait beau.")
    text = model.translate(f"{SENTENCE}\n\nLe chat dort.  Il fait beau.")
    expect(page.locator("#result")).to_have_text(text, use_inner_text=True)
    page.click("#clear")
    expect(page.locator("#result")).to_have_text("")
    expect(page.locator("#copy")).to_be_disabled()
    page.select_option("#source-language", "fr")
    page.fill("#source", "Bonjour.")
    expect(page.locator("#result")).to_have_text("Hello.")
    page.click("#swap")
    expect(page.locator("#source-language")).to_have_value("en")
    expect(page.locator("#target-language")).to_have_value("fr")
    expect(page.locator("#source")).to_have_value("Hello.")


def test_the_languages_follow_what_is_detected_and_the_text_outlives_a_reload(page: Page) -> None:
    page.fill("#source", "The cat is sleeping in the house.")
    expect(page.locator("#source-language option:checked")).to_have_text("English, detected")
    expect(page.locator("#target-language")).to_have_value("fr")
    page.reload()
    expect(page.locator("#source")).to_have_value("The cat is sleeping in the house.")
    expect(page.locator(".sentence")).to_be_visible()
    result = page.locator("#result").inner_text()
    page.click("#swap")
    expect(page.locator("#source-language")).to_have_value("fr")
    expect(page.locator("#target-language")).to_have_value("en")
    expect(page.locator("#source")).to_have_value(result)
    page.select_option("#source-language", "auto")
    page.fill("#source", "Guten Morgen")
    page.select_option("#target-language", "en")
    expect(page.locator("#status")).to_have_text("The language is not sure: this was read as French.")


def test_a_word_shows_where_it_comes_from(page: Page) -> None:
    page.fill("#source", SENTENCE)
    page.locator(".word", has_text="Africa").hover()
    expect(page.locator("#backdrop mark")).to_have_text("Afrique")
    page.locator(".sentence").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.locator(".word.linked").count() == 1
    page.locator("#source").focus()
    page.evaluate("document.getElementById('source').setSelectionRange(29, 29)")
    expect(page.locator(".word.linked")).to_have_text("September")
    # Each of these signs is two to the page.
    page.fill("#source", f"😀😀 Oui. {SENTENCE}")
    expect(page.locator(".sentence")).to_have_count(2)
    page.locator(".sentence").last.locator(".word", has_text="Africa").hover()
    expect(page.locator("#backdrop mark")).to_have_text("Afrique")


def test_other_ways_to_say_it(page: Page, model: regard.Model) -> None:
    page.fill("#source", "Le chat dort. Il fait beau.")
    first = page.locator(".sentence").first
    first.click()
    ways = page.locator(".way span")
    expected = model.translate("Le chat dort.", n_best=5, details=True).alternatives
    expect(ways).to_have_text(expected)
    page.locator(".way input").nth(1).check()
    expect(first).to_have_text(expected[1])
    expect(page.locator("#result")).to_have_text(f"{expected[1]} {model.translate('Il fait beau.')}")
    page.keyboard.press("Escape")
    expect(page.locator("#sentence")).to_be_hidden()
    expect(first).to_be_focused()


def test_everything_goes_by_keyboard(page: Page, model: regard.Model) -> None:
    expect(page.locator("#source")).to_be_focused()
    page.keyboard.type("Le chat dort.")
    sentence = page.locator(".sentence")
    expect(sentence).to_have_text(model.translate("Le chat dort."))
    for _ in range(6):
        page.keyboard.press("Tab")
        if sentence.evaluate("each => each === document.activeElement"):
            break
    expect(sentence).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".way input").nth(4)).to_be_visible()
    expect(page.locator(".way input:checked")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(sentence).to_have_text(page.locator(".way span").nth(1).inner_text())
    page.locator("#tab-translate").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#panel-chat")).to_be_visible()


def test_what_is_translated_is_text_and_nothing_else(page: Page) -> None:
    page.fill("#source", f"Bonjour {SCRIPT}")
    expect(page.locator("#result .sentence").first).to_be_visible()
    page.locator("#result .sentence").first.click()
    expect(page.locator(".way").first).to_be_visible()
    made = "#result img, #result script, #alternatives img, #backdrop img"
    assert page.locator(made).count() == 0
    assert page.title() == "regard"


def test_a_file_is_translated_and_kept(page: Page, model: regard.Model, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Bonjour.\n\nLe chat dort.\n")
    page.set_input_files("#file", letter)
    link = page.get_by_role("link", name="Save letter_en.txt")
    with page.expect_download() as download:
        link.click()
    lines = Path(download.value.path()).read_text().split("\n")
    assert lines == model.translate(["Bonjour.", "", "Le chat dort.", ""])
    # French is what the target says, and the file as well: then English is meant.
    page.select_option("#target-language", "fr")
    page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["Le chat dort dans la maison."], "dropped.md"));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
        }"""
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Save dropped_en.md").click()
    expect(page.locator("#source-language option:checked")).to_have_text("French, detected")
    page.click("#swap")
    expect(page.locator("#source-language")).to_have_value("en")
    assert Path(download.value.path()).read_text() == model.translate("Le chat dort dans la maison.")


def held_engine(serving: Running, name: str, monkeypatch: pytest.MonkeyPatch, after: int) -> threading.Event:
    """The model's steps wait, after some of them, until the event is set."""
    engine: Any = serving.app.models.all[name].translator.engine
    step, may_go_on, steps = engine.step, threading.Event(), itertools.count()

    def held(tokens: Any, state: Any) -> Any:
        assert next(steps) < after or may_go_on.wait(60)
        return step(tokens, state)

    monkeypatch.setattr(engine, "step", held)
    return may_go_on


def test_chat_and_a_conversation_that_is_broken_off(page, serving, monkeypatch):
    may_go_on = held_engine(serving, "chat", monkeypatch, after=0)
    page.click("#tab-chat")
    page.fill("#message", "Hi how are you")
    page.keyboard.press("Enter")
    expect(page.locator("#stop-chat")).to_be_visible()
    page.click("#new-chat")
    may_go_on.set()
    page.fill("#message", "The cat sleeps")
    with page.expect_request("**/v1/chat/completions") as asked:
        page.keyboard.press("Enter")
    sent = asked.value.post_data_json
    assert sent["messages"] == [{"role": "user", "content": "The cat sleeps"}]
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator(".bubble.user")).to_have_count(1)
    expect(page.locator(".bubble.user")).to_contain_text("The cat sleeps")
    assert page.locator(".bubble.assistant span").first.inner_text() != ""
    look_through(page, "#look-chat")
    page.fill("#message", "Translate to English: le chat dort")
    page.keyboard.press("Enter")
    expect(page.locator(".bubble.assistant .note")).to_have_text(" translated by fr-en")
    page.click("#new-chat")
    expect(page.locator(".bubble")).to_have_count(0)


def test_write_and_stop(page: Page, serving: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on = held_engine(serving, "story", monkeypatch, after=20)
    page.click("#tab-write")
    page.fill("#prompt", "Jane visits")
    page.locator("#length").fill("512")
    page.click("#go")
    expect(page.locator("#story b")).to_have_text("Jane visits")
    expect(page.locator("#story span")).not_to_be_empty()
    page.click("#stop-write")
    may_go_on.set()
    expect(page.locator("#go")).to_be_visible()
    expect(page.locator("#copy-story")).to_be_enabled()
    assert page.locator("#write-trouble").is_hidden()
    look_through(page, "#look-story")


def look_through(page: Page, door: str) -> str:
    """Open `look` in a window of its own; the sentence that it shows."""
    with page.expect_popup(timeout=60_000) as popup:
        page.click(door)
    opened = popup.value
    opened.wait_for_selector("body[data-ready=true]", timeout=60_000)
    assert "/look/" in opened.url
    text = opened.inner_text("#sentence")
    opened.close()
    return text


def test_a_key_is_asked_for_and_look_opens(window: Window, folders: list[Path]) -> None:
    with running(folders[:1], keys=(KEY,)) as locked:
        window.expected = "403"
        page = window.page
        page.goto("about:blank")
        page.goto(locked.url)
        page.fill("#key", "wrong-key-of-some-length")
        page.keyboard.press("Enter")
        expect(page.locator("#key-trouble")).to_have_text("This is not one of its keys.")
        page.fill("#key", KEY)
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-ready=true]")
        page.fill("#source", SENTENCE)
        page.locator(".sentence").click()
        assert "Afrique" in look_through(page, "#look")


def test_what_no_model_does_is_said(window: Window, folders: list[Path]) -> None:
    with running(folders[:1]) as alone:
        page = opened(window, alone.url)
        page.fill("#source", "Hello, how are you today?")
        expect(page.locator("#status")).to_have_text("English already: no model here translates it")
        page.click("#swap")
        expect(page.locator("#status")).to_have_text("No model here translates from English.")
        for tab in ("chat", "write"):
            page.click(f"#tab-{tab}")
            expect(page.locator(f"#no-{tab}")).to_contain_text(f"No model here has learnt to {tab}")
            expect(page.locator(f"#{tab}")).to_be_hidden()


def test_a_phone_shows_all_of_it(page: Page) -> None:
    page.set_viewport_size({"width": 375, "height": 740})
    page.fill("#source", SENTENCE)
    expect(page.locator(".sentence")).to_be_visible()
    for tab in ("translate", "chat", "write"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.set_viewport_size({"width": 1280, "height": 900})


def test_an_error_is_said_and_leaves_no_translation_of_another_text(page: Page, window: Window) -> None:
    window.expected = "400"
    page.fill("#source", "Bonjour.")
    expect(page.locator("#result")).to_have_text("Hello.")
    page.fill("#source", "Der Hund liegt den ganzen Tag auf dem Sofa, weil es draußen regnet.")
    expect(page.locator("#status")).to_have_text("no model here translates German into English")
    expect(page.locator("#result")).to_have_text("")
    expect(page.locator("#copy")).to_be_disabled()
    page.select_option("#source-language", "fr")
    page.fill("#source", "a" * 20_001)
    expect(page.locator("#status")).to_contain_text("at most 20000 characters")
    assert len(page.input_value("#source")) == 20_001
