"""What is typed in haste is read as the words it stands for, and other words are left alone."""

import pytest

from regard.text.haste import written_out
from regard.text.respelling import Respelt


@pytest.mark.parametrize(
    "language, given, read",
    [
        ("en", "I dont know, im late", "I don't know, I'm late"),
        ("en", "Cant come. Its too late", "Can't come. It's too late"),
        ("en", "how r u? u r late, c u tmrw", "how are you? you are late, see you tomorrow"),
        ("en", "At 9am or 2:30pm", "At 9 am or 2:30 pm"),
        ("en", "At no. 5 in the '90s", "At number 5 in the 1990s"),
        ("en", "w/ or w/o milk, ASAP", "with or without milk, as soon as possible"),
        ("en", "I've gotta go, youve gotta stay", "I have to go, you have to stay"),
        ("en", "Ok Im here. Ill be late", "Ok I'm here. I'll be late"),
        ("en", "It wont work b4 noon", "It won't work before noon"),
        ("en", "2 tbsp sugar, 1 tsp of salt", "2 tablespoons of sugar, 1 teaspoon of salt"),
        ("fr", "jai faim, cest bon", "j'ai faim, c'est bon"),
        ("fr", "Dsl, rdv à 8h stp", "Désolé, rendez-vous à 8h s'il te plaît"),
        ("fr", "A demain, cdlt. 2 c. à soupe", "À demain, cordialement. 2 cuillère à soupe"),
        ("fr", "1 c. à s. de rhum", "1 cuillère à soupe de rhum"),
        ("fr", "Ou vas-tu ? Ca va", "Où vas-tu ? Ça va"),
        ("fr", "Le lun. 3 janv. 2025", "Le lundi 3 janvier 2025"),
        ("fr", "mer. 3 févr., le jeu. 12/01", "mercredi 3 février, le jeudi 12/01"),
        ("fr", "quand jetais petit, a+", "quand j'étais petit, à bientôt"),
        ("fr", "Merci, a bientot", "Merci, à bientôt"),
        ("fr", "Les étudiant·e·s sont arrivé·es", "Les étudiants sont arrivés"),
        ("fr", "Les étudiant(e)s sont venu.e.s.", "Les étudiants sont venus."),
        ("fr", "Tou·te·s heureux·ses, invité(e)", "Tous heureux, invité"),
    ],
)
def test_words_are_written_out(language: str, given: str, read: str) -> None:
    assert written_out(Respelt.of(given), language).text == read


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "The U.S. and a U-turn on its way, Ur, IM, @im, #thx, a/u, ill"),
        ("en", "He can't, it's 5 pm, spam. No. 'Twas '99."),
        ("en", "Gate B4, Jony Ive and Le Duc Tho; as is his wont, its very nature"),
        ("en", "The mentally ill do not. If you are ill call us. He said no. 5 minutes later"),
        ("fr", "Il a bientôt fini. On a demain un examen. Un A+, la classe A++, Google Nest"),
        ("fr", "Je jetais ou vas-tu, ou est le reste, 100 g pas plus, un tas vu, Jaime"),
        ("fr", "Le jeu. 12 joueurs à la mer. 3 bateaux, i.e. en kW·h et N·m, Paral·lel"),
        ("fr", "Va-t-en, parle-t-elle ; la mer. DS, J.-C., fini.Ensuite (et)"),
        ("fr", "C'est-à-dire : dit-elle (e)"),
        ("de", "im Haus, u. a."),
    ],
)
def test_other_words_stay(language: str, text: str) -> None:
    assert written_out(Respelt.of(text), language).text == text


def test_a_word_stands_where_its_letters_stood() -> None:
    assert list(written_out(Respelt.of("a thx b"), "en").places) == [
        0,
        1,
        2,
        3,
        4,
        4,
        4,
        4,
        5,
        6,
        7,
    ]
