"""Error classes by who can fix the fault; the command line prints the message and returns the exit code."""

from __future__ import annotations


class KokoroTvmError(Exception):
    """An error whose message says what is wrong, where, and what to do.

    Attributes:
        exit_code: Exit status of the process.
    """

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(sentence(message))


def sentence(message: str) -> str:
    """Add a full stop to a message of one line that has no end."""
    ended = not message or "\n" in message or message.endswith((".", "?", "!", "…"))
    return message if ended else f"{message}."


class RecipeError(KokoroTvmError):
    """A recipe cannot be read or does not make sense."""

    exit_code = 2


class InputError(KokoroTvmError):
    """The user's input (text, voice, speed, file) cannot be used."""

    exit_code = 2


class BuildError(KokoroTvmError):
    """A stage (fetch, export, lower, compile, pack, bundle) failed."""

    exit_code = 3


class ValidationError(KokoroTvmError):
    """An artifact was built but missed a gate."""

    exit_code = 4


class BundleError(KokoroTvmError):
    """A bundle is missing, damaged, of another version or for another machine."""

    exit_code = 5


class OutOfMemoryError(BundleError):
    """The machine, or the limit of this process, has too little memory for a request."""

    @classmethod
    def of(cls, what: str, why: str) -> OutOfMemoryError:
        """Return the error of an allocation.

        Args:
            what: Name of what needed the memory.
            why: The allocator's message.
        """
        return cls(
            f"Memory ran out: {what} ({why}). Speak the text in shorter parts, end other programs, or raise "
            "the limit of memory."
        )
