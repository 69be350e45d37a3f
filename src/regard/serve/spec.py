"""The interface as OpenAPI, for programs: `GET /spec`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from regard.serve.settings import (
    MAX_ALTERNATIVES,
    MAX_CHOICES,
    MAX_MESSAGES,
    MAX_STOPS,
    MAX_TEXTS,
    MAX_TOKENS,
    Settings,
)

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_BOOL: Schema = {"type": "boolean"}
_ANY: Schema = {"type": "object"}
_JSON, _FORM, _UPLOAD = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)


def specification(settings: Settings, languages: Sequence[str], models: Sequence[str]) -> Schema:
    secured: list[dict[str, list[str]]] = [{"bearer": []}] if settings.keys else []
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "regard",
            "version": version("regard"),
            "license": {"name": "Apache-2.0"},
        },
        "security": secured,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {**_schemas(settings, languages, models), **_openai_schemas()},
        },
        "paths": _paths(),
    }


def _schemas(settings: Settings, languages: Sequence[str], models: Sequence[str]) -> Schema:
    text = {"type": "string", "maxLength": settings.characters}
    detected = {"confidence": _number(0, 100), "language": _TEXT}
    translate = {
        "q": _ref("Texts"),
        "source": _ref("Source"),
        "target": _ref("Target"),
        "format": _one_of("text", "html"),
        "alternatives": _integer(0, MAX_ALTERNATIVES),
        "api_key": _TEXT,
    }
    return {
        "Error": _object({"error": _TEXT}, "error"),
        "OpenAIError": _object({"error": _object({"message": _TEXT, "type": _TEXT})}, "error"),
        "Text": text,
        "Source": _one_of("auto", *languages),
        "Target": _one_of(*(languages or [""])),
        "Model": _one_of(*models),
        "Texts": {"oneOf": [text, _list(text, maxItems=MAX_TEXTS)]},
        "Detected": _object(detected, *detected),
        "Translate": _object(translate, "q", "source", "target"),
    }


def _openai_schemas() -> Schema:
    role = _one_of("system", "developer", "user", "assistant")
    message = _object({"role": role, "content": _TEXT}, "role", "content")
    stop = {"type": "string", "minLength": 1, "maxLength": 64}
    sampling = {
        "max_tokens": _integer(1, MAX_TOKENS),
        "temperature": _number(0, 2),
        "top_p": {**_number(0, 1), "exclusiveMinimum": True},
        "presence_penalty": _number(0, 2),
        "frequency_penalty": _number(0, 2),
        "n": _integer(1, MAX_CHOICES),
        "seed": {"type": "integer", "minimum": 0},
        "stop": {"oneOf": [stop, _list(stop, maxItems=MAX_STOPS)]},
        "stream": _BOOL,
        "stream_options": _object({"include_usage": _BOOL}),
    }
    chat = {
        "model": _ref("Model"),
        "messages": _list(message, minItems=1, maxItems=MAX_MESSAGES),
        "max_completion_tokens": _integer(1, MAX_TOKENS),
        "logprobs": _BOOL,
        "top_logprobs": _integer(0, 20),
    }
    completion = {
        "model": _ref("Model"),
        "prompt": _ref("Texts"),
        "logprobs": _integer(0, 20),
        "echo": _BOOL,
    }
    return {
        "Sampling": _object(sampling),
        "Chat": {"allOf": [_ref("Sampling"), _object(chat, "model", "messages")]},
        "Completion": {"allOf": [_ref("Sampling"), _object(completion, "model", "prompt")]},
    }


def _paths() -> Schema:
    translated = _object({"translatedText": {"oneOf": [_TEXT, _list(_TEXT)]}}, "translatedText")
    detect = _object({"q": _ref("Text"), "api_key": _TEXT}, "q")
    language = {"code": _TEXT, "name": _TEXT, "targets": _list(_TEXT)}
    pair = {"source": _ref("Source"), "target": _ref("Target")}
    upload = {"file": {"type": "string", "format": "binary"}, **pair}
    file_url = _object({"translatedFileUrl": _TEXT}, "translatedFileUrl")
    page = {"text": _ref("Text"), **pair}
    page_body = _object({**page, "alternatives": _integer(0, MAX_ALTERNATIVES)}, *page)
    return {
        "/translate": _post(
            "Translate a text or a list of texts.",
            {_JSON: _ref("Translate"), _FORM: _ref("Translate")},
            translated,
        ),
        "/detect": _post(
            "Which language a text is in.",
            {_JSON: detect, _FORM: detect},
            _list(_ref("Detected")),
        ),
        "/languages": _get(
            "What can be translated into what.", _list(_object(language, *language))
        ),
        "/frontend/settings": _get("What a page needs to know.", _ANY),
        "/translate_file": _post(
            "Translate a file.", {_UPLOAD: _object(upload, *upload)}, file_url
        ),
        "/download_file/{name}": _get("A translated file, for an hour.", None, "name"),
        "/suggest": _post("Not taken here.", {_JSON: _ANY}, _ANY),
        "/v1/models": _get(
            "The models.", _object({"data": {"type": "array"}}, "data"), openai=True
        ),
        "/v1/models/{name}": _get("One model.", _object({"id": _TEXT}, "id"), "name", openai=True),
        "/v1/chat/completions": _post(
            "Answer, continue, or translate: as the model does.",
            {_JSON: _ref("Chat")},
            None,
            openai=True,
        ),
        "/v1/completions": _post(
            "Continue a text, or translate it.", {_JSON: _ref("Completion")}, None, openai=True
        ),
        "/health": _get("Whether every model answers.", _object({"status": _TEXT}, "status")),
        "/metrics": _get("Counts for Prometheus.", None),
        "/spec": _get("This.", _ANY),
        "/page/state": _get("What the page offers.", _ANY),
        "/page/translate": _post(
            "Sentence by sentence, with alternatives.", {_JSON: page_body}, _ANY
        ),
    }


def _object(properties: Schema, *required: str) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _list(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


def _one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _integer(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _number(low: int, high: int) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _get(summary: str, schema: Schema | None, *names: str, openai: bool = False) -> Schema:
    parameters = [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in names]
    operation: Schema = {"summary": summary, "responses": _responses(schema, openai)}
    return {"get": {**operation, "parameters": parameters} if parameters else operation}


def _post(
    summary: str, bodies: dict[str, Schema], schema: Schema | None, *, openai: bool = False
) -> Schema:
    content = {kind: {"schema": body} for kind, body in bodies.items()}
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": content},
            "responses": _responses(schema, openai),
        }
    }


def _responses(schema: Schema | None, openai: bool) -> Schema:
    good: Schema = {"description": "the answer"}
    if schema is not None:
        good["content"] = {_JSON: {"schema": schema}}
    error = _ref("OpenAIError" if openai else "Error")
    bad = {"description": "why not", "content": {_JSON: {"schema": error}}}
    return {"200": good, "4XX": bad, "5XX": bad}
