"""The page ends in the text that `translate` gives, and shows the text at every stage."""

import pytest

from regard.api import Model
from regard.errors import UsageError
from regard.look.document import document
from regard.look.server import get

TEXTS = (
    "Jane visite l'Afrique en septembre.",
    "Écrivez à jane@exemple.fr avant 8 h.",
    "IL FAIT FROID. Tu viens ? 👋",
    "Bonjour.\n\nVoici {name} et https://exemple.fr/a?b=1 .",
    "« C’est l’été… »",
)


def test_the_page_ends_in_the_text_that_translate_gives(bundled: Model) -> None:
    for text in TEXTS:
        look = bundled.look(text)
        described = look.document()
        translation = bundled.translate(text, details=True)
        assert look.text == described["result"] == translation.text
        assert look.text == bundled.trace(text).metadata["text.restored"]
        [first, *_] = translation.sentences
        assert described["stages"] == first.stages
        assert described["sentences"] == [each.source for each in translation.sentences]
        assert described["source"]["text"] == first.protected
        assert described["target"]["text"] == first.candidates[0].written


def test_another_sentence_is_chosen(bundled: Model) -> None:
    text = "Il fait froid. Jane mange une pomme."
    session = bundled.look(text).session
    content, _ = get(session, "api/sentence", {"number": "1"})
    assert b"Jane mange" in content
    chosen = session.sentence(1)
    assert chosen.stage("given") == "Jane mange une pomme." and chosen.stage("restored") in chosen.translation
    assert session.sentence(0, chosen.number) is session.original
    assert document(session, chosen.number)["sentence"] == 1
    assert bundled.look(text, sentence=1).document()["stages"] == document(session, chosen.number)["stages"]
    with pytest.raises(UsageError, match="got number 3 of 2; choose an earlier one"):
        bundled.look(text, sentence=2)


def test_a_changed_word_goes_through_the_pipeline_again(bundled: Model) -> None:
    session = bundled.look("L’ami de Jane écrit à jane@exemple.fr.").session
    original = session.original
    assert original.stage("given") != original.stage("protected")
    changed = session.whatif([{"kind": "replace-word", "index": 2, "text": "Marie"}])
    assert changed.stage("given") == "L’ami de Marie écrit à jane@exemple.fr."
    forced = session.whatif([{"kind": "force-next", "step": 0, "text": "Our"}])
    for run, start in ((original, ""), (changed, "Mary's"), (forced, "Our")):
        text = run.stage("restored")
        assert text.startswith(start) and "jane@exemple.fr" in text
    loud = bundled.look("IL FAIT FROID.").session
    warm = loud.whatif([{"kind": "replace-word", "index": 2, "text": "CHAUD"}])
    assert warm.stage("given") == "IL FAIT CHAUD."


@pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")
def test_a_sentence_in_parts_is_shown_part_by_part(bundled: Model) -> None:
    text = "{a}{b}{c}{d}{e}{f}{g}{h}{i} oui {j}{k}{l}{m}{n}{o}{p}"
    translation = bundled.translate(text, details=True, method="greedy")
    assert translation.sentences[0].flags == ["parts"]
    look = bundled.look(text, method="greedy")
    described = look.document()
    assert look.text == translation.text and described["sentences"] == ["oui"]
    assert described["source"]["text"] == "oui" and described["target"]["text"] == described["stages"]["written"]
