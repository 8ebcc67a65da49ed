"""One stage of the build: what it depends on, what it writes, how it is run and whether it is current."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.build.child import run_child
from kokoro_tvm.build.digest import function_digest
from kokoro_tvm.build.record import Record, read_record
from kokoro_tvm.errors import BuildError

__all__ = ["Stage"]

_STAGES = "kokoro_tvm.build.stages"


@dataclass(frozen=True)
class Stage:
    """name: of the task, like "cpu.compile.decoder-5120"; doc: one line; folder: where its outputs go;
    work: where its record and log go.

    function: of `kokoro_tvm.build.stages`, called with `arguments()` in a child process. outputs: the files it
    leaves in the folder. ingredients: what, besides that function's code, decides about the outputs; asked only
    once the stages named in `after` are done, because it reads their records.
    """

    name: str
    doc: str
    folder: Path
    work: Path
    function: str
    arguments: Callable[[], Mapping[str, Any]]
    outputs: tuple[str, ...]
    ingredients: Callable[[], Mapping[str, Any]]
    after: tuple[Stage, ...] = ()
    timeout_s: float = 3600.0

    @property
    def record_path(self) -> Path:
        return self.work / f"{self.function.rstrip('_')}.record.json"

    @property
    def log_path(self) -> Path:
        return self.work / f"{self.function.rstrip('_')}.log"

    def record(self) -> Record:
        """The record of its last run. Raises BuildError where there is none."""
        found = read_record(self.record_path)
        if found is None:
            raise BuildError(f"{self.name} has not been built: {self.record_path} is missing or damaged; run doit again")
        return found

    def path(self, output: str) -> Path:
        return self.folder / output

    def sha256(self, output: str) -> str:
        """Digest of one of its outputs, as its record gives it."""
        return self.record().sha256(output)

    def everything(self) -> dict[str, Any]:
        """All that its outputs depend on."""
        return {"code": function_digest(_STAGES, self.function), **self.ingredients()}

    def is_current(self) -> bool:
        """Whether its outputs are there, intact, and made of what there is now."""
        found = read_record(self.record_path)
        return found is not None and found.is_current(self.everything(), self.folder)

    def run(self, beat: Callable[[float], None] = lambda elapsed: None) -> None:
        """Builds it. Raises BuildError or ValidationError; then there is no record, and what it is built into
        nothing else."""
        for folder in (self.folder, self.work):
            folder.mkdir(parents=True, exist_ok=True)
        self.record_path.unlink(missing_ok=True)
        ingredients = self.everything()
        started = time.monotonic()
        run_child(
            f"{_STAGES}:{self.function}", self.arguments(), self.log_path, self.timeout_s, self.name, beat
        )
        missing = [o for o in self.outputs if not self.path(o).is_file()]
        if missing:
            raise BuildError(f"{self.name} ended well but wrote no {', '.join(missing)}; its log is {self.log_path}")
        elapsed = time.monotonic() - started
        Record.of(self.name, ingredients, self.folder, list(self.outputs), elapsed).write(self.record_path)
