"""What an import costs: `import regard` nothing, help only typer, translating no torch; and that none came too early."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import jaxtyping
import torch
from fixtures import make_model_folder

from regard.model.layout import Layout

SOURCE = Path(__file__).parents[2] / "src" / "regard"
HEAVY = {*("torch", "numpy", "onnxruntime", "onnx"), *("sentencepiece", "rich", "sacrebleu", "safetensors")}


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh process has imported after running the code."""
    report = "import sys; print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


def test_importing_regard_imports_nothing_else_and_help_only_typer() -> None:
    code = "import regard; regard.UsageError; regard.TrainConfig()"
    assert not modules_after(code) & (HEAVY | {"typer"})
    code = "import regard.cli.main\ntry: regard.cli.main.app(['train', '--help'])\nexcept SystemExit: pass"
    modules = modules_after(code)
    assert "typer" in modules and not modules & HEAVY


def test_translating_and_serving_need_no_torch(tmp_path: Path) -> None:
    folder = make_model_folder(tmp_path / "model")
    served = "import regard, regard.serve.app, regard.serve.models, regard.serve.server"
    modules = modules_after(f"{served}\nprint(regard.load({str(folder)!r}).translate('Bonjour'))")
    assert "starlette" in modules and not modules & {"torch", "onnx", "sacrebleu", "transformers"}


def test_a_base_install_says_what_is_missing(tmp_path: Path) -> None:
    """Torch and its company hidden, as if only the base were installed."""
    for name in ("torch", "onnx", "sacrebleu", "jaxtyping"):
        (tmp_path / "hidden" / name).mkdir(parents=True)
        (tmp_path / "hidden" / name / "__init__.py").write_text(f"raise ModuleNotFoundError('hidden', name={name!r})")
    (tmp_path / "a.fr").write_text("Bonjour\n")
    (tmp_path / "a.en").write_text("Hello\n")
    folder = make_model_folder(tmp_path / "model")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "hidden")}

    def regard(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "regard", *(str(each) for each in arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    files = ("--source", tmp_path / "a.fr")
    assert regard("translate", "-m", folder, "Bonjour").returncode == 0
    for failing in (
        regard("train", *files, "--target", tmp_path / "a.en", "--output", tmp_path / "run"),
        regard("evaluate", folder, *files, "--reference", tmp_path / "a.en"),
        regard("export", folder, tmp_path / "out"),
        regard("look", "Bonjour", "--model", folder, "--json"),
    ):
        assert failing.returncode == 1
        assert failing.stderr.count("\n") == 1, failing.stderr
        assert "pip install -c constraints.txt '.[torch]'" in failing.stderr


def test_nothing_is_unpickled_or_evaluated() -> None:
    """Test E1: no pickle, no torch.load, no eval or exec, in any file."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "joblib", "shelve", "marshal"}, path
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("torch.load", "eval", "exec", "numpy.load", "np.load"), path


def test_translating_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """Neither a cache of ours nor what onnxruntime keeps, and sends, about its users where it is let."""
    folder, home = make_model_folder(tmp_path / "model"), tmp_path / "home"
    home.mkdir()
    kept = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(home), "USERPROFILE": str(home)}
    command = [sys.executable, "-m", "regard", "translate", "--model", str(folder), "Bonjour."]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout and list(home.iterdir()) == []


def test_a_wrong_type_of_tensor_is_refused_exactly_when_the_hook_is_asked_for(pytestconfig):
    """The checking of shapes is on whenever a run asks for it."""
    refused = False
    try:
        Layout(lengths=torch.zeros(3), length=5, longest=5)
    except jaxtyping.TypeCheckError:
        refused = True
    assert refused == bool(pytestconfig.getoption("jaxtyping_packages"))
