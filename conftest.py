"""What is collected where: a GPU's kernels only beside their compiler, which torch for CPUs comes without."""

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
collect_ignore = [
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / "src").rglob("*.py"))
    if find_spec("triton") is None and "\nimport triton" in path.read_text(encoding="utf-8")
]
