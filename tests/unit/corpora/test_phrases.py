"""The everyday phrases written for regard: right on both sides, and none that a model is judged by."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from num2words import num2words

from regard.corpora import numbers, phrases
from regard.corpora.clock_words import english_time, french_time
from regard.corpora.prepare import prepare
from regard.corpora.slots import french_rank, slots
from regard.corpora.spelling import plain, plain_french
from regard.corpora.translations import key_of

JUDGED_BY = Path(__file__).parents[3] / "benchmarks" / "everyday"
WRITTEN = list(phrases.written())
SHORT = (
    ("won't", "will not"),
    ("can't", "cannot"),
    ("n't", " not"),
    ("'m", " am"),
    ("'re", " are"),
    ("'ll", " will"),
    ("'ve", " have"),
    ("'d", " would"),
    ("œ", "oe"),
)
IS = re.compile(r"\b(it|that|there|what|who|where|how|he|she|here)'s\b")


def words(text: str) -> list[str]:
    """Of a sentence, whatever its capitals, punctuation and contractions."""
    text = text.lower()
    for short, long in SHORT:
        text = text.replace(short, long)
    return re.findall(r"\w+", IS.sub(r"\1 is", text))


def judged_by() -> tuple[list[list[str]], set[str]]:
    """Words of the sentences that models are judged by; and of these and their longer translations, joined."""
    sentences, all_of_them = [], set()
    for name in ("fr-en", "en-fr"):
        for line in (JUDGED_BY / f"{name}.tsv").read_text("utf-8").splitlines():
            _, sentence, right = line.split("\t")
            sentences.append(words(sentence))
            # A translation of three words, such as Never mind, is nobody's own.
            longer = [each for each in map(words, right.split("|")) if len(each) > 3]
            all_of_them |= {" ".join(each) for each in (sentences[-1], *longer)}
    return sentences, all_of_them


def is_one_word_apart(left: list[str], right: list[str]) -> bool:
    shorter, longer = sorted((left, right), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    same = 0
    while same < len(shorter) and shorter[same] == longer[same]:
        same += 1
    after = len(longer) - same - 1
    return after <= 0 or shorter[len(shorter) - after :] == longer[same + 1 :]


def test_no_sentence_that_models_are_judged_by_is_trained_on() -> None:
    sentences, all_of_them = judged_by()
    assert len(sentences) == 400
    for seed in (1, 2, 3):
        for pair in phrases.written(seed):
            for side in pair:
                assert " ".join(words(side)) not in all_of_them, pair


def test_no_phrase_is_such_a_sentence_with_a_word_changed() -> None:
    sentences = [each for each in judged_by()[0] if len(each) >= 5]
    for french, english in phrases.pairs(phrases.PHRASES):
        for side in map(words, (*french, *english)):
            assert not any(is_one_word_apart(side, each) for each in sentences), side


def test_every_phrase_has_two_sides_in_one_way_of_typing() -> None:
    assert len(phrases.pairs(phrases.PHRASES)) > 10_000
    assert 290_000 < len(WRITTEN) < 330_000
    for french, english in WRITTEN:
        assert french.replace("« ", '"').replace(" »", '"') == plain_french(french) != "", french
        assert english == plain(english) and english, french
        assert not set("{}|\t") & set(french + english), (french, english)
        assert french.endswith("?") == english.endswith("?"), (french, english)


def test_recipes_and_guide_say_how_many_there_are() -> None:
    root = Path(__file__).parents[3]
    guide = (root / "docs" / "how-to" / "bundle.md").read_text("utf-8")
    assert f"{len(WRITTEN):,} pairs" in guide
    for languages in ("fr-en", "en-fr"):
        recipe = (root / "recipes" / f"{languages}.toml").read_text("utf-8")
        card = (root / "src" / "regard" / "assets" / languages / "README.md").read_text("utf-8")
        found = re.search(
            r"seen ([\d,]+) pairs of `written`, which has ([\d,]+) now: ([\d,]+)", recipe
        )
        if found is None:
            # Nothing was added since the weights were trained.
            assert f"| {len(WRITTEN):,} |" in card
            continue
        seen, now, added = (int(number.replace(",", "")) for number in found.groups())
        assert now == len(WRITTEN) and added == now - seen
        assert f"| {seen:,} |" in card


def test_small_words_lose_their_vowel_before_another() -> None:
    """But not before oui, un, onze."""
    unelided = re.compile(r"(?<!-)\b(?:que|de|le|la|je|me|te|se|ne) (?!oui|un\b|onz)[aâeéèêiîoôuœ]")
    assert [french for french, _ in WRITTEN if unelided.search(french.lower())] == []


def test_the_numbers_of_both_sides_agree() -> None:
    assert [pair for pair in WRITTEN if not numbers.agree(*pair)] == []


def test_every_number_up_to_a_hundred_is_there_in_words_as_others_write_it() -> None:
    found = set(WRITTEN)
    for number in range(101):
        assert (num2words(number, lang="fr"), num2words(number, lang="en")) in found
    english = dict(WRITTEN)
    for number in range(2, 101):
        french = f"J'ai {num2words(number, lang='fr')} ans."
        assert num2words(number, lang="en") in english[french]


@pytest.mark.parametrize(
    ("hour", "minute", "french", "english"),
    [
        (1, 0, "une heure", "one o'clock"),
        (1, 30, "une heure et demie", "half past one"),
        (12, 0, "midi", "noon"),
        (12, 15, "midi et quart", "a quarter past twelve"),
        (12, 30, "midi et demi", "half past twelve"),
        (0, 0, "minuit", "midnight"),
        (0, 30, "minuit et demi", "half past midnight"),
        (11, 45, "midi moins le quart", "a quarter to noon"),
        (12, 10, "midi dix", "ten past twelve"),
        (4, 35, "cinq heures moins vingt-cinq", "twenty-five to five"),
        (9, 20, "neuf heures vingt", "twenty past nine"),
    ],
)
def test_the_clock(hour: int, minute: int, french: str, english: str) -> None:
    assert (french_time(hour, minute), english_time(hour, minute)) == (french, english)


@pytest.mark.parametrize(
    ("slot", "french", "english"),
    [
        ("une", "vingt et une", "twenty-one"),
        ("numbers", "quatre-vingts", "eighty"),
        ("rank", "quatre-vingt", "eighty"),
        ("round", "mille", "a thousand"),
        ("round", "quatre-vingt mille", "eighty thousand"),
        ("clock", "19 h 30", "7:30 p.m."),
        ("clock", "22 h 10", "22:10"),
        ("clock", "12 h", "noon"),
        ("date", "1er mai", "May 1"),
        ("date", "2 mai", "May 2nd"),
        ("date", "11 juin", "June 11th"),
        ("date in words", "premier mai", "the first of May"),
        ("full date", "1er janvier 1901", "January 1, 1901"),
        ("year in words", "mille neuf cent quatre-vingt", "nineteen eighty"),
        ("in country", "aux États-Unis", "in the United States"),
        ("in country", "en Iran", "in Iran"),
        ("to country", "au Japon", "to Japan"),
        ("of country", "d'Italie", "from Italy"),
        ("of country", "de Hongrie", "from Hungary"),
        ("of month", "d'août", "August"),
        ("of she", "d'Hélène", "Hélène's"),
        ("of she", "de Yoko", "Yoko's"),
        ("of he", "d'Yves", "Yves's"),
        ("about town", "d'Orléans", "Orléans"),
        ("surname", "de La Tour", "de La Tour"),
        ("family", "O'Neill", "O'Neills"),
        ("work", "« Jane Eyre »", '"Jane Eyre"'),
        ("all the things", "toutes les clés", "all the keys"),
        ("this thing", "cet ordinateur", "this computer"),
        ("my thing", "mon écharpe", "my scarf"),
        ("a small thing", "un vieil oreiller", "an old pillow"),
        ("a small thing", "une vieille écharpe", "an old scarf"),
        ("small things", "de beaux chapeaux", "beautiful hats"),
        ("they are new", "les portes sont blanches", "the doors are white"),
        ("they are new", "les tapis sont gris", "the rugs are gray"),
        ("it was sold", "la montre a été volée", "the watch was stolen"),
        ("the thing I bought", "les clés que nous avons perdues", "the keys we lost"),
        ("some food", "de l'huile", "some oil"),
        ("much food", "trop d'œufs", "too many eggs"),
        ("is happy", "mes sœurs sont jalouses", "my sisters are jealous"),
        ("was born", "mes filles sont nées", "my daughters were born"),
        ("when later", "dès qu'elle arrivera", "as soon as she arrives"),
        ("did with my own", "elle a perdu ses clés", "she lost her keys"),
        ("did with my own", "tu t'es lavé les mains", "you washed your hands"),
        ("to act", "d'apprendre à conduire", "learn to drive"),
        ("he watched", "nous avons pris le train", "we took the train"),
        ("he must watch", "il faut que nous fassions un gâteau", "we have to make a cake"),
        ("him to watch", "qu'elle boive du thé", "her to drink tea"),
        ("he would watch", "j'achèterais du pain", "I would buy some bread"),
        ("he used to watch", "nous commencions un nouveau livre", "we used to start a new book"),
        ("he did not watch", "elle n'a pas acheté de pain", "she didn't buy any bread"),
        ("he never watches", "je ne joue jamais du piano", "I never play the piano"),
        (
            "he has not watched yet",
            "tu n'as pas encore pris de douche",
            "you haven't taken a shower yet",
        ),
        ("he has just watched", "il vient d'ouvrir la fenêtre", "he has just opened the window"),
        ("got up", "mes sœurs se sont endormies", "my sisters fell asleep"),
        ("he gave it to me", "il le leur a envoyé", "he sent it to them"),
        ("he gave me", "elle m'a rendu", "she gave me back"),
        ("the key, I found it", "les clés ? Je les ai trouvées", "the keys? I found them"),
        ("he is taller than me", "elles sont plus vieilles qu'eux", "they are older than them"),
        ("he is taller than me", "je suis moins têtue que toi", "I am not as stubborn as you"),
        ("I miss him", "mes amis lui manquent", "she misses my friends"),
        ("I miss him", "vous nous manquerez", "we will miss you"),
        ("I like it", "ces photos te plairont", "you will like these photos"),
        ("a word", "une île", "an island"),
        ("a word", "un hibou", "an owl"),
        ("price", "1 200 €", "€1,200"),
        ("price", "1,05 $", "$1.05"),
        ("degrees", "0 degré", "0 degrees"),
        ("degrees", "1 degré", "1 degree"),
    ],
)
def test_what_fills_a_pattern(slot: str, french: str, english: str) -> None:
    assert (french, english) in slots()[slot]


def test_names_are_many_and_the_same_in_both_languages() -> None:
    for slot in ("he", "she", "surname", "full name", "town"):
        assert all(french == english for french, english in slots()[slot])
    for slot in ("he", "she", "surname"):
        assert len(set(slots()[slot])) > 500


def test_a_title_is_translated_and_the_name_behind_it_kept() -> None:
    surnames = [name for name, _ in slots()["surname"]]
    for slot in ("titled", "to titled", "sir"):
        for (french, english), name in zip(slots()[slot], surnames, strict=True):
            assert french.endswith(f" {name}") and english.endswith(f" {name}")
            assert french.removesuffix(name) != english.removesuffix(name)


def test_both_sides_of_a_pattern_have_the_same_slots() -> None:
    for french, english in phrases.pairs(phrases.PATTERNS):
        names = [set(re.findall(r"{(.+?)}", way)) for way in (*french, *english)]
        assert names[0] and names.count(names[0]) == len(names), french
        assert names[0] <= set(slots()), french


def test_some_are_in_capitals() -> None:
    capitals = [pair for pair in WRITTEN if "".join(pair).isupper()]
    assert len(capitals) / len(WRITTEN) == pytest.approx(phrases.CAPITALS_SHARE, abs=0.01)
    assert ("DÉFENSE D'ENTRER", "DO NOT ENTER") in capitals
    assert sum("".join(pair).islower() for pair in WRITTEN) > 200


def test_it_is_the_same_every_time() -> None:
    assert list(phrases.written()) == WRITTEN != list(phrases.written(2))


def test_a_held_out_sentence_is_left_out() -> None:
    assert ("Merci !", "Thank you!") in WRITTEN
    rest = set(phrases.written(held_out={key_of("thank you")}))
    assert ("Merci !", "Thank you!") not in rest and ("Merci !", "Thanks!") in rest


def test_a_page_is_counted_without_a_plural() -> None:
    assert [french_rank(number) for number in (80, 81, 200, 1000)] == [
        "quatre-vingt",
        "quatre-vingt-un",
        "deux cent",
        "mille",
    ]


@pytest.mark.parametrize("vary", [False, True])
def test_they_are_written_beside_the_other_files(tmp_path: Path, vary: bool) -> None:
    raw = tmp_path / "raw.tsv"
    raw.write_text("Oui, bien sûr.\tYes, of course.\ttatoeba\n", encoding="utf-8")
    prepare("fr-en", [raw], tmp_path, workers=1, vary=vary)
    packed = tmp_path / "prepared" / "fr-en" / "written.tsv.gz"
    lines = gzip.decompress(packed.read_bytes()).decode().split("\n")[:-1]
    found = [tuple(line.split("\t")) for line in lines]
    assert (found == WRITTEN) is not vary
    assert [plain_french(pair[0]) for pair in found] == [plain_french(pair[0]) for pair in WRITTEN]
