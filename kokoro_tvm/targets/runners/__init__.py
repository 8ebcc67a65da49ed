"""Runners: what executes a bundle's code on the build machine, one module per runner.

Validation, speech and the report open sessions through a runner and load no code themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kokoro_tvm.native.toolchains import problem_of

if TYPE_CHECKING:
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import SessionBase

__all__ = ["Runner", "Start", "open_parts", "open_synthesizer"]


@dataclass(frozen=True)
class Start:
    """How a program is started.

    Attributes:
        command: The program and its arguments.
        environment: Variables to add.
        afterwards: Called once the program has ended.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    afterwards: Callable[[], None] = lambda: None


class Runner(ABC):
    """Executor of compiled components."""

    needs_runtime: ClassVar[bool] = False
    """Whether it executes code in a program of its own, which needs a TVM runtime."""

    @property
    def way(self) -> str:
        """Return how the code is run, in words that follow "runs"; empty for this process."""
        return ""

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the Debian packages that it needs besides those of the target's linker and compilers."""
        return ()

    @abstractmethod
    def version(self) -> str:
        """Return name and version. Raises BuildError if it is not installed."""

    def facts(self) -> Any:
        """Return what decides about results, as JSON, for the keys of the stages that use it."""
        return self.version()

    def check(self) -> str | None:
        """Return why it cannot run anything here and what to do about it; None if it can."""
        return problem_of(self.facts)

    @abstractmethod
    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> SessionBase:
        """Load the code of a bundle.

        Args:
            bundle: The bundle.
            threads: Threads that compute together.
            libraries: The TVM runtime, for a runner that `needs_runtime`.

        Raises:
            BundleError: The code cannot be loaded.
            BuildError: The runner is not installed.
        """

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start | None:
        """Return how to start a program of the target's platform; None if only libraries are executed.

        `libraries` is the TVM runtime, for a runner that `needs_runtime`. Raises BuildError if the program
        cannot be prepared.
        """
        return None


def open_synthesizer(
    runner: Runner, bundle: Path, threads: int, libraries: Sequence[Path] = ()
) -> Synthesizer:
    """Open a synthesizer whose components a runner executes; see `Runner.session`.

    Raises BundleError for an invalid bundle.
    """
    from kokoro_tvm.runtime import read_bundle

    return open_parts(runner, read_bundle(bundle), threads, libraries)


def open_parts(runner: Runner, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Synthesizer:
    """Open a synthesizer of a manifest, whose files need not be in one folder; see `Runner.session`."""
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.bundle.voices import Voices

    return Synthesizer.from_parts(bundle, runner.session(bundle, threads, libraries), Voices.open(bundle))
