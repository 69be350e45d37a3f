"""The command `regard`, in this process or in one of its own."""

import signal
import subprocess
import sys

from typer.testing import CliRunner, Result

from regard.cli.main import app

REGARD = [sys.executable, "-m", "regard"]


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)


def start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*REGARD, *(str(each) for each in arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A parent in the background ignores SIGINT, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def assert_one_sentence(result: Result, code: int) -> None:
    """A user's mistake: one line on stderr, nothing on stdout, no traceback."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("regard: ") and result.stderr.count("\n") == 1
