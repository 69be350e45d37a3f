"""Building a wheel compiles the kernel in C into it, where there is a C compiler for x86-64 Linux; elsewhere the wheel is pure.

An editable install gets it beside its source. Nothing needs it: `src/regard/engine/compiler.py` says what it is for.
"""

import importlib.util
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernel(BuildHookInterface):
    PLUGIN_NAME = "custom"
    _scratch = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "src"
        sys.path.insert(0, str(source))
        from regard.errors import UsageError

        # By its path: its package imports numpy, which a build does not have.
        spec = importlib.util.spec_from_file_location("compiler", source / "regard" / "engine" / "compiler.py")
        assert spec and spec.loader
        compiler = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(compiler)
        is_editable = version == "editable"
        self._scratch = "" if is_editable else tempfile.mkdtemp()
        try:
            paths = compiler.compile_kernel(compiler.SOURCE.parent if is_editable else Path(self._scratch))
        except UsageError as reason:
            self.app.display_info(str(reason))
            return
        if not is_editable:
            build_data["force_include"].update({str(path): f"regard/engine/{path.name}" for path in paths})
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data.update(pure_python=False, tag=f"py3-none-{platform}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._scratch:
            shutil.rmtree(self._scratch)
