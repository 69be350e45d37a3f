"""The interface as OpenAPI, for programs that read it: `GET /spec`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from regard.serve.settings import (
    MOST_ALTERNATIVES,
    MOST_CHOICES,
    MOST_MESSAGES,
    MOST_STOPS,
    MOST_TEXTS,
    MOST_TOKENS,
    Settings,
)

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_BOOL: Schema = {"type": "boolean"}


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
            "schemas": _schemas(settings, languages, models),
        },
        "paths": {**_libretranslate(), **_openai(), **_own()},
    }


def _schemas(settings: Settings, languages: Sequence[str], models: Sequence[str]) -> Schema:
    text = {"type": "string", "maxLength": settings.characters}
    probability = {"type": "number", "minimum": 0, "maximum": 100}
    return {
        "Error": _object({"error": _TEXT}, "error"),
        "OpenAIError": _object({"error": _object({"message": _TEXT, "type": _TEXT})}, "error"),
        "Text": text,
        "Source": {"type": "string", "enum": ["auto", *languages]},
        "Target": {"type": "string", "enum": list(languages) or [""]},
        "Model": {"type": "string", "enum": list(models)},
        "Texts": {"oneOf": [text, {"type": "array", "items": text, "maxItems": MOST_TEXTS}]},
        "Detected": _object(
            {"confidence": probability, "language": _TEXT}, "confidence", "language"
        ),
        "Translate": _object(
            {
                "q": _ref("Texts"),
                "source": _ref("Source"),
                "target": _ref("Target"),
                "format": {"type": "string", "enum": ["text", "html"]},
                "alternatives": _whole(0, MOST_ALTERNATIVES),
                "api_key": _TEXT,
            },
            "q",
            "source",
            "target",
        ),
        **_openai_schemas(),
    }


def _openai_schemas() -> Schema:
    return {
        "Sampling": {"type": "object", "properties": _sampling()},
        "Chat": {
            "allOf": [
                _ref("Sampling"),
                _object(
                    {
                        "model": _ref("Model"),
                        "messages": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MOST_MESSAGES,
                            "items": _object(
                                {
                                    "role": {
                                        "type": "string",
                                        "enum": ["system", "developer", "user", "assistant"],
                                    },
                                    "content": _TEXT,
                                },
                                "role",
                                "content",
                            ),
                        },
                        "max_completion_tokens": _whole(1, MOST_TOKENS),
                        "logprobs": _BOOL,
                        "top_logprobs": _whole(0, 20),
                    },
                    "model",
                    "messages",
                ),
            ]
        },
        "Completion": {
            "allOf": [
                _ref("Sampling"),
                _object(
                    {
                        "model": _ref("Model"),
                        "prompt": _ref("Texts"),
                        "logprobs": _whole(0, 20),
                        "echo": _BOOL,
                    },
                    "model",
                    "prompt",
                ),
            ]
        },
    }


def _sampling() -> Schema:
    return {
        "max_tokens": _whole(1, MOST_TOKENS),
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "top_p": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
        "presence_penalty": {"type": "number", "minimum": 0, "maximum": 2},
        "frequency_penalty": {"type": "number", "minimum": 0, "maximum": 2},
        "n": _whole(1, MOST_CHOICES),
        "seed": {"type": "integer", "minimum": 0},
        "stop": {
            "oneOf": [
                {"type": "string", "minLength": 1, "maxLength": 64},
                {
                    "type": "array",
                    "maxItems": MOST_STOPS,
                    "items": {"type": "string", "minLength": 1, "maxLength": 64},
                },
            ]
        },
        "stream": _BOOL,
        "stream_options": _object({"include_usage": _BOOL}),
    }


def _libretranslate() -> Schema:
    translated = {"oneOf": [_TEXT, {"type": "array", "items": _TEXT}]}
    forms = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    detected = {"type": "array", "items": _ref("Detected")}
    language = _object(
        {"code": _TEXT, "name": _TEXT, "targets": {"type": "array", "items": _TEXT}},
        "code",
        "name",
        "targets",
    )
    upload = _object(
        {
            "file": {"type": "string", "format": "binary"},
            "source": _ref("Source"),
            "target": _ref("Target"),
        },
        "file",
        "source",
        "target",
    )
    return {
        "/translate": _post(
            "Translate a text or a list of texts.",
            {forms[0]: _ref("Translate"), forms[1]: _ref("Translate")},
            _object({"translatedText": translated}, "translatedText"),
        ),
        "/detect": _post(
            "Which language a text is in.",
            {each: _object({"q": _ref("Text"), "api_key": _TEXT}, "q") for each in forms[:2]},
            detected,
        ),
        "/languages": _get(
            "What can be translated into what.", {"type": "array", "items": language}
        ),
        "/frontend/settings": _get("What a page needs to know.", {"type": "object"}),
        "/translate_file": _post(
            "Translate a file.",
            {forms[2]: upload},
            _object({"translatedFileUrl": _TEXT}, "translatedFileUrl"),
        ),
        "/download_file/{name}": _get("A translated file, for an hour.", None, "name"),
        "/suggest": _post("Not taken here.", {forms[0]: {"type": "object"}}, {"type": "object"}),
    }


def _openai() -> Schema:
    return {
        "/v1/models": _get(
            "The models.", _object({"data": {"type": "array"}}, "data"), openai=True
        ),
        "/v1/models/{name}": _get("One model.", _object({"id": _TEXT}, "id"), "name", openai=True),
        "/v1/chat/completions": _post(
            "Answer, go on, or translate: as the model does.",
            {"application/json": _ref("Chat")},
            None,
            openai=True,
        ),
        "/v1/completions": _post(
            "Go on with a text, or translate it.",
            {"application/json": _ref("Completion")},
            None,
            openai=True,
        ),
    }


def _own() -> Schema:
    pair = {"text": _ref("Text"), "source": _ref("Source"), "target": _ref("Target")}
    return {
        "/health": _get("Whether every model answers.", _object({"status": _TEXT}, "status")),
        "/metrics": _get("Counts for Prometheus.", None),
        "/spec": _get("This.", {"type": "object"}),
        "/page/state": _get("What the page offers.", {"type": "object"}),
        "/page/translate": _post(
            "Sentence by sentence, with alternatives.",
            {
                "application/json": _object(
                    {**pair, "alternatives": _whole(0, MOST_ALTERNATIVES)}, *pair
                )
            },
            {"type": "object"},
        ),
    }


def _object(properties: Schema, *required: str) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _whole(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


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
        good["content"] = {"application/json": {"schema": schema}}
    error = _ref("OpenAIError" if openai else "Error")
    bad = {"description": "why not", "content": {"application/json": {"schema": error}}}
    return {"200": good, "4XX": bad, "5XX": bad}
