"""The interface as OpenAPI, for programs: `GET /spec`. spec.json describes it, with the limits left open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import version
from typing import Any

from regard.serve import settings as limits
from regard.serve.settings import Settings


def specification(
    settings: Settings, languages: Sequence[str], models: Sequence[str]
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "version": version("regard"),
        "security": [{"bearer": []}] if settings.keys else [],
        "characters": settings.characters,
        "sources": ["auto", *languages],
        "targets": list(languages) or [""],
        "models": list(models),
        **{name: value for name, value in vars(limits).items() if name.startswith("MAX_")},
    }
    text = (resources.files("regard.serve") / "spec.json").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f'"@{name}@"', json.dumps(value))
    specification: dict[str, Any] = json.loads(text)
    return specification
