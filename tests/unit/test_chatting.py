"""A conversation keeps what was said, is never without a word, and does not say the same twice."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fixtures import make_model_folder, make_random_folder
from serve_fixtures import make_story_folder
from typer.testing import CliRunner

import regard
from regard.api import Model
from regard.cli import chat as cli_chat
from regard.cli.main import app
from regard.config import DecodeConfig
from regard.decode import Emission
from regard.errors import ModelError, UsageError
from regard.generate import chatting
from regard.generate import safety as danger
from regard.generate.back_reference import refers_back
from regard.generate.chatting import Judge, ways
from regard.generate.drafting import Draft, drafts, said
from regard.generate.one_line import MARK, MOST_TURNS
from regard.generate.writing import conversation

DRAWN = DecodeConfig(method="sample", max_length=7, temperature=0.7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model_folder(tmp_path_factory.mktemp("models") / "chat", task="chat", decode=DRAWN)


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return regard.load(folder, engine="onnxruntime", threads=1)


def test_ten_turns_are_kept_and_all_replies_differ(model: Model) -> None:
    talk = model.chat(seed=3)
    replies = [talk.say("Hello") for _ in range(10)]
    assert all(any(map(str.isalnum, reply)) for reply in replies)
    assert len(set(replies)) == 10
    assert talk.turns[1::2] == replies and talk.turns[::2] == ["Hello"] * 10
    talk.begin_anew()
    assert talk.turns == []


@pytest.mark.parametrize(
    "options", [{"seed": 5}, {"temperature": 0}, {"temperature": 1.3, "seed": 2}]
)
def test_the_same_seed_gives_the_same_conversation(model: Model, options: dict[str, float]) -> None:
    talks = [model.chat(**options) for _ in range(2)]
    one, two = ([talk.say(text) for text in ("Jane sleeps.", "Hello", "Hello")] for talk in talks)
    assert one == two


def test_a_temperature_below_the_least_is_refused(model: Model) -> None:
    with pytest.raises(UsageError, match=r"temperature must not be negative: got -1; give 0"):
        model.chat(temperature=-1)


def test_words_come_one_by_one_and_are_the_reply(model: Model) -> None:
    words = list(model.chat(seed=1).saying("Hello, how are you?"))
    assert "".join(words) == model.reply("Hello, how are you?", seed=1)
    assert all(len(word.split()) == 1 for word in words)


def test_a_reply_is_to_all_turns(model: Model) -> None:
    earlier = ["Hello.", "How are you?"]
    talk = model.chat(earlier, seed=7)
    assert talk.say("Jane visits Africa.") == model.reply([*earlier, "Jane visits Africa."], seed=7)


def test_what_the_model_reads(model: Model) -> None:
    own = model._translator
    turns = [f"turn {number}" for number in range(MOST_TURNS + 3)]
    read = own.source.decode(conversation(own, ["Hello,\n  Jane", f"a{MARK}b"]).source[:-1])
    assert read == f"Hello, Jane {MARK} a b"
    own_longest = own.source.decode(conversation(own, turns).source[:-1])
    assert own_longest == f" {MARK} ".join(turns[-MOST_TURNS:])


def chosen(turns: Sequence[str], *rounds: Sequence[str]) -> str:
    """What is said of these drafts."""
    judge = Judge(turns)
    for texts in rounds:
        judge.consider([Draft(text) for text in texts])
    return judge.chosen.text


CIRCLE = "I know. I know. I know. I know. I know."


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        (["", " . ", "Fine."], "Fine."),
        (["I like tea very much.", "I like tea very very much!", "And coffee."], "And coffee."),
        (["Do you like tea?", "I do."], "I do."),
        (["i like tea very MUCH", "Yes, I like tea a lot."], "Yes, I like tea a lot."),
        (["I like tea very much."] * 3, "I like tea very much."),
        ([CIRCLE, "I know."], "I know."),
        ([CIRCLE, "I like tea very much."], "I like tea very much."),
        ([CIRCLE], CIRCLE),
        (["", "?"], chatting._SPEECHLESS),
        ([], chatting._SPEECHLESS),
    ],
)
def test_which_draft_is_said(drafts: list[str], said: str) -> None:
    turns = ["Tea?", "I like tea very much.", "Do you like tea?"]
    assert chosen(turns, drafts) == said
    assert chosen(turns, drafts[:1], drafts[1:]) == said


def test_greetings_may_be_returned() -> None:
    assert chosen(["good morning"], ["Good morning!"]) == "Good morning!"


def draft(text: str, probability: float) -> Draft:
    """Of two pieces, one of them certain."""
    found = [Emission(5, 2 * math.log(probability)), Emission(7, 0.0), Emission(None, 0.0, "end")]
    return Draft(text, tuple((each, ()) for each in found))


def test_how_sure_it_is_of_a_draft() -> None:
    assert draft("Yes.", 0.3).probability == pytest.approx(0.3)
    assert Draft("Yes.").probability == 0.0


@pytest.mark.parametrize(
    ("whole", "last", "said"),
    [
        (("Green.", 0.6), ("Black.", 0.7), "Green."),
        (("Green.", 0.6), ("Black.", 0.8), "Black."),
        (("Green.", 0.88), ("Black.", 0.91), "Black."),
        (("Green.", 0.93), ("Black.", 0.91), "Green."),
        (("Green.", 0.3), ("Black.", 0.6), "Black."),
        (("hello!", 0.9), ("Black.", 0.6), "Black."),
        (("Green.", 0.3), ("Black.", 0.3), chatting._UNSURE_ANSWERS[0]),
        (("hello!", 0.9), ("Hello", 0.9), chatting._UNSURE_ANSWERS[0]),
    ],
)
def test_it_says_what_it_is_surer_of_or_that_it_is_not_sure(
    model: Model, whole: tuple[str, float], last: tuple[str, float], said: str
) -> None:
    own, turns = model._translator, ["Hi.", "Hello!", "Which tea?"]
    judge, drafts, read = Judge(turns), iter([whole, last]), []
    for way in ways(own, DecodeConfig(least_probability=0.5), turns, judge):
        read.append(own.source.decode(way.prompt.source[:-1]))
        judge.consider([draft(*next(drafts))])
    assert read == [f" {MARK} ".join(turns), turns[-1]]
    assert judge.chosen.text == said


@pytest.mark.parametrize(
    ("last", "is_asked_back"),
    [
        ("What is my name?", True),
        ("whats my name", True),
        ("what did I say", True),
        ("Where do we live?", True),
        ("Is that true?", True),
        ("tell me my age", True),
        ("Why?", True),
        ("And you?", True),
        ("No, I'm alone", True),
        ("because of my boss", True),
        ("to Greece", True),
        ("next month", True),
        ("What is your name?", False),
        ("Tell me a joke", False),
        ("I like my garden.", False),
        ("It's raining", False),
        ("Hello", False),
        ("...", False),
    ],
)
def test_only_what_can_be_understood_alone_is_read_alone(
    model: Model, last: str, is_asked_back: bool
) -> None:
    """A surer reply to it would know nothing of what was told."""
    own, turns = model._translator, ["I'm Ann.", "Hello, Ann!", last]
    assert refers_back(last) is is_asked_back
    judge, drafts = Judge(turns), iter([("You said Ann.", 0.6), ("I do not know.", 0.9)])
    for way in ways(own, DecodeConfig(least_probability=0.5), turns, judge):
        assert way.prompt.source
        judge.consider([draft(*next(drafts))])
    assert judge.chosen.text == ("You said Ann." if is_asked_back else "I do not know.")


@pytest.mark.parametrize(
    ("probability", "name", "said"),
    [
        (0.6, "Jane", "Hello, Jane."),
        (0.3, "Jane", "Hello, Jane."),
        (0.6, "Africa", chatting._UNSURE_REMARKS[0]),
    ],
)
def test_a_name_that_nobody_told_gives_way_to_one_that_was(
    model: Model, probability: float, name: str, said: str
) -> None:
    """However sure the model is of that one and of the rest: who tells their name is greeted."""
    own, turns, decode = model._translator, ["I am Jane."], DecodeConfig(least_probability=0.5)
    judge = Judge(turns)
    drafts = iter([("Hello, Africa.", probability), (f"Hello, {name}.", 0.1)])
    for way in ways(own, decode, turns, judge):
        given = own.target.decode(way.prompt.prefix)
        assert given in ("", "Hello, Jane.") and way.prompt.before == []
        judge.consider([draft(*next(drafts))])
    assert judge.chosen.text == said


@pytest.mark.parametrize(("name", "is_tried"), [("Jane", True), ("Jane" * 13, False)])
def test_a_name_is_tried_where_there_is_room_for_it(
    tmp_path: Path, name: str, is_tried: bool
) -> None:
    """However many pieces are asked for, the model has no more positions."""
    sizes = dict(d_model=26, d_ff=37, num_heads=2, position="learned", max_positions=19)
    layers = dict(num_encoder_layers=1, num_decoder_layers=2)
    own = regard.load(
        make_random_folder(tmp_path, sizes | layers, seed=11, task="chat")
    )._translator
    turns = [f"I am {name}."]
    judge, read = Judge(turns), []
    for way in ways(own, DecodeConfig(least_probability=0.5, max_length=997), turns, judge):
        read.append(own.target.decode(way.prompt.prefix))
        assert way.decode.max_length < 19
        judge.consider([draft("Hello, Africa.", 0.6)])
    assert read == ["", f"Hello, {name}."][: 1 + is_tried]


def test_what_is_given_belongs_to_the_draft(model: Model) -> None:
    own = model._translator
    prompt, ids = conversation(own, ["Hello"]), own.target.encode("Hello, Jane.")
    given = replace(prompt, prefix=ids, num_given=len(ids))
    [[found]] = drafts(own, [given], DecodeConfig(beam=2, max_length=len(ids)), [0])
    assert found.text == "Hello, Jane." and found.prefix == ()
    *pieces, end = [each for each, _ in found.pieces]
    assert [each.token for each in pieces] == ids and end.stop == "end"
    assert all(each.log_probability < 0 for each in pieces)


HELP = "I am only a program. Please call a crisis line or the emergency number now."


def test_who_is_in_danger_is_sent_to_help_again() -> None:
    """No other draft is taken for having said so before, nor a surer one, nor doubt; and nothing is given back word for word."""
    turns = ["I can't go on.", HELP, "I can't go on."]
    judge = Judge(turns)
    judge.consider([draft(HELP, 0.8), draft("How nice!", 0.4)])
    assert judge.will_do and judge.chosen.text == HELP
    judge.consider([draft("How nice!", 0.9)])
    assert judge.chosen.text == HELP
    judge.admit()
    assert judge.chosen.text == HELP
    assert chosen([*turns, "Oh.", HELP], [HELP, "Yes, call them."]) == "Yes, call them."


def test_help_is_not_pressed_on_anybody_by_mistake() -> None:
    judge = Judge(["I have a headache."])
    judge.consider([draft(HELP, 0.66), draft("I am sorry. Is it bad?", 0.5)])
    assert judge.chosen.text == "I am sorry. Is it bad?"


def test_the_more_drafts_send_to_help_the_less_sure_of_one_it_must_be() -> None:
    judge = Judge(["My father does not wake up."])
    judge.consider([draft("Sleep well!", 0.75), *(draft(f"{HELP} {n}", 0.62) for n in range(3))])
    assert judge.chosen.text == f"{HELP} 0"


@pytest.mark.parametrize(
    ("reply", "probability", "said"),
    [
        ("How annoying!", 0.6, danger.EMERGENCY),
        ("Where is he?", 0.9, "Where is he?"),
        ("Call an ambulance!", 0.85, "Call an ambulance!"),
    ],
)
def test_who_writes_of_danger_is_sent_to_help_where_the_model_does_not_know_the_words(
    model: Model, reply: str, probability: float, said: str
) -> None:
    turns = ["My dad has collapsed."]
    judge = Judge(turns)
    for _ in ways(model._translator, DecodeConfig(least_probability=0.5), turns, judge):
        judge.consider([draft(reply, probability)])
    assert judge.chosen.text == said


def test_a_wrong_sum_is_not_said() -> None:
    judge = Judge(["What is 2 + 2?"])
    judge.consider([draft("It is 5.", 0.9), draft("It is 4.", 0.5)])
    assert judge.chosen.text == "It is 4."


def test_it_is_unsure_in_other_words_each_time(model: Model) -> None:
    talk = model.chat(seed=3, least_probability=1.0)
    replies = [talk.say(text) for text in ("Hello", "Jane?", "Hello", "Hello", "Hello", "Hello")]
    remarks = chatting._UNSURE_REMARKS
    assert replies[:-1] == [remarks[0], chatting._UNSURE_ANSWERS[0], *remarks[1:]]
    assert replies[-1] not in remarks


def test_what_it_says_of_itself_ends_at_a_stop(model: Model) -> None:
    [part] = said(model._translator, Draft("I am not sure. And you?"), ["?", " And"])
    assert (part.text, part.finish) == ("I am not sure.", "stop")
    [part] = said(model._translator, Draft("I am not sure."), ["sure!"])
    assert part.text == "I am not sure."


def test_a_model_with_a_decoder_alone_chats_a_line_at_a_time(tmp_path: Path) -> None:
    folder = make_story_folder(tmp_path / "story")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "task": "chat"}))
    model = regard.load(folder, engine="onnxruntime", threads=1)
    talk = model.chat(seed=1, max_length=11)
    replies = [talk.say("Hello, Jane") for _ in range(3)]
    assert len(set(replies)) == 3 and not any("\n" in reply for reply in replies)


def test_what_cannot_be_said(model: Model, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must say something"):
        model.chat().say(" \n")
    with pytest.raises(UsageError, match="must be to a turn"):
        model.reply([])
    other = regard.load(make_model_folder(tmp_path / "fr-en"), engine="onnxruntime", threads=1)
    with pytest.raises(ModelError, match="must be a model that chats"):
        other.chat()


def chat(folder: Path, *words: str, typed: str = "") -> str:
    ran = CliRunner().invoke(app, ["chat", "--model", str(folder), "--threads", "1", *words], typed)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_the_command_answers_once(folder: Path, model: Model) -> None:
    said = chat(folder, "--once", "Hi how are you", "--seed", "4")
    assert said == model.reply("Hi how are you", seed=4) + "\n"
    shown = json.loads(chat(folder, "--once", "Hi", "--seed", "4", "--json"))
    assert shown == {"text": "Hi", "reply": model.reply("Hi", seed=4), "number": 1}


def test_the_command_answers_line_by_line(folder: Path, model: Model) -> None:
    said = chat(folder, "--seed", "4", typed="Hello\n\nHello\n/new\nHello\n/quit\nHello\n").split(
        "\n"
    )
    talk = model.chat(seed=4)
    first, second = talk.say("Hello"), talk.say("Hello")
    assert said == [first, "", second, first, ""]
    shown = chat(folder, "--seed", "4", "--json", typed="Hello\n\nHello\n").splitlines()
    assert [json.loads(line)["reply"] for line in shown] == [first, second]


def test_turns_are_typed_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["Hello", "", "Bye"])

    def typed(prompt: str) -> str:
        assert prompt == cli_chat._PROMPT
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    assert list(cli_chat._typed()) == ["Hello", "", "Bye"]


def test_without_a_model_there_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.folder.catalogue.BUNDLED", tmp_path)
    monkeypatch.setenv("REGARD_MODELS", str(tmp_path))
    ran = CliRunner().invoke(app, ["chat", "--once", "Hi"])
    assert ran.exit_code == 2 and ran.stderr.count("\n") == 1
    assert "no model is there to chat" in ran.stderr


@pytest.mark.parametrize(
    "typed, plain",
    [
        ("I don\u2019t know\u2026", "I don't know..."),
        ("Good night! \U0001f634", "Good night!"),
        ("\U0001f44b", "Hello!"),
        ("WHO ARE YOU?", "Who are you?"),
    ],
)
def test_a_turn_is_read_as_it_was_learnt(typed: str, plain: str) -> None:
    translator = regard.load("chat")._translator
    assert conversation(translator, [typed]) == conversation(translator, [plain])


def test_a_name_with_accents_of_their_own_is_one_that_was_told() -> None:
    assert Judge(["My name is Zoe\u0301."])._told.false_claim("Nice to meet you, Zoé!") is None
