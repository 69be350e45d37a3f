"""A conversation remembers its turns, always has a word to say, and does not say the same twice."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_fixtures import run
from fixtures import make_model_folder
from serve_fixtures import make_story_folder

import regard
from regard.api import Model
from regard.config import DecodeConfig, GenerateConfig
from regard.decode import Emission
from regard.errors import ModelError, UsageError
from regard.generate import chat as chatting
from regard.generate import safety
from regard.generate.chat import ReplyCandidate, choose, reply_searches, stream_reply
from regard.generate.prompts import MARK, MAX_TURNS, chat_prompt

SAMPLED = DecodeConfig(method="sample", max_length=7, temperature=0.7)
UNSURE_BELOW_HALF = GenerateConfig(min_probability=0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "chat"
    return make_model_folder(folder, task="chat", decode=SAMPLED)


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return regard.load(folder, engine="onnxruntime", threads=1)


def test_ten_turns_are_kept_and_all_replies_differ_unsure_ones_too(model: Model) -> None:
    talk = model.chat(seed=3)
    replies = [talk.say("Hello") for _ in range(10)]
    assert all(any(map(str.isalnum, reply)) for reply in replies)
    assert len(set(replies)) == 10
    assert talk.turns[1::2] == replies and talk.turns[::2] == ["Hello"] * 10
    talk = model.chat(seed=3, min_probability=1.0)
    replies = [talk.say(text) for text in ("Hello", "Jane?", "Hello", "Hello", "Hello")]
    assert tuple(replies[:-1]) == chatting._UNSURE and replies[-1] not in chatting._UNSURE


def test_words_come_one_by_one_and_end_at_a_stop(model: Model) -> None:
    words = list(model.chat(["Hello.", "Hi."], seed=1).saying("How are you?"))
    assert "".join(words) == model.reply(["Hello.", "Hi.", "How are you?"], seed=1)
    turns = ["Hello.", "Hi.", "How are you?"]
    assert model.reply(turns, temperature=0) == model.reply(turns, temperature=0)
    assert all(len(word.split()) == 1 for word in words)
    own = model._translator
    [part] = stream_reply(own, ReplyCandidate("I am not sure. And you?"), ["?", " And"])
    assert (part.text, part.finish) == ("I am not sure.", "stop")
    [part] = stream_reply(own, ReplyCandidate("I am not sure."), ["sure!"])
    assert part.text == "I am not sure."


def test_what_the_model_reads(model: Model) -> None:
    own = model._translator
    turns = [f"turn {number}" for number in range(MAX_TURNS + 3)]
    read = own.source.decode(chat_prompt(own, ["Hello,\n  Jane", f"a{MARK}b"]).source[:-1])
    assert read == f"Hello, Jane {MARK} a b"
    longest = own.source.decode(chat_prompt(own, turns).source[:-1])
    assert longest == f" {MARK} ".join(turns[-MAX_TURNS:])
    translator = regard.load("chat")._translator
    typed, plain = "I don\u2019t know\u2026", "I don't know..."
    assert chat_prompt(translator, [typed]) == chat_prompt(translator, [plain])


def chosen(turns: Sequence[str], *searches: Sequence[str], min_probability: float = 0.0) -> str:
    """The reply chosen among these candidates."""
    return choose(turns, [[ReplyCandidate(text) for text in texts] for texts in searches], min_probability).text


LOOP = "I know. I know. I know. I know. I know."


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        (["", " . ", "Fine."], "Fine."),
        (["I like tea very much.", "I like tea very very much!", "And coffee."], "And coffee."),
        (["Do you like tea?", "I do."], "I do."),
        ([LOOP, "I know."], "I know."),
        ([LOOP, "I like tea very much."], chatting._UNSURE[0]),
        (["", "?"], chatting._UNSURE[0]),
    ],
)
def test_which_candidate_is_said(candidates: list[str], said: str) -> None:
    turns = ["Tea?", "I like tea very much.", "Do you like tea?"]
    assert chosen(turns, candidates) == said
    assert chosen(turns, candidates[:1], candidates[1:]) == said
    assert chosen(["good morning"], ["Good morning!"]) == "Good morning!"
    said = [turn for unsure in chatting._UNSURE for turn in ("Tea?", unsure)]
    assert chosen([*said, *turns], ["", "I like tea very much.", LOOP]) == "I like tea very much."


def candidate(text: str, probability: float) -> ReplyCandidate:
    """Two tokens, one of them certain."""
    found = [Emission(5, 2 * math.log(probability)), Emission(7, 0.0), Emission(None, 0.0, "end")]
    return ReplyCandidate(text, tuple((each, ()) for each in found))


@pytest.mark.parametrize(
    ("whole", "last", "said"),
    [
        (("Green.", 0.6), ("Black.", 0.7), "Green."),
        (("Green.", 0.6), ("Black.", 0.8), "Black."),
        (("Green.", 0.88), ("Black.", 0.91), "Black."),
        (("hello!", 0.9), ("Black.", 0.6), "Black."),
        (("Green.", 0.3), ("Black.", 0.3), chatting._UNSURE[0]),
        (("hello!", 0.9), ("Hello", 0.9), chatting._UNSURE[0]),
    ],
)
def test_it_says_the_more_probable_reply_or_that_it_is_not_sure(model, whole, last, said):
    own, turns = model._translator, ["Hi.", "Hello!", "Which tea?"]
    prompts, _ = reply_searches(own, DecodeConfig(), UNSURE_BELOW_HALF, turns)
    read = [own.source.decode(prompt.source[:-1]) for prompt in prompts]
    assert read == [f" {MARK} ".join(turns), turns[-1]]
    assert choose(turns, [[candidate(*whole)], [candidate(*last)]], 0.5).text == said


HELP = "I am only a program. Please call a crisis line or the emergency number now."


def test_who_is_in_danger_is_sent_to_help_again() -> None:
    """Neither a more probable reply nor doubt replaces it; but it is no copy of the turn it answers."""
    turns = ["I can't go on.", HELP, "I can't go on."]
    found = [[candidate(HELP, 0.3), candidate("How nice!", 0.4)], [candidate("How nice!", 0.9)]]
    assert choose(turns, found, 0.5).text == HELP
    assert chosen([*turns, "Oh.", HELP], [HELP, "Yes, call them."]) == "Yes, call them."


def test_words_of_danger_are_answered_whatever_the_model_would_say(model: Model) -> None:
    assert model.reply("My dad has collapsed.") == safety.EMERGENCY
    assert model.reply("Translate into French: my dad has collapsed.") == safety.EMERGENCY


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
    with pytest.raises(UsageError, match=r"temperature must not be negative: got -1; give 0"):
        model.chat(temperature=-1)
    other = regard.load(make_model_folder(tmp_path / "fr-en"), engine="onnxruntime", threads=1)
    with pytest.raises(ModelError, match="must be a model that chats"):
        other.chat()


def chat(folder: Path, *words: str, typed: str = "") -> str:
    ran = run("chat", "--model", folder, "--threads", 1, *words, stdin=typed.encode())
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_the_command_answers_once_and_line_by_line(folder: Path, model: Model) -> None:
    said = chat(folder, "--once", "Hi how are you", "--seed", "4")
    assert said == model.reply("Hi how are you", seed=4) + "\n"
    shown = json.loads(chat(folder, "--once", "Hi", "--seed", "4", "--json"))
    assert shown == {"text": "Hi", "reply": model.reply("Hi", seed=4), "number": 1}
    assert chat(folder, "--once", "Hi", "--set", "min_probability=1") == chatting._UNSURE[0] + "\n"
    said = chat(folder, "--seed", "4", typed="Hello\n\nHello\n/new\nHello\n/quit\nHello\n").split("\n")
    talk = model.chat(seed=4)
    first, second = talk.say("Hello"), talk.say("Hello")
    assert said == [first, "", second, first, ""]
    shown = chat(folder, "--seed", "4", "--json", typed="Hello\n\nHello\n").splitlines()
    assert [json.loads(line)["reply"] for line in shown] == [first, second]


@pytest.mark.parametrize("kind", ["lines", "decoder-only"])
def test_a_translator_answers_where_one_is_asked_for_and_is_named(kind: str, folder: Path, tmp_path: Path) -> None:
    if kind == "decoder-only":
        folder = make_story_folder(tmp_path / "story")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "task": "chat"}))
    text = "It is late. Where are my keys?"
    talk, expected = regard.load(folder, threads=1).chat(seed=1), regard.load("en-fr").translate(text)
    assert talk.say(f"Could you translate “{text}” into French?") == expected and talk.translated_by == "en-fr"
    assert talk.say("Thank you, that helps.") and not talk.translated_by
    asked = f"Peux-tu traduire en français : {text}"
    assert chat(folder, "--once", asked) == f"{expected} [en-fr]\n"
    shown = json.loads(chat(folder, "--once", asked, "--json"))
    assert (shown["reply"], shown["translated_by"]) == (expected, "en-fr")
    said = chat(folder, "--once", asked, "--set", "translates=false", "--set", "max_length=9")
    assert expected not in said and "[" not in said
