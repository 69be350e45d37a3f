"""Which files a search reads: those that are named, and in folders all that a user would call text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.errors import UsageError

MOST_BYTES = 1 << 26
"""of a file; a larger one is a data set rather than something to read"""

VECTORS = ".f32"
"""how the name of an index's vectors ends"""

_NO_TEXT = frozenset(
    ".7z .avi .bin .bmp .bz2 .class .dll .doc .docx .dylib .exe .flac .gif .gz .ico .jar .jpeg .jpg .lock .mkv .mo "
    ".mov .mp3 .mp4 .npy .npz .o .odp .ods .odt .ogg .onnx .otf .parquet .pdf .pickle .pkl .png .ppt .pptx .pt "
    ".pyc .rar .safetensors .so .sqlite .tar .tgz .tiff .ttf .wav .webm .webp .woff .woff2 .xls .xlsx .xz .zip "
    ".zst".split()
)
_NO_FOLDERS = frozenset(("__pycache__", "node_modules"))


def find_files(named: Sequence[str | Path]) -> list[Path]:
    """The files to read, each once, in an order that does not change.

    A folder's hidden files are left out, indexes, and what its name says is no text; a file that is named itself is
    read.
    """
    found: dict[Path, None] = {}
    for each in map(Path, named):
        if each.is_dir():
            found |= dict.fromkeys(_inside(each))
        elif each.is_file():
            found[each] = None
        else:
            raise UsageError(f"{each} must be a file or a folder: there is none; check its name")
    return list(found)


def _inside(folder: Path) -> Iterator[Path]:
    """Links to folders are not followed: they may lead round in a circle."""
    for parent, folders, names in os.walk(folder):
        if any(name.endswith(VECTORS) for name in names):
            folders.clear()  # an index, which holds the same passages once more
            continue
        folders[:] = sorted(each for each in folders if each[0] != "." and each not in _NO_FOLDERS)
        for name in sorted(names):
            path = Path(parent) / name
            if name[0] != "." and path.suffix.lower() not in _NO_TEXT and path.is_file():
                yield path
