"""The page as one file: its modules, its style and the numbers inside, nothing to fetch, no server needed.

What runs is named by its hash in the file's own security policy, which forbids everything else. Needs NumPy
alone.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

import numpy as np

from regard.look.linker import link

_STYLE = re.compile(r'<link rel="stylesheet" href="(?:\./)?([\w.-]+)"\s*/?>')
_SCRIPT = re.compile(r'<script type="module" src="(?:\./)?([\w.-]+)"></script>')


def fill_page(title: str, data: dict[str, Any]) -> str:
    """The page's files put together around the data."""
    page = _read("index.html")
    style = "\n".join(_read(name) for name in _STYLE.findall(page))
    [entry] = _SCRIPT.findall(page)
    script = link(entry, _read).replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    numbers = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    page = _STYLE.sub("", page)
    page = re.sub(r"<title>[^<]*</title>", lambda _: f"<title>{html.escape(title)}</title>", page)
    page = page.replace("<head>", f"<head>\n{meta}", 1)
    page = page.replace("</head>", f"<style>{style}</style>\n</head>", 1)
    return _SCRIPT.sub(
        lambda _: (
            f'<script type="application/json" id="regard-data">{numbers}</script>\n'
            f'<script type="module">{script}</script>'
        ),
        page,
    )


def as_frame(page: str, height: int = 900) -> str:
    """A page inside another, such as a notebook's."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: {height}px; border: 0"></iframe>'


def binary(value: np.ndarray) -> bytes:
    """Little-endian float32 in C order: how the page is given any array."""
    return np.ascontiguousarray(value, dtype="<f4").tobytes()


def encoded(value: np.ndarray) -> str:
    """The same inside JSON."""
    return base64.b64encode(binary(value)).decode()


def _read(name: str) -> str:
    return (resources.files("regard.look") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
