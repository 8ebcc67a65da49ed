"""One stage of the build: what it depends on, what it writes, how it is run and whether it is current."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from kokoro_tvm.build.child import run_child
from kokoro_tvm.build.code import function_code
from kokoro_tvm.build.digest import digest
from kokoro_tvm.build.durable import make_folder
from kokoro_tvm.build.failure import Failure, read_failure
from kokoro_tvm.build.record import Record
from kokoro_tvm.build.resources import Needs
from kokoro_tvm.build.state import State, changes
from kokoro_tvm.build.store import Store
from kokoro_tvm.errors import BuildError, KokoroTvmError

__all__ = ["SCHEMA", "Stage"]

SCHEMA = 1  # of keys and records; another one means that everything is built again

_ATTEMPTS = 10
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
    """name: of the task, like "cpu.compile.decoder-5120"; doc: one line; store: what it is kept in; folder:
    where its outputs are seen; work: where its log goes.

    function: of `kokoro_tvm.build.stages`, called with `arguments(out)` in a child process, `out` being the
    empty folder it writes into. outputs: the files it leaves there, the last one being their manifest.
    ingredients: what, besides that function's code, decides about the outputs; asked only once the stages
    named in `after` are done, because it reads their records. It holds no path: the same ingredients have the
    same key everywhere. needs: what running it takes of the machine.
    """

    name: str
    doc: str
    store: Store
    folder: Path
    work: Path
    function: str
    arguments: Callable[[Path], Mapping[str, Any]]
    outputs: tuple[str, ...]
    ingredients: Callable[[], Mapping[str, Any]]
    after: tuple[Stage, ...] = ()
    timeout_s: float = 3600.0
    needs: Needs = Needs()  # noqa: RUF009  (frozen)

    @property
    def log_path(self) -> Path:
        return self.work / f"{self.function.rstrip('_')}.log"

    @property
    def failed_path(self) -> Path:
        """What it wrote before it failed, when it did so last time."""
        return self.work / f"{self.function.rstrip('_')}.failed"

    @property
    def failure_path(self) -> Path:
        """Where it stands what went wrong last time."""
        return self.work / f"{self.function.rstrip('_')}.failure.json"

    def path(self, output: str) -> Path:
        return self.folder / output

    def previous(self) -> Record | None:
        """The record of its visible outputs, current or not; None where it was never built."""
        return self.store.current(self.name)

    def record(self) -> Record:
        """The same. Raises BuildError where there is none."""
        found = self.previous()
        if found is None:
            raise BuildError(f"{self.name}: not built yet, or its record is damaged; run doit")
        return found

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
        return {
            "schema": SCHEMA,
            "stage": self.function.rstrip("_"),
            "outputs": list(self.outputs),
            "code": function_code(_STAGES, self.function)[0],
            **self.ingredients(),
        }

    def key(self) -> str:
        """Digest of all that its outputs depend on. Raises as `everything` does."""
        return digest(self.everything())

    def state(self) -> State:
        """How it stands; what it comes after is taken as it is now, current or not."""
        previous = self.previous()
        try:
            ingredients = self.everything()
        except BuildError:  # not what it is made of; that stage's own state says more
            unbuilt = tuple(s.name for s in self.after if s.previous() is None)
            return State("stale" if previous else "missing", waiting=unbuilt)
        key = digest(ingredients)
        found = self._compared(previous, key, ingredients)
        failure = read_failure(self.failure_path) if found.kind != "current" else None
        if failure is None or failure.key != key:
            return found
        return replace(found, kind="failed", failure=failure)

    def _compared(self, previous: Record | None, key: str, ingredients: Mapping[str, Any]) -> State:
        stored = self.store.record(key) is not None
        if previous is None:
            return State("missing", stored=stored)
        if previous.key != key:
            return State("stale", changes(previous.ingredients, ingredients), stored=stored)
        damage = self.store.verify(previous, self.folder)
        if not damage:
            return State("current", stored=True)
        kind: Literal["missing", "damaged"] = "missing" if all(d.missing for d in damage) else "damaged"
        return State(kind, damage=damage, stored=all(self.store.holds(d.output) for d in damage))

    def is_current(self) -> bool:
        """Whether its outputs are there, intact, and made of what there is now."""
        return self.state().kind == "current"

    def run(self, beat: Callable[[float], None] = lambda elapsed: None) -> Literal["built", "restored"]:
        """Restores it from the store, or else builds it. Raises the child's error, or BuildError; nothing is
        published then, and what was there before stays."""
        for _ in range(_ATTEMPTS):
            ingredients = self.everything()
            key = digest(ingredients)
            with self.store.lock(key, beat):
                changed = changes(ingredients, self.everything())
                if not changed:  # while another build had the lock
                    return self._run(key, ingredients, beat)
        raise BuildError(f"{self.name}: {changed[0].ingredient} keeps changing; build when it is at rest")

    def _run(
        self, key: str, ingredients: Mapping[str, Any], beat: Callable[[float], None]
    ) -> Literal["built", "restored"]:
        for find in (self.store.record, lambda key: self.store.fetch(key, self.outputs)):
            found = find(key)
            if found is not None and self.store.restore(found, self.folder, self.name):
                return "restored"
        try:
            built = self._build(key, ingredients, beat)
        except KokoroTvmError as error:
            with suppress(BuildError):  # what is to be told is the first error
                Failure(key, type(error).__name__, str(error)).write(self.failure_path)
            raise
        self.failure_path.unlink(missing_ok=True)
        if not self.store.restore(built, self.folder, self.name):
            raise BuildError(
                f"{self.name}: what it wrote was damaged right away; check the disk {self.folder}"
            )
        return "built"

    def call(self, arguments: Mapping[str, Any], log: Path, beat: Callable[[float], None]) -> float:
        """Calls its function in a child process, with any arguments; seconds of CPU. Raises as `run` does."""
        preload = _COMPILER if self.function in _NEED_COMPILER else ()
        return run_child(
            f"{_STAGES}:{self.function}", arguments, log, self.timeout_s, self.name, beat, preload
        )

    def _build(self, key: str, ingredients: Mapping[str, Any], beat: Callable[[float], None]) -> Record:
        make_folder(self.work)
        with self.store.workspace(key) as out:
            started = time.monotonic()
            try:
                cpu = self.call(self.arguments(out), self.log_path, beat)
            except BaseException:
                self._keep(out)
                raise
            elapsed = time.monotonic() - started
            missing = [o for o in self.outputs if not (out / o).is_file()]
            if missing:
                raise BuildError(
                    f"{self.name}: ended well but wrote no {', '.join(missing)}; its log is {self.log_path}"
                )
            changed = self._changed_since(ingredients)
            if changed:
                raise BuildError(
                    f"{self.name}: {changed} changed while it ran, so what it wrote was not kept; "
                    "run doit again"
                )
            record = self.store.publish(self.name, ingredients, out, self.outputs, elapsed, cpu)
        shutil.rmtree(self.failed_path, ignore_errors=True)
        return record

    def _changed_since(self, ingredients: Mapping[str, Any]) -> str:
        """Which ingredients, or files of the stages before, are no longer what they were; "" for none."""
        changed = [c.ingredient for c in changes(ingredients, self.everything())]
        for stage in self.after:
            changed += [str(d.path) for d in self.store.verify(stage.record(), stage.folder)]
        return ", ".join(changed)

    def _keep(self, out: Path) -> None:
        """What a failed run wrote may tell why it failed."""
        shutil.rmtree(self.failed_path, ignore_errors=True)
        if any(out.iterdir()):
            with suppress(OSError):
                out.rename(self.failed_path)
