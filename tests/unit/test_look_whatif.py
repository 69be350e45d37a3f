"""What if: each change does what it says, the search follows, and the original stays."""

from dataclasses import replace

import numpy as np
import pytest
from look_fixtures import SENTENCE, make_session, make_subject, tokenizer

from regard.errors import UsageError
from regard.folder.catalogue import find_model
from regard.look.document import document
from regard.look.effects import head_effects, nearest
from regard.look.run import Run
from regard.look.session import Session
from regard.look.view import look_at
from regard.search.encoder import TextEncoder
from regard.translate.trace import trace_pair

CROSS = "decoder.layers.1.cross_attention"
SELF = "decoder.layers.0.self_attention"
ENCODER = "encoder.layers.0.self_attention"

NUM_SOURCE = len(tokenizer().encode(SENTENCE)) + 1
FIRST = [1.0] + [0.0] * (NUM_SOURCE - 1)

CHANGES = {
    "head-off": [{"kind": "head-off", "attention": CROSS, "head": 2}],
    "no-positions": [{"kind": "no-positions"}],
    "replace-word": [{"kind": "replace-word", "index": 4, "text": "Bonjour"}],
    "force-next": [{"kind": "force-next", "step": 2, "text": "cat"}],
    "edit-row": [{"kind": "edit-row", "attention": CROSS, "head": 3, "row": 2, "weights": FIRST}],
    "edit-row-self": [{"kind": "edit-row", "attention": SELF, "head": 0, "row": 3, "weights": [0, 0.25, 0.75, 0]}],
}
CHANGES["several"] = [*CHANGES["head-off"], *CHANGES["no-positions"], *CHANGES["force-next"]]


@pytest.fixture(scope="module")
def session() -> Session:
    return make_session()


def values(run: Run) -> dict[str, np.ndarray]:
    return {name: run.trace[name] for name in run.trace if not name.startswith("steps.")}


def changed(before: Run, after: Run) -> set[str]:
    """The names whose values differ, where both have the same shape, or whose shape does."""
    first, second = values(before), values(after)
    assert set(first) == set(second)
    return {name for name in first if not np.array_equal(first[name], second[name])}


def assert_search_is_the_pass(run: Run, first: int = 0) -> None:
    """What the search saw on its way to its output is what the shown pass holds: the edits held there too."""
    seen = 0
    for step, record in enumerate(run.found.history):
        for tokens, top, probabilities in zip(record.beams, record.top_tokens, record.top_probabilities, strict=True):
            if tokens == run.output[:step] and step >= first:
                row = run.trace["probabilities"][step]
                np.testing.assert_allclose(probabilities, row[top], rtol=1e-3, atol=1e-6)
                seen += 1
    assert seen


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_the_translation_follows_every_change(session: Session, changes) -> None:
    run = session.whatif(changes)
    assert run.number > 0 and run.original is session.original
    assert changed(session.original, run)
    assert_search_is_the_pass(run)
    described = document(session, run.number)["changes"]
    assert described["edits"] == changes
    assert described["original_text"] == session.original.translation
    assert described["text"] == run.translation


@pytest.mark.parametrize("position", ["rotary", "learned", "relative", "alibi"])
def test_positions_of_any_kind_can_be_removed(position: str) -> None:
    """Without positions the encoder does not know order: the sentence turned round has its memory turned round."""
    session = make_session(make_subject(position=position))
    run = session.whatif([{"kind": "no-positions"}])
    assert_search_is_the_pass(run)
    network, source = run.subject.network, run.source
    turned = source[1:] + source[:1]
    blind = trace_pair(network, turned, run.output, run.plan.edits_at(0))
    np.testing.assert_allclose(np.roll(blind["memory"], 1, axis=0), run.trace["memory"], rtol=1e-3, atol=1e-4)
    plain = trace_pair(network, turned, run.output)
    assert not np.allclose(np.roll(plain["memory"], 1, axis=0), session.original.trace["memory"], atol=1e-2)


def test_a_head_that_is_off_says_nothing_and_without_the_mask_nothing_is_hidden(session: Session) -> None:
    run = session.whatif([{"kind": "head-off", "attention": ENCODER, "head": 1}])
    before, after = session.original.trace, run.trace
    context = after[f"{ENCODER}.context"]
    assert not context[1].any() and before[f"{ENCODER}.context"][1].any()
    others = [0, 2, 3, 4]
    assert np.array_equal(context[others], before[f"{ENCODER}.context"][others])
    names = [name for name in before if not name.startswith("steps.")]
    first = names.index(f"{ENCODER}.context")
    for name in names[:first]:
        if not name.startswith("target"):
            assert np.array_equal(after[name], before[name]), name
    assert not np.array_equal(after["memory"], before["memory"])
    run = session.whatif([{"kind": "no-mask"}])
    for layer in range(3):
        path = f"decoder.layers.{layer}.self_attention"
        assert np.array_equal(run.trace[f"{path}.masked"], run.trace[f"{path}.scaled"])
        assert (run.trace[f"{path}.weights"] > 0).all()
    assert document(session, run.number)["hidden"]["decoder.self"] is None
    assert document(session)["hidden"]["decoder.self"] == "future"
    # The shown pass sees the whole output at every place, the search what it has written: at the end the same.
    assert_search_is_the_pass(run, first=len(run.output))
    encoder = {name for name in values(run) if name.startswith(("source", "encoder", "memory"))}
    assert not changed(session.original, run) & encoder


