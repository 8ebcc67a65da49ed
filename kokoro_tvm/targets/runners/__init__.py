"""What executes a bundle's code on the machine that builds: what a runner answers, and one module a runner.

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
    """How a program is started. environment: more variables; afterwards: what is to be done once it ended."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    afterwards: Callable[[], None] = lambda: None


class Runner(ABC):
    """Executes compiled components."""

    needs_runtime: ClassVar[bool] = False
    """Whether it is a program of its own, which executes code with a TVM runtime that it is given."""

    @property
    def way(self) -> str:
        """How it runs code other than as it is, in words that follow "runs"; empty for this process."""
        return ""

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian's, that it needs besides those of the linker and the compilers of the target."""
        return ()

    @abstractmethod
    def version(self) -> str:
        """What it is and which version. Raises BuildError where it is not installed."""

    def facts(self) -> Any:
        """What of it decides about results, as JSON: part of the key of every stage that uses it."""
        return self.version()

    def check(self) -> str | None:
        """Why it cannot run anything here, with what to do about it; None where it can."""
        return problem_of(self.facts)

    @abstractmethod
    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> SessionBase:
        """The bundle's code, loaded. libraries: the TVM runtime, where it `needs_runtime`.

        Raises BundleError where the code cannot be loaded, BuildError where the runner is not installed.
        """

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start | None:
        """How a program of the target's platform is started here; None where only libraries are executed.

        libraries: the TVM runtime, where it `needs_runtime`. Raises BuildError.
        """
        return None


def open_synthesizer(
    runner: Runner, bundle: Path, threads: int, libraries: Sequence[Path] = ()
) -> Synthesizer:
    """A synthesizer whose components the runner executes; see its `session`. Raises BundleError."""
    from kokoro_tvm.runtime import read_bundle

    return open_parts(runner, read_bundle(bundle), threads, libraries)


def open_parts(runner: Runner, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Synthesizer:
    """The same for a bundle that was read, or is in no folder of its own yet."""
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.bundle.voices import Voices

    return Synthesizer.from_parts(bundle, runner.session(bundle, threads, libraries), Voices.open(bundle))
