"""Runs code in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.targets.runners import Runner, Start

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.runtime.session.session import Session

__all__ = ["LOCAL", "Local"]


class Local(Runner):
    """This process."""

    def version(self) -> str:
        return "local"

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> Session:
        from kokoro_tvm.runtime.session.session import Session

        return Session(bundle, threads)

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start:
        return Start([str(program)])


LOCAL = Local()