def test_another_word_is_another_sentence(session: Session) -> None:
    run = session.whatif([{"kind": "replace-word", "index": 4, "text": "Bonjour"}])
    assert run.text == "Jane visite l'Afrique en Bonjour."
    plain = make_session(session.original.subject, run.text).original
    assert changed(plain, run) == set() and plain.output == run.output
    words = {0: "Le chat", 6: " ! "}
    twice = session.whatif([{"kind": "replace-word", "index": i, "text": text} for i, text in words.items()])
    assert twice.text == "Le chat visite l'Afrique en septembre!"


def test_a_forced_word_stands_where_it_was_forced_and_a_row_attends_as_told(session: Session) -> None:
    encode = session.original.subject.target.encode
    run = session.whatif(CHANGES["force-next"])
    forced = [*session.original.output[:2], *encode("cat")]
    assert run.output[: len(forced)] == forced
    again = session.whatif([*CHANGES["force-next"], {"kind": "force-next", "step": len(forced), "text": "fine"}])
    forced += encode("fine")
    assert again.output[: len(forced)] == forced[: len(again.output)]
    [change] = CHANGES["edit-row"]
    run = session.whatif([change])
    weights = run.trace[f"{CROSS}.weights"]
    assert weights[3, 2].tolist() == change["weights"]
    value = run.trace[f"{CROSS}.value"][3]
    np.testing.assert_allclose(run.trace[f"{CROSS}.context"][3, 2], value[0], rtol=1e-6)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-5)


def test_only_the_latest_runs_are_kept() -> None:
    session = make_session(max_length=2, beam=1)
    first = session.whatif([{"kind": "no-positions"}]).number
    assert session.run(first).number == first
    for _ in range(8):
        session.whatif([{"kind": "no-positions"}])
    with pytest.raises(UsageError, match="asked for lately"):
        session.run(first)
    assert session.run(0) is session.original


ROW = {"kind": "edit-row", "attention": CROSS, "head": 0, "row": 0}
WRONG = {
    "unknown kind": {"kind": "head-of", "attention": CROSS, "head": 0},
    "no such head": {"kind": "head-off", "attention": CROSS, "head": 5},
    "head as text": {"kind": "head-off", "attention": CROSS, "head": "0"},
    "empty word": {"kind": "replace-word", "index": 0, "text": " "},
    "no such step": {"kind": "force-next", "step": 99, "text": "x"},
    "nothing forced": {"kind": "force-next", "step": 0, "text": ""},
    "too few weights": {**ROW, "weights": [1]},
    "not finite": {**ROW, "weights": [float("nan")] * NUM_SOURCE},
    "negative": {**ROW, "weights": [-1.0] * NUM_SOURCE},
    "the future": {**ROW, "attention": SELF, "weights": [0.5, 0.5]},
}


def test_a_change_that_makes_no_sense_is_refused_in_one_sentence(session: Session) -> None:
    for change in WRONG.values():
        with pytest.raises(UsageError) as caught:
            session.whatif([change])
        assert "\n" not in str(caught.value) and "got" in str(caught.value)
    with pytest.raises(UsageError, match="has none"):
        make_session(make_subject(position="none")).whatif([{"kind": "no-positions"}])


@pytest.mark.parametrize("changes", [[], CHANGES["edit-row"]], ids=["original", "changed"])
def test_the_effect_of_a_head_is_what_its_loss_does_to_the_output(session: Session, changes) -> None:
    run = session.whatif(changes)
    tokens = [*run.output, run.subject.config.eos_id]
    places = range(len(tokens))
    for attention in (ENCODER, CROSS):
        effects = head_effects(run, attention)["effects"]
        for head in (0, 3):
            off = session.whatif([*changes, {"kind": "head-off", "attention": attention, "head": head}])
            trace = trace_pair(run.subject.network, run.source, run.output, off.plan.edits_at(0))
            wanted = np.log(trace["probabilities"][places, tokens] / run.trace["probabilities"][places, tokens])
            np.testing.assert_allclose(effects[head], wanted, atol=1e-4)


def test_a_model_that_only_reads_has_a_vector_and_passages_near_it() -> None:
    passages = ["Les actions ont baissé.", "Le chat dort sur le toit.", "The cat is asleep on the roof."]
    run = look_at(find_model("search"), "The cat sleeps on the roof.").session.original
    query, *others = TextEncoder.open(find_model("search")).vectors(["The cat sleeps on the roof.", *passages])
    found = nearest(run, [*passages, " "])["passages"]
    wanted = sorted(zip(passages, others @ query, strict=True), key=lambda each: -each[1])
    assert [each["text"] for each in found] == [text for text, _ in wanted]
    # The search's own engine rounds to bytes.
    np.testing.assert_allclose([each["cosine"] for each in found], [cosine for _, cosine in wanted], atol=0.01)
    # A model whose sentence vector is its first token's, [CLS].
    first = replace(run, subject=replace(run.subject, manifest=replace(run.subject.manifest, pooling="cls")))
    memories = (run.trace["memory"], look_at(find_model("search"), passages[1]).trace["memory"])
    left, right = (memory[0] / np.linalg.norm(memory[0]) for memory in memories)
    assert nearest(first, passages[1:2])["passages"][0]["cosine"] == pytest.approx(left @ right, abs=1e-5)
    effects = head_effects(run, "encoder.layers.0.self_attention")["effects"]
    assert all(-0.5 < effect < 0 for [effect] in effects)
    with pytest.raises(UsageError, match="passages must be 1 to 100"):
        nearest(run, [" "])
    with pytest.raises(UsageError, match="attention must be one of encoder"):
        head_effects(run, "decoder.layers.0.self_attention")
