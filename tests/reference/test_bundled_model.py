"""The French-English model in the package: right on the running example, the same in every engine."""

import pytest

import regard
from regard.translate.evaluate import evaluate

PAIRS = [
    ("Bonjour, comment allez-vous ?", "Hello, how are you?"),
    ("Je ne sais pas.", "I don't know."),
    ("Où est la gare ?", "Where is the station?"),
    ("Elle a trente-deux ans.", "She is thirty-two years old."),
    ("Nous partirons demain à huit heures.", "We will leave tomorrow at eight o'clock."),
    ("Il n'a jamais vu la mer.", "He has never seen the sea."),
    ("Quelle heure est-il ?", "What time is it?"),
    ("Mon frère habite à Paris depuis 2015.", "My brother has lived in Paris since 2015."),
    ("Le chat dort sur la chaise.", "The cat is sleeping on the chair."),
    ("J'ai besoin d'un médecin.", "I need a doctor."),
    ("Combien coûte ce livre ?", "How much does this book cost?"),
    ("Il fait très froid aujourd'hui.", "It is very cold today."),
    ("Tu devrais dormir un peu plus.", "You should sleep a little more."),
    ("La porte est ouverte.", "The door is open."),
    ("Nous n'avons pas assez d'argent.", "We do not have enough money."),
    ("Le train est arrivé en retard.", "The train arrived late."),
    ("Pouvez-vous m'aider, s'il vous plaît ?", "Can you help me, please?"),
    ("Mes parents sont professeurs.", "My parents are teachers."),
    ("Elle apprend l'anglais depuis deux ans.", "She has been learning English for two years."),
    ("Ferme la fenêtre avant de partir.", "Close the window before you leave."),
    ("Les enfants jouent dans le jardin.", "The children are playing in the garden."),
    ("Je voudrais un verre d'eau.", "I would like a glass of water."),
    ("Le Parlement a adopté le rapport.", "Parliament adopted the report."),
    ("Cette décision n'est pas acceptable.", "This decision is not acceptable."),
    ("Le fichier n'a pas pu être ouvert.", "The file could not be opened."),
]


def test_the_running_example() -> None:
    model = regard.load("fr-en")
    assert model.translate("Jane visite l'Afrique en septembre.") == "Jane visits Africa in September."


def test_int8_is_as_good_as_fp32() -> None:
    sources = [source for source, _ in PAIRS]
    references = [reference for _, reference in PAIRS]
    scores = {}
    for precision in ("int8", "fp32"):
        model = regard.load("fr-en", engine="onnxruntime", precision=precision)
        scores[precision] = evaluate(model.translate(sources), references)
    assert scores["int8"].chrf > scores["fp32"].chrf - 0.5
    assert scores["int8"].bleu > 40


def test_both_engines_write_the_same_in_fp32() -> None:
    sources = [source for source, _ in PAIRS]
    torch_engine = regard.load("fr-en", engine="torch")
    cpu_engine = regard.load("fr-en", engine="onnxruntime", precision="fp32")
    assert torch_engine.translate(sources) == cpu_engine.translate(sources)


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_sentence_alone_is_as_in_a_batch(precision: str) -> None:
    """To the last digit of every score, or nearly: some processors multiply few rows in another order than many."""
    model = regard.load("fr-en", engine="onnxruntime", precision=precision)
    sources = [source for source, _ in PAIRS]
    together = model.translate(sources, details=True)
    for source, among in zip(sources, together, strict=True):
        alone = model.translate(source, details=True)
        assert (alone.text, alone.alternatives) == (among.text, among.alternatives)
        for one, other in zip(alone.sentences, among.sentences, strict=True):
            mine, theirs = one.candidates[0], other.candidates[0]
            assert mine.tokens == theirs.tokens
            assert mine.score == pytest.approx(theirs.score, abs=1e-2 if precision == "int8" else 1e-4)
