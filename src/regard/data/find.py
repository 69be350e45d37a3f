"""Where the files that a recipe names lie on this machine."""

from __future__ import annotations

from pathlib import Path

from regard.data.listing import corpus_of
from regard.errors import DataError

DATA = "data"
"""the folder that recipes speak of, and where `regard data get` puts files unless told otherwise"""
PREPARED = "prepared"
"""below it: what `regard data prepare` makes, apart from raw files of the same names"""
_PACKED = ("", ".gz", ".xz")


def find_files(name: str, folder: Path) -> list[str]:
    """The file `data/…` of a recipe below a folder: under its name, packed in another way, or within mixed files."""
    inside = name.removeprefix(f"{DATA}/")
    path, _, label = inside.partition("#")
    if found := _packed_in_any_way(folder, path):
        return [f"{found}#{label}" if label else str(found)]
    known = corpus_of(path)
    for pattern in known[1].elsewhere if known else ():
        pattern, _, label = pattern.partition("#")
        found_mixed = sorted({each for ending in _PACKED for each in folder.glob(pattern + ending)})
        if found_mixed:
            return [f"{each}#{label}" for each in found_mixed]
    top, *below = Path(path).parts
    if known:
        advice = f"run  regard data get {known[0].name}, or"
    elif top == PREPARED and below:
        advice = f"make it with  regard data prepare {below[0]} FILES, or"
    else:
        advice = "put it there, or"
    raise DataError(
        f"the recipe reads {folder / path}, which must be there: it is not; "
        f"{advice} name the folder that holds {path} with --data"
    )


def _packed_in_any_way(folder: Path, path: str) -> Path | None:
    plain = path.removesuffix(".gz").removesuffix(".xz")
    for each in (path, *(plain + ending for ending in _PACKED)):
        if (folder / each).is_file():
            return folder / each
    return None
