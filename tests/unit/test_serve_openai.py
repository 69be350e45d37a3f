"""OpenAI's interface: chat, write, translate; whole and streamed; errors in its shape."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from serve_fixtures import NAMES, Answer, Running, running, wait_until

import regard
from regard.serve.settings import MAX_CHOICES, MAX_TEXTS

CHAT = "/v1/chat/completions"
WRITE = "/v1/completions"
HELLO = [{"role": "user", "content": "Hello, how are you?"}]


def answered(server: Running, path: str, **fields: Any) -> Any:
    answer = server.post(path, fields)
    assert answer.status == 200, answer.body
    return answer.json


def streamed(server: Running, path: str, **fields: Any) -> list[Any]:
    """The chunks of a stream, which must end as a stream ends."""
    answer = server.post(path, {**fields, "stream": True})
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = answer.body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


def test_whole_answers_and_what_asks_for_nothing(server: Running) -> None:
    ask = {"model": "story", "prompt": "Hello, how", "max_tokens": 11, "seed": 3}
    answer = answered(server, WRITE, **ask)
    [choice] = answer["choices"]
    assert answer["object"] == "text_completion"
    assert choice["finish_reason"] == "length" and choice["text"]
    assert answer["usage"]["completion_tokens"] == 11
    echoed = answered(server, WRITE, **ask, echo=True)["choices"][0]["text"]
    assert echoed == "Hello, how" + choice["text"]
    # What was read is counted once for each prompt.
    both = answered(server, WRITE, **{**ask, "prompt": ["Hello, how"] * 2}, n=2)
    assert both["usage"]["prompt_tokens"] == 2 * answer["usage"]["prompt_tokens"]
    nulls = dict.fromkeys(("n", "max_tokens", "temperature", "stop", "seed", "tools", "logprobs"))
    nothing = {"frequency_penalty": 0, "response_format": {"type": "text"}, "unheard_of": [1, 2]}
    answer = answered(server, CHAT, model="chat", messages=HELLO, **nulls, **nothing)
    [choice] = answer["choices"]
    assert choice["message"]["role"] == "assistant" and choice["logprobs"] is None


def test_a_reply_is_the_one_that_the_command_gives(server: Running, folders: list[Path]) -> None:
    """One choice among drafts, wherever one chats: three times the same turn, never the same reply."""
    talk = regard.load(folders[NAMES.index("chat")], threads=1).chat(seed=3)
    messages: list[dict[str, str]] = []
    for _ in range(3):
        messages.append({"role": "user", "content": "Hello"})
        ask = {"model": "chat", "messages": messages, "seed": 3}
        reply = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in streamed(server, CHAT, **ask))
        assert answered(server, CHAT, **ask)["choices"][0]["message"]["content"] == reply
        assert reply == talk.say("Hello")
        messages.append({"role": "assistant", "content": reply})
    assert len(set(talk.turns[1::2])) == 3


def test_a_reply_ends_at_a_stop_and_choices_differ(server: Running) -> None:
    ask = {"model": "chat", "messages": HELLO, "seed": 3}
    text = answered(server, CHAT, **ask)["choices"][0]["message"]["content"]
    stop = text[3:6]
    [choice] = answered(server, CHAT, **ask, stop=stop)["choices"]
    assert choice["message"]["content"] == text[: text.index(stop)]
    assert choice["finish_reason"] == "stop"
    several = answered(server, CHAT, **ask, n=3)["choices"]
    assert len({each["message"]["content"] for each in several}) == 3
    assert several[0]["message"]["content"] == text
    ask = {"model": "story", "prompt": "Hello", "max_tokens": 60, "seed": 11}
    text = answered(server, WRITE, **ask)["choices"][0]["text"]
    stop = text[20:25]
    [choice] = answered(server, WRITE, **ask, stop=stop)["choices"]
    assert choice["text"] == text[: text.index(stop)] and choice["finish_reason"] == "stop"


STREAMS: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"model": "chat", "messages": HELLO, "seed": 5, "n": 3}),
    (CHAT, {"model": "fr-en", "messages": [{"role": "user", "content": "Bonjour. Il dort.\n"}]}),
    (WRITE, {"model": "story", "prompt": ["Hello", "The"], "seed": 5, "max_tokens": 9, "n": 2}),
    (WRITE, {"model": "story", "prompt": "Jane", "seed": 7, "stop": ["e", "zz"], "echo": True}),
]


@pytest.mark.parametrize(("path", "fields"), STREAMS)
def test_a_stream_is_the_same_answer_bit_by_bit(server: Running, path: str, fields: dict[str, Any]) -> None:
    whole = answered(server, path, **fields)
    chunks = streamed(server, path, **fields, stream_options={"include_usage": True})
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
    *parts, last = chunks
    assert last["choices"] == [] and last["usage"] == whole["usage"]
    texts, finishes, roles = {}, {}, set()
    for chunk in parts:
        [choice] = chunk["choices"]
        number = choice["index"]
        delta = choice.get("delta", {})
        if "role" in delta:
            assert number not in texts
            roles.add(delta["role"])
        texts[number] = texts.get(number, "") + (delta.get("content") or choice.get("text") or "")
        assert number not in finishes
        if choice["finish_reason"]:
            finishes[number] = choice["finish_reason"]
    for choice in whole["choices"]:
        text = choice["text"] if path == WRITE else choice["message"]["content"]
        assert texts[choice["index"]] == text
        assert finishes[choice["index"]] == choice["finish_reason"]
    assert roles == ({"assistant"} if path == CHAT else set())


def test_log_probabilities(server: Running) -> None:
    ask = {"model": "chat", "messages": HELLO, "temperature": 0, "logprobs": True}
    tokens = answered(server, CHAT, **ask, top_logprobs=3)["choices"][0]["logprobs"]["content"]
    for token in tokens:
        best = [each["logprob"] for each in token["top_logprobs"]]
        assert len(best) == 3 and best == sorted(best, reverse=True)
        assert token["logprob"] <= best[0] + 1e-4
        shown = {each["token"]: each["logprob"] for each in token["top_logprobs"]}
        if token["token"] in shown:
            assert math.isclose(token["logprob"], shown[token["token"]], abs_tol=1e-4)
        assert bytes(token["bytes"]).decode() == token["token"]
    completion = answered(server, WRITE, model="story", prompt="Hello", max_tokens=5, logprobs=2)
    logprobs = completion["choices"][0]["logprobs"]
    assert len(logprobs["tokens"]) == len(logprobs["token_logprobs"]) == 5
    assert all(len(each) <= 2 for each in logprobs["top_logprobs"])


def test_the_conversation_is_read_and_a_translator_translates_its_end(server: Running, model: regard.Model) -> None:
    text = "Bonjour, comment allez-vous ? Je vais bien."
    messages = [*HELLO, {"role": "assistant", "content": "?"}, {"role": "user", "content": text}]
    answer = answered(server, CHAT, model="fr-en", messages=messages)
    assert answer["choices"][0]["message"]["content"] == model.translate(text)
    assert answer["usage"]["prompt_tokens"] == len(model.translator.source.encode(text))
    asked = {"model": "chat", "messages": [*HELLO * 2, {"role": "user", "content": f"Translate to English: {text}"}]}
    answer, chunks = answered(server, CHAT, **asked), streamed(server, CHAT, **asked)
    assert answer["choices"][0]["message"]["content"] == model.translate(text) and answer["translated"] == text
    assert {each["model"] for each in (answer, *chunks)} == {"fr-en"}
    number = answered(server, CHAT, model="fr-en", messages=[{"role": "user", "content": " 7 "}])
    assert number["choices"][0]["message"]["content"] == model.translate(" 7 ")

    def sureness(messages: list[Any]) -> float:
        ask = {"messages": messages, "temperature": 0, "logprobs": True, "max_tokens": 1}
        return float(answered(server, CHAT, model="chat", **ask)["choices"][0]["logprobs"]["content"][0]["logprob"])

    earlier = [
        {"role": "user", "content": [{"type": "text", "text": "Le chat "}, {"type": "text", "text": "dort"}]},
        {"role": "assistant", "content": "Hello, Jane!"},
    ]
    assert sureness([{"role": "system", "content": "Be rude."}, *HELLO]) == sureness(HELLO)
    assert sureness([*earlier, *HELLO]) != sureness(HELLO)
    assert sureness(HELLO * 100) == sureness(HELLO * 90)


def assert_refused(answer: Answer, param: str) -> None:
    assert answer.status == 400, answer.body
    error = answer.json["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["param"].startswith(param)


def test_every_number_is_bounded_and_what_is_wrong_said(server: Running) -> None:
    for value in (0, 10**30, 0.5, True):
        assert_refused(server.post(CHAT, {"model": "chat", "messages": HELLO, "n": value}), "n")
        ask = {"model": "story", "prompt": "a", "max_tokens": value}
        assert_refused(server.post(WRITE, ask), "max_tokens")
    for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
        for value in (-1, 10**400, "x", True):
            assert_refused(server.post(WRITE, {"model": "story", "prompt": "a", name: value}), name)
    for param, fields in (
        ("messages", {"messages": None}),
        ("messages", {"messages": HELLO * 257}),
        ("messages[0]", {"messages": [{"role": "king", "content": "a"}]}),
        ("messages[0]", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
        ("messages", {"messages": [{"role": "assistant", "content": "a"}]}),
        ("messages", {"messages": [{"role": "user", "content": "a" * 20_001}]}),
        ("tools", {"tools": [{"type": "function"}]}),
        ("stop", {"stop": ["a"] * 5}),
        ("top_p", {"top_p": 0}),
        ("stream", {"stream": "yes"}),
        ("model", {"model": 7}),
    ):
        assert_refused(server.post(CHAT, {"model": "chat", "messages": HELLO, **fields}), param)
    for name, value in (("n", 2), ("logprobs", True)):
        assert_refused(server.post(CHAT, {"model": "fr-en", "messages": HELLO, name: value}), name)


def test_as_many_texts_as_are_allowed_and_none_where_one_is_refused(folders: list[Path]) -> None:
    """One request does not fill the queue, whatever it asks for."""
    prompts = [f"Bonjour {number}." for number in range(MAX_TEXTS)]
    story = folders[NAMES.index("story")]
    with running([story], queue=2 * MAX_CHOICES) as server:
        answer = answered(server, WRITE, model="story", prompt=prompts, max_tokens=2)
        assert [each["index"] for each in answer["choices"]] == list(range(MAX_TEXTS))
    with running([folders[NAMES.index("story")]], queue=MAX_CHOICES - 1) as server:
        ask = {"model": "story", "prompt": "a", "max_tokens": 1000, "n": MAX_CHOICES}
        assert server.post(WRITE, ask).status == 503
        wait_until(lambda: server.worker("story").num_waiting == 0, seconds=5)
