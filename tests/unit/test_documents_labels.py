"""Labels: they begin and end as their sources do, and one letter of each can be reached from the keyboard."""

import polib
import pytest
from document_fixtures import Answer, translator

from regard.documents import translate_document
from regard.documents.accelerators import find, place_of, signs_of
from regard.documents.edges import with_edges_of
from regard.documents.placement import Linked


@pytest.mark.parametrize(
    "source, target, language, expected",
    [
        ("Name", "Nom :", "fr", "Nom"),
        ("Name", "Nom.", "fr", "Nom"),
        ("%d files", "– %d fichiers ;", "fr", "%d fichiers"),
        ("- Oui", "- Yes", "en", "- Yes"),
        ("Supports HTTP", "prend en charge HTTP", "fr", "Prend en charge HTTP"),
        ("lundi", "Monday", "en", "Monday"),
        ("Name:", "Nom", "fr", "Nom :"),
        ("Nom :", "Name", "en", "Name:"),
        ("Really?", "Vraiment.", "fr", "Vraiment ?"),
        ("Enregistrer…", "Save...", "en", "Save…"),
        ("Loading...", "Chargement…", "fr", "Chargement..."),
        ("Loading...", "Chargement.", "fr", "Chargement..."),
        ("Je sais,", "I know.", "en", "I know,"),
        ("Non !!", "No!", "en", "No!"),
        ("à 17 h", "at 5 p.m.", "en", "at 5 p.m."),
        ("at 5 p.m.", "à 17 h", "fr", "à 17 h"),
        ("chats, chiens, etc.", "cats, dogs and so on", "en", "cats, dogs and so on"),
        ("« Viens ! »", "Come!", "en", "Come!"),
        ("Viens !", "“Come!”", "en", "“Come!”"),
        ("Name", "名前。", "ja", "名前"),
        ("Name:", "名前", "ja", "名前"),
        ("Oui.", "", "en", ""),
        ("Oui.", "...", "en", "..."),
        ("Le chat dort.", "The cat sleeps.", "en", "The cat sleeps."),
    ],
)  # fmt: skip
def test_a_translation_has_the_edges_of_its_source(
    source: str, target: str, language: str, expected: str
) -> None:
    assert with_edges_of(source, target, language).text == expected


