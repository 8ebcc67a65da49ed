"""One stage of the build: what it depends on, what it writes, how it is run and whether it is current."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.build.child import run_child
from kokoro_tvm.build.digest import digest, function_digest
from kokoro_tvm.build.record import Record, read_record
from kokoro_tvm.errors import BuildError

__all__ = ["Stage"]

_STAGES = "kokoro_tvm.build.stages"
# What takes seconds to import, for the stages that need it; those that speak start as bare as a user's own.
_COMPILER = (
    "kokoro_tvm.export",
    "kokoro_tvm.lower",
    "kokoro_tvm.compile",
    "kokoro_tvm.pack",
    "kokoro_tvm.model.checkpoint",
    "kokoro_tvm.validate.compute",
    "kokoro.model",
    "transformers.models.albert.modeling_albert",
    "torch._dynamo",
)
_NEED_COMPILER = frozenset({"checkpoint", "machine", "export", "lower", "compile_", "pack", "reference"})


@dataclass(frozen=True)
class Stage:
    """name: of the task, like "cpu.compile.decoder-5120"; doc: one line; folder: where its outputs go;
    work: where its record and log go.

    function: of `kokoro_tvm.build.stages`, called with `arguments()` in a child process. outputs: the files
    it leaves in the folder. ingredients: what, besides that function's code, decides about the outputs; asked
    only once the stages named in `after` are done, because it reads their records.
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
            raise BuildError(
                f"{self.name}: not built yet, {self.record_path} is missing or damaged; run doit"
            )
        return found

    def path(self, output: str) -> Path:
        return self.folder / output

    def sha256(self, output: str) -> str:
        """Digest of one of its outputs, as its record gives it."""
        return self.record().sha256(output)

    def read_json(self, output: str) -> Any:
        """Content of one of its outputs. Raises BuildError where it is not there or damaged."""
        try:
            return json.loads(self.path(output).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BuildError(f"{self.name}: {output} cannot be read, run doit again: {error}") from error

    def everything(self) -> dict[str, Any]:
        """All that its outputs depend on. Raises BuildError while what it is made of is not built."""
        return {"code": function_digest(_STAGES, self.function), **self.ingredients()}

    def is_current(self) -> bool:
        """Whether its outputs are there, intact, and made of what there is now."""
        found = read_record(self.record_path)
        if found is None:
            return False
        try:
            return found.is_current(self.everything(), self.folder)
        except BuildError:  # what it is made of is not there; running it says so
            return False

    def run(self, beat: Callable[[float], None] = lambda elapsed: None) -> None:
        """Builds it. Raises the child's error, or BuildError; then it has no record, and so is not built."""
        for folder in (self.folder, self.work):
            folder.mkdir(parents=True, exist_ok=True)
        with self._alone() as waited:
            if waited and self.is_current():
                return  # whoever had it has built it
            self.record_path.unlink(missing_ok=True)
            ingredients = self.everything()
            started = time.monotonic()
            cpu = self.call(self.arguments(), self.log_path, beat)
            missing = [o for o in self.outputs if not self.path(o).is_file()]
            if missing:
                raise BuildError(
                    f"{self.name}: ended well but wrote no {', '.join(missing)}; its log is {self.log_path}"
                )
            if digest(self.everything()) != digest(ingredients):
                raise BuildError(
                    f"{self.name}: something it is made of was changed while it ran; run doit again"
                )
            elapsed = time.monotonic() - started
            Record.of(self.name, ingredients, self.folder, list(self.outputs), elapsed, cpu).write(
                self.record_path
            )

    def call(self, arguments: Mapping[str, Any], log: Path, beat: Callable[[float], None]) -> float:
        """Calls its function in a child process, with any arguments; seconds of CPU. Raises as `run` does."""
        preload = _COMPILER if self.function in _NEED_COMPILER else ()
        return run_child(
            f"{_STAGES}:{self.function}", arguments, log, self.timeout_s, self.name, beat, preload
        )

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """One build of it at a time (two recipes share their model's stages); tells if it had to wait."""
        with (self.work / f".{self.function.rstrip('_')}.lock").open("w") as lock:
            waited = False
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waited = True
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield waited
