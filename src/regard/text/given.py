"""What a program or a command line may give as a text: characters, and nothing that only looks like them."""

from __future__ import annotations

from regard.errors import UsageError


def check_text(text: object, what: str = "a text") -> str:
    """The text itself, if it is one that can be written as UTF-8."""
    if not isinstance(text, str):
        raise UsageError(f"{what} must be a str: got {type(text).__name__}; convert it first")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        # What the command line holds of a byte that it could not decode is a lone surrogate.
        raise UsageError(
            f"{what} must be UTF-8 text: got {text[error.start]!a}, which is no character, in place "
            f"{error.start + 1}; convert it with iconv"
        ) from error
    return text
