"""The server with clients that others wrote: libretranslatepy, openai, and what Mastodon and Weblate send."""

import json
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from libretranslatepy import LibreTranslateAPI
from serve_fixtures import KEY, NAMES, Running, running

import regard
from regard.search.encoder import TextEncoder

TEXT = "Bonjour, comment allez-vous ? Je vais bien."


@pytest.fixture(scope="module")
def server(folders: list[Path]) -> Iterator[Running]:
    with running(folders, keys=(KEY,)) as started:
        yield started


@pytest.fixture
def client(server: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as made:
        yield made


def test_libretranslatepy(server: Running, model: regard.Model) -> None:
    client = LibreTranslateAPI(server.url, api_key=KEY)
    assert client.translate(TEXT, "fr", "en") == model.translate(TEXT)
    assert client.detect(TEXT)[0]["language"] == "fr"
    assert {each["code"] for each in LibreTranslateAPI(server.url).languages()} == {"en", "fr"}
    with pytest.raises(urllib.error.HTTPError, match="403"):
        LibreTranslateAPI(server.url, api_key="x" * 20).translate(TEXT, "fr", "en")


def test_openai_chat(client: openai.OpenAI) -> None:
    ask: Any = dict(model="chat", messages=[{"role": "user", "content": "Hi how are you"}], seed=5)
    whole = client.chat.completions.create(**ask)
    message = whole.choices[0].message
    assert message.role == "assistant" and message.content
    chunks = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    text = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
    assert text == message.content
    assert chunks[-1].usage == whole.usage


def test_openai_completions(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="story", prompt="Jane visits", max_tokens=9, seed=3, n=2)
    assert len(whole.choices) == 2 and whole.usage and whole.usage.completion_tokens == 18
    stream = client.completions.create(model="story", prompt="Jane visits", max_tokens=9, seed=3, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == whole.choices[0].text


def test_openai_embeddings(client: openai.OpenAI, folders: list[Path]) -> None:
    """Its client asks for base64 and gives numbers; both are the vectors that search compares."""
    texts = ["Le chat dort.", "Il fait beau.", "Le chat dort."]
    found = client.embeddings.create(model="search", input=texts)
    vectors = np.array([each.embedding for each in found.data])
    assert np.array_equal(vectors.astype(np.float32), TextEncoder.open(folders[-1], threads=1).vectors(texts))
    plain = client.embeddings.create(model="search", input=texts[0], encoding_format="float")
    assert plain.data[0].embedding == vectors[0].tolist() and plain.usage.prompt_tokens > 0
    for wrong in ({"model": "fr-en"}, {"input": "a " * 999}, {"dimensions": 3}, {"input": [1, 2]}):
        with pytest.raises(openai.BadRequestError) as refused:
            client.embeddings.create(**{"model": "search", "input": "a", **wrong})
        assert refused.value.param == next(iter(wrong))
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="search", prompt="a")


def test_openai_models_and_errors(server: Running, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.models.retrieve("gpt")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as wrong:
        client.completions.create(model="story", prompt="a", n=99)
    assert wrong.value.param == "n"
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x" * 20, max_retries=0)
    with stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()
    assert {each.id for each in client.models.list()} == set(NAMES)
    assert client.models.retrieve("chat").object == "model"


def test_mastodon(server: Running) -> None:
    """app/lib/translation_service/libre_translate.rb: a list of HTML, and what it reads of the answer."""
    texts = ["<p>Bonjour le <b>monde</b> !</p>", "Avertissement", "Oui"]
    body = {"q": texts, "source": "fr", "target": "en", "format": "html", "api_key": KEY}
    headers = {"Content-Type": "application/json", "User-Agent": "Mastodon/4.5.0 (http.rb/5.3)"}
    answer = server.ask("POST", "/translate", json.dumps(body), headers).json
    assert len(answer["translatedText"]) == 3
    assert answer["translatedText"][0].startswith("<p>")
    body["source"] = "auto"
    body["q"] = ["<p>Bonjour le monde, le chat dort dans la maison.</p>"]
    detected = server.ask("POST", "/translate", json.dumps(body), headers).json
    assert detected["detectedLanguage"][0]["language"] == "fr"
    languages = server.get("/languages", Authorization=f"Bearer {KEY}").json
    assert {each["code"]: each["targets"] for each in languages}["fr"] == ["en", "fr"]


def test_weblate(server: Running, model: regard.Model) -> None:
    """weblate/machinery/libretranslate.py: languages without the key, then texts in JSON; older ones send a form."""
    languages = server.get("/languages")
    assert [each["code"] for each in languages.json] == ["en", "fr"]
    texts = ["Le chat dort.", "Il fait beau."]
    asked = {"api_key": KEY, "q": texts, "source": "fr-FR", "target": "en-US"}
    headers = {"User-Agent": "Weblate/5.17", "Accept": "application/json"}
    answer = server.post("/translate", asked, **headers).json
    assert answer == {"translatedText": model.translate(texts)}
    refused = server.post("/translate", {**asked, "api_key": ""}, **headers)
    assert refused.status == 403 and "API key" in refused.json["error"]
    form = f"api_key={KEY}&q=Le+chat+dort.&source=fr&target=en"
    assert server.form("/translate", form).json["translatedText"] == model.translate(texts[0])
