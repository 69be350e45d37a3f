"""The tree of what a user can cause."""

from pathlib import Path

from regard import errors
from regard.errors import RegardError, UsageError


def every_error() -> list[type[RegardError]]:
    kinds = vars(errors).values()
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, RegardError)]


def test_a_wrong_request_exits_2_and_everything_else_1():
    assert len(every_error()) == 6
    for kind in every_error():
        assert kind.exit_code == (2 if kind is UsageError else 1)
        assert kind.__name__ in errors.__doc__


def test_the_readme_says_the_same_of_installing():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    command = errors.how_to_install("torch").split("  ")[1]
    assert f"`{command}`" in readme
