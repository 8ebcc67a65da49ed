"""Everything that can go wrong, by who can mend it; the command line turns each into a paragraph and an exit
status."""

from __future__ import annotations

__all__ = [
    "BuildError",
    "BundleError",
    "InputError",
    "KokoroTvmError",
    "OutOfMemoryError",
    "RecipeError",
    "ValidationError",
    "sentence",
]


class KokoroTvmError(Exception):
    """What happened, where, and what to do about it, in one paragraph that ends with a full stop; `exit_code`
    is the process's status."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(sentence(message))


def sentence(message: str) -> str:
    """A message of one line with a full stop, where it has no end; one of several lines as it is."""
    ended = not message or "\n" in message or message.endswith((".", "?", "!", "…"))
    return message if ended else f"{message}."


class RecipeError(KokoroTvmError):
    """A recipe cannot be read or does not make sense."""

    exit_code = 2


class InputError(KokoroTvmError):
    """What the user requested to be spoken (text, voice, speed, noise) cannot be."""

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
    """The machine, or the limit of this process, has too little memory for what was requested."""

    @classmethod
    def of(cls, what: str, why: str) -> OutOfMemoryError:
        """what: that wanted memory; why: how much of it, as far as the allocator says."""
        return cls(
            f"Memory ran out: {what} ({why}). Speak the text in shorter parts, end other programs, or raise "
            "the limit of memory."
        )
