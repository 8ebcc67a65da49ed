"""What a runner answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.bundle import Bundle
    from kokoro_tvm.runtime.session import Session

__all__ = ["Runner", "open_synthesizer"]


class Runner(ABC):
    """Executes compiled components."""

    @abstractmethod
    def version(self) -> str:
        """What it is and which version; part of the key of every stage that uses it."""

    @abstractmethod
    def session(self, bundle: Bundle, threads: int) -> Session:
        """The bundle's code, loaded, as `kokoro_tvm.runtime.session.Session` or what behaves like it.

        Raises BundleError where the code cannot be loaded.
        """


def open_synthesizer(runner: Runner, bundle: Path, threads: int) -> Synthesizer:
    """A synthesizer whose components the runner executes. Raises BundleError."""
    from kokoro_tvm.runtime import Synthesizer, read_bundle
    from kokoro_tvm.runtime.voices import Voices

    opened = read_bundle(bundle)
    return Synthesizer.from_parts(opened, runner.session(opened, threads), Voices.open(opened))
