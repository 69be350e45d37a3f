"""The French-English model in the package: right on the running example, the same in every engine."""

import pytest

import regard
from regard.translate.evaluate import evaluate

PAIRS = [
    ("Bonjour, comment allez-vous ?", "Hello, how are you?"),
    ("Je ne sais pas.", "I don't know."),
    ("Où est la gare ?", "Where is the station?"),
    ("Elle a trente-deux ans.", "She is thirty-two years old."),
    ("Il n'a jamais vu la mer.", "He has never seen the sea."),
    ("Mon frère habite à Paris depuis 2015.", "My brother has lived in Paris since 2015."),
    ("Le chat dort sur la chaise.", "The cat is sleeping on the chair."),
    ("J'ai besoin d'un médecin.", "I need a doctor."),
    ("Il fait très froid aujourd'hui.", "It is very cold today."),
    ("Nous n'avons pas assez d'argent.", "We do not have enough money."),
    ("Pouvez-vous m'aider, s'il vous plaît ?", "Can you help me, please?"),
    ("Elle apprend l'anglais depuis deux ans.", "She has been learning English for two years."),
    ("Les enfants jouent dans le jardin.", "The children are playing in the garden."),
    ("Cette décision n'est pas acceptable.", "This decision is not acceptable."),
]


def test_the_running_example_and_both_engines_in_fp32() -> None:
    french = "Jane visite l'Afrique en septembre."
    assert regard.load("en-fr").translate("Jane visits Africa in September.") == french
    sources = [source for source, _ in PAIRS]
    torch_engine = regard.load("fr-en", engine="torch")
    cpu_engine = regard.load("fr-en", engine="onnxruntime", precision="fp32")
    assert torch_engine.translate(sources) == cpu_engine.translate(sources)


def test_int8_is_as_good_as_fp32() -> None:
    sources = [source for source, _ in PAIRS]
    references = [reference for _, reference in PAIRS]
    scores = {}
    for precision in ("int8", "fp32"):
        model = regard.load("fr-en", engine="onnxruntime", precision=precision)
        scores[precision] = evaluate(model.translate(sources), references)
    assert scores["int8"].chrf > scores["fp32"].chrf - 0.5
    assert scores["int8"].bleu > 40


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_sentence_alone_is_as_in_a_batch(precision: str) -> None:
    """To the last digit of every score, or nearly: some processors multiply few rows in another order than many."""
    model = regard.load("fr-en", engine="onnxruntime", precision=precision, threads=2)
    sources = [source for source, _ in PAIRS]
    together = model.translate(sources, details=True)
    for source, among in zip(sources, together, strict=True):
        alone = model.translate(source, details=True)
        assert (alone.text, alone.alternatives) == (among.text, among.alternatives)
        for one, other in zip(alone.sentences, among.sentences, strict=True):
            mine, theirs = one.candidates[0], other.candidates[0]
            assert mine.tokens == theirs.tokens
            assert mine.score == pytest.approx(theirs.score, abs=1e-2 if precision == "int8" else 1e-4)