@pytest.mark.parametrize(
    "suffix, before, after",
    [
        (".md", "# Titre\n\n| Un | Deux |\n|---|---|\n| trois | quatre : |\n", "# Word\n\n| Word | Word |\n|---|---|\n| Word | Word: |\n"),
        (".html", "<h1>Titre</h1><td>Un</td><button>Envoyer !</button>", "<h1>Word</h1><td>Word</td><button>Word!</button>"),
        (".srt", "1\n00:00:01,000 --> 00:00:02,000\nJe ne sais pas,\n", "1\n00:00:01,000 --> 00:00:02,000\nWord,\n"),
        (".txt", "Titre\n\nUne phrase.\n", "Word\n\nWord.\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("answer", ["Word", "Word.", "– Word:", "Word!"])
def test_labels_of_every_format(suffix: str, before: str, after: str, answer: str) -> None:
    document = translate_document(
        before.encode(), suffix, translator(lambda text: answer), languages=("fr", "en")
    )
    assert document.data.decode() == after


@pytest.mark.parametrize(
    "before, after",
    [
        ("© 2024 Tous droits", "© 2024 TOUS DROITS"),
        ("  - du lait\n  2. du pain", "  - DU LAIT\n  2. DU PAIN"),
        ("— Léonard de Vinci", "— LÉONARD DE VINCI"),
        ("✓ Fait", "✓ FAIT"),
    ],
)
def test_signs_at_the_beginning_are_none_of_the_text(before: str, after: str) -> None:
    def loud(texts: list[str]) -> list[Answer]:
        assert all(text[0].isalnum() for text in texts)
        return [Answer(text.upper()) for text in texts]

    assert translate_document(before.encode(), ".txt", loud).data.decode() == after


def test_a_page_says_which_language_it_is_in_now() -> None:
    page = '<html class="fr" lang="fr-FR" xml:lang=\'fr\'><p lang="fr">Oui</p></html>'
    out = translate_document(page.encode(), ".html", translator(str.upper), languages=("fr", "en"))
    expected = '<html class="fr" lang="en" xml:lang=\'en\'><p lang="fr">OUI</p></html>'
    assert out.data.decode() == expected
    out = translate_document(page.encode(), ".html", translator(str.upper), languages=("de", "en"))
    assert out.data.decode() == page.replace("Oui", "OUI")


def test_what_is_taken_away_moves_no_tag() -> None:
    class Dashed:
        text = "– The black cat"
        alignment = [Linked((0, 2), (2, 5)), Linked((3, 7), (12, 15)), Linked((8, 12), (6, 11))]

    document = translate_document(b"Le chat <b>noir</b>", ".html", lambda texts: [Dashed()])
    assert document.data == b"The <b>black</b> cat"


# --- the letter that reaches a label

LABELS = ["&Open", "Save &As…", "Pro&perties", "R&D", "Tom && Jerry", "a &amp; b", "_Save", "Pr_eferences", "my_file",
          "~File", "about ~5 files", "&One of &two", "_id", "Select _all", "x" * 90 + " &y"]  # fmt: skip


def test_which_signs_are_accelerators() -> None:
    signs = signs_of(LABELS)
    assert signs == {"&", "_", "~"}
    found = [find(label, signs) for label in LABELS]
    assert [None if each is None else (each[0], each[1].raw, each[1].name) for each in found] == [
        (0, "&", "o"), (5, "&", "a"), (3, "&", "p"), None, None, None, (0, "_", "s"), (2, "_", "e"), None,
        (0, "~", "f"), None, None, None, (7, "_", "a"), None,
    ]  # fmt: skip


def test_a_sign_that_begins_no_word_is_none() -> None:
    assert signs_of(["my_file", "R&D", "rock&roll", "a ~5", "&amp;", "_id", "__init__"]) == set()


@pytest.mark.parametrize(
    "letter, target, taken, place",
    [
        ("o", "Ouvrir", [], 0),
        ("s", "Enregistrer sous", [], 12),
        ("q", "Enregistrer", [], 0),
        ("a", "« %s »: ouvrir", [(2, 4)], 8),
        ("a", "« %s »", [(2, 4)], None),
    ],
)
def test_before_which_letter(
    letter: str, target: str, taken: list[tuple[int, int]], place: int | None
) -> None:
    found = find(f"&{letter}", frozenset("&"))
    assert found is not None
    assert place_of(found[1], target, taken) == place


FRENCH = {
    "Open": "Ouvrir", "Save As…": "Enregistrer sous…", "Properties": "Propriétés", "Quit %s": "Quitter %s.",
    "R&D": "R&D", "Bold": "Gras :", "a file": "un fichier", "%d files": "%d fichiers",
}  # fmt: skip


def catalogue(*messages: str, forms: int = 0) -> polib.POFile:
    if forms:
        strings = "".join(f'msgstr[{number}] ""\n' for number in range(forms))
        text = f'msgid "{messages[0]}"\nmsgid_plural "{messages[1]}"\n{strings}'
    else:
        text = "\n".join(f'msgid "{message}"\nmsgstr ""\n' for message in messages)

    def translate(texts: list[str]) -> list[Answer]:
        return [Answer(FRENCH[text]) for text in texts]

    document = translate_document(text.encode(), ".po", translate, languages=("en", "fr"))
    assert document.warnings == []
    return polib.pofile(document.data.decode())


def test_a_catalogue_keeps_its_accelerators() -> None:
    found = catalogue(
        "&Open", "Save &As…", "Pro&perties", "&Quit %s", "R&D", "<b>&Bold</b>", "Open"
    )
    assert [entry.msgstr for entry in found] == [
        "&Ouvrir", "&Enregistrer sous…", "&Propriétés", "&Quitter %s", "R&D", "<b>&Gras</b>", "Ouvrir",
    ]  # fmt: skip
    assert not any("fuzzy" in entry.flags for entry in found)


def test_spaces_and_lines_around_a_message_stay() -> None:
    found = catalogue("  &Open ", "\\nOpen\\n")
    assert [entry.msgstr for entry in found] == ["  &Ouvrir ", "\nOuvrir\n"]


@pytest.mark.parametrize(
    "forms, expected",
    [
        (1, {0: "%d fichiers"}),
        (2, {0: "un fichier", 1: "%d fichiers"}),
        (3, {0: "un fichier", 1: "%d fichiers", 2: "%d fichiers"}),
    ],
)
def test_as_many_forms_as_the_language_has(forms: int, expected: dict[int, str]) -> None:
    [entry] = catalogue("a file", "%d files", forms=forms)
    assert entry.msgstr_plural == expected
