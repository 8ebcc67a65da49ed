"""Runner of code in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.targets.runners import Runner, Start

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session


class Local(Runner):
    """This process."""

    def version(self) -> str:
        """Return the name."""
        return "local"

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        """Load the code in this process."""
        from kokoro_tvm.runtime.session.session import Session

        return Session(bundle, threads)

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start:
        """Start the program as it is."""
        return Start([str(program)])


LOCAL = Local()
