"""One stage of a build: what it reads, what it writes, how it is run and whether it is current."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.durable import make_folder, storing
from kokoro_tvm.builder.engine.record import USED, NotBuiltError, StageRecord
from kokoro_tvm.builder.engine.resources import Needs
from kokoro_tvm.builder.engine.state import EDITED, Failure, State, changes, read_failure
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.trace import read_trace
from kokoro_tvm.builder.engine.used import Sources, distinct_uses, everything, used, used_again
from kokoro_tvm.builder.engine.worker import run_worker
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, KokoroTvmError

__all__ = ["SCHEMA", "Stage"]

SCHEMA = 4  # of keys and records; another one means that everything is built again

_ATTEMPTS = 10
_PARTS = ("schema", "stage", "function", "outputs", "inputs", "parameters", "yields", "conversion")


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Stage:
    """name: of the task, RECIPE.KIND or RECIPE.KIND.ARTIFACT; doc: one line; store: what it is kept in;
    folder: where its outputs are seen; work: where its log goes.

    function: "module:name", called in a worker process with (out, inputs, **parameters, **settings()); `out`
    is the empty folder it writes `outputs` into, the last of them being the manifest of the others.

    Its key is the digest of its derivation. The request is what of that is known beforehand: kind, function,
    outputs, digests of `inputs` (name -> stage and which of its outputs), `parameters` (JSON), and `facts()`:
    versions of tools and whatever else decides about the outputs but is not passed. A run adds the code that
    it executed and the files of this package that it read; the stage is current as long as these are what
    they were. No path is in it: equal derivations have equal keys everywhere. settings: arguments that decide
    about no output, such as a number of threads.

    yields: of a stage that fetches, what it may come to yield, best first; the key is then made of what it
    yielded and of `conversion` of that yield, whatever ran, and its last output holds which that was, as
    JSON. cache: a folder of its own for what it can verify. after: stages it waits for without reading of
    them. needs: what running it takes of the machine; preload: modules that its process finds imported.
    """

    name: str
    doc: str
    store: Store
    folder: Path
    work: Path
    function: str
    outputs: tuple[str, ...]
    inputs: Mapping[str, tuple[Stage, str]] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    settings: Callable[[], Mapping[str, Any]] = _nothing
    facts: Callable[[], Mapping[str, Any]] = _nothing
    yields: tuple[Mapping[str, Any], ...] = ()
    conversion: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda one: {}
    cache: Path | None = None
    waits: tuple[Stage, ...] = ()
    timeout_s: float = 3600.0
    needs: Needs = Needs()  # noqa: RUF009  (frozen)
    preload: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """export, lower, compile, ..."""
        return self.name.split(".")[1]

    @property
    def after(self) -> tuple[Stage, ...]:
        """The stages that have to be done before it."""
        return tuple(
            {stage.name: stage for stage in (*(s for s, _ in self.inputs.values()), *self.waits)}.values()
        )

    @property
    def log_path(self) -> Path:
        return self.work / f"{self.kind}.log"

    @property
    def _trace_path(self) -> Path:
        return self.work / f"{self.kind}.trace"

    @property
    def failed_path(self) -> Path:
        """What it wrote before it failed, when it did so last time."""
        return self.work / f"{self.kind}.failed"

    @property
    def failure_path(self) -> Path:
        """Where it stands what went wrong last time."""
        return self.work / f"{self.kind}.failure.json"

    def path(self, output: str) -> Path:
        return self.folder / output

    def previous(self) -> StageRecord | None:
        """The record of its visible outputs, current or not; None where it was never built."""
        return self.store.current(self.name)

    def record(self) -> StageRecord:
        """The same. Raises NotBuiltError where there is none."""
        found = self.previous()
        if found is None:
            raise NotBuiltError(f"{self.name}: not built yet, or its record is damaged; run doit")
        return found

    def sha256(self, output: str) -> str:
        """Digest of one of its outputs, as its record gives it. Raises NotBuiltError."""
        return self.record().sha256(output)

    def read_json(self, output: str) -> Any:
        """Content of one of its outputs. Raises NotBuiltError where it is not there or damaged."""
        content = self.store.read(self.record().output(output), self.path(output))
        if content is None:
            raise NotBuiltError(f"{self.name}: {output} is missing or damaged; run doit again")
        return json.loads(content)

    def requests(self) -> list[dict[str, Any]]:
        """What of its derivation is known before it runs; several, best first, where it may yield one of
        several.

        Raises NotBuiltError while a stage it reads from is not built, and BuildError where a tool is missing
        whose version is one of its facts.
        """
        facts = self.facts()
        if taken := facts.keys() & {*_PARTS, *USED}:
            raise ValueError(
                f"{self.name}: a derivation has a {', '.join(taken)} of its own, besides this fact"
            )
        common = {
            "schema": SCHEMA,
            "stage": self.kind,
            "function": self.function,
            "outputs": list(self.outputs),
            **facts,
        }
        if self.yields:
            return [
                {**common, "yields": dict(each), "conversion": dict(self.conversion(each))}
                for each in self.yields
            ]
        inputs = {name: stage.sha256(file) for name, (stage, file) in self.inputs.items()}
        return [{**common, "inputs": inputs, "parameters": dict(self.parameters)}]

    def derivations(self, requests: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """Everything its outputs depend on, if it used what past runs of the request used, or of another
        request; several, best first. Raises as `requests`, which are taken to be these, does."""
        requests = self.requests() if requests is None else requests
        if self.yields:
            return requests
        previous = self.previous()
        first = requests[0] | used_again(previous.derivation if previous is not None else {})
        if previous is not None and digest(first) == previous.key:
            return [first]
        past = self.store.requested(digest(requests[0]))[::-1]
        found = [requests[0] | used_again(one) for one in distinct_uses(r.derivation for r in past)]
        return [first, *found] if previous is not None or not found else found

    def derivation(self) -> dict[str, Any]:
        """The one its record has, else the best. Raises as `requests` does."""
        found, previous = self.derivations(), self.previous()
        return next((d for d in found if previous is not None and digest(d) == previous.key), found[0])

    def key(self) -> str:
        """Digest of its derivation. Raises as `requests` does."""
        return digest(self.derivation())

    def state(self) -> State:
        """How it stands; the stages it reads from are taken as they are now, current or not."""
        previous = self.previous()
        unknown: Literal["stale", "missing"] = "stale" if previous else "missing"
        try:
            derivations = self.derivations()
        except NotBuiltError:  # that stage's own state says more
            return State(unknown, waiting=tuple(s.name for s in self.after if s.previous() is None))
        except BuildError as error:
            return State(unknown, problem=str(error))
        found = self._compared(previous, derivations)
        failure = read_failure(self.failure_path) if found.kind != "current" else None
        if failure is None:
            return found
        now = derivations[0] | used_again(failure.derivation)
        if digest(failure.derivation) != digest(now):
            return found
        return replace(found, kind="failed", failure=failure)

    def _compared(self, previous: StageRecord | None, derivations: Sequence[Mapping[str, Any]]) -> State:
        if previous is None:
            return State("missing")
        if previous.key not in [digest(each) for each in derivations]:
            # Of what it may be made of, what is nearest to what it was made of: another source of a
            # checkpoint, say, is no reason.
            differences = [changes(previous.derivation, each) for each in derivations]
            return State("stale", min(differences, key=len))
        damage = self.store.verify(previous, self.folder)
        if not damage:
            return State("current")
        return State("missing" if all(d.missing for d in damage) else "damaged", damage=damage)

    def is_current(self) -> bool:
        """Whether its outputs are there, intact, and made of what there is now."""
        return self.state().kind == "current"

    def kept(self) -> StageRecord | None:
        """What running it would restore, of the store or its cache; None where it would be built, or nobody
        can tell."""
        try:
            requests = self.requests()
            derivations = self.derivations(requests)
        except BuildError:  # its state says more
            return None
        for found in self._stored(derivations):
            if self.store.has(found, self.folder):
                return found
        return next((r for r in self._cached(requests) if self.store.cache and self.store.cache.has(r)), None)

    def run(
        self, beat: Callable[[float], None] = lambda elapsed: None, force: bool = False
    ) -> Literal["built", "restored"]:
        """Restore it from the store, or else build it.

        Args:
            beat: Called with the seconds so far, now and then.
            force: Build it, whatever the store, its cache and the stage's own cache have.

        Raises:
            BuildError: Or the worker's error. Nothing is published then, and what was there before stays.
        """
        for _ in range(_ATTEMPTS):
            found = self.requests()
            with self.store.lock(digest(found[0]), beat):
                changed = _changed(found, self.requests())
                if not changed:  # while another build had the lock
                    return self._run(found, beat, force)
        raise BuildError(f"{self.name}: {changed[0]} keeps changing; build when it is at rest")

    def _run(
        self, requests: list[dict[str, Any]], beat: Callable[[float], None], force: bool
    ) -> Literal["built", "restored"]:
        derivations = self.derivations(requests)
        if not force and self._restore(requests, derivations):
            return "restored"
        before = Sources(derivations[0])
        try:
            built = self._build(requests, before, beat, force)
        except KokoroTvmError as error:
            failure = Failure(requests[0] | self._used_so_far(before), type(error).__name__, str(error))
            with suppress(BuildError):  # the first error is the one to report
                failure.write(self.failure_path)
            raise
        self.failure_path.unlink(missing_ok=True)
        if not self.store.restore(built, self.folder, self.name):
            raise BuildError(
                f"{self.name}: what it wrote was damaged right away; check the disk {self.folder}"
            )
        return "built"

    def _restore(
        self, requests: Sequence[Mapping[str, Any]], derivations: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Restore it from the store or its cache, if one of them has it."""
        for record in self._stored(derivations):
            if self.store.restore(record, self.folder, self.name):
                return True
        for record in self._cached(requests):
            if self.store.fetch(record, digest(requests[0])):
                return self.store.restore(record, self.folder, self.name)
        return False

    def _used_so_far(self, before: Sources) -> dict[str, Any]:
        """Return what a failed run used: all sources, if it ended before it could tell. What was edited since
        it started is not what it used."""
        if self.yields:
            return {}
        try:
            used = self._used()
        except BuildError:
            used = everything()
        for part, name in (change.split(".", 1) for change in before.changed(used)):
            used[part][name] = EDITED
        return used

    def _stored(self, derivations: Sequence[Mapping[str, Any]]) -> Iterator[StageRecord]:
        """Records in the store of what it would be built to."""
        return (found for each in derivations if (found := self.store.record(digest(each))) is not None)

    def _cached(self, requests: Sequence[Mapping[str, Any]]) -> Iterator[StageRecord]:
        """The same in the cache."""
        cache = self.store.cache
        if cache is None:
            return
        if self.yields:
            keys = [digest(each) for each in requests]
            yield from (found for key in keys if (found := cache.record(key, self.outputs)) is not None)
            return
        for found in cache.requested(digest(requests[0]), self.outputs):
            if found.key == digest({**requests[0], **used_again(found.derivation)}):
                yield found

    def rebuild(self, beat: Callable[[float], None] = lambda elapsed: None) -> dict[str, str]:
        """Run it outside the store, with an empty cache, and return the digest of every output. Raises as
        `run` does."""
        make_folder(self.work)
        key = digest(self.requests()[0])
        with self.store.lock(key, beat), self.store.workspace(key) as out:
            cache = out / ".cache" if self.cache else None
            self.call(out, self.work / f"{self.kind}.rebuild.log", beat, cache, again=True)
            return {output: file_sha256(out / output) for output in self.outputs}

    def call(
        self,
        out: Path,
        log: Path,
        beat: Callable[[float], None],
        cache: Path | None = None,
        again: bool = False,
        **extra: Any,
    ) -> float:
        """Call its function in a worker process and return the seconds of CPU.

        Args:
            out: The folder it writes to.
            log: Where its output goes.
            beat: Called with the seconds so far, now and then.
            cache: A folder in the place of the stage's own cache, if it has one.
            again: Whether what its cache has does not count.
            extra: Further arguments of the function.

        Raises:
            BuildError: As `run` does.
        """
        cache = cache or self.cache
        with storing(self._trace_path):
            self._trace_path.write_bytes(b"")
        arguments = {
            "function": self.function,
            "inputs": {n: (str(s.path(file)), s.sha256(file)) for n, (s, file) in self.inputs.items()},
            "out": str(out),
            "root": str(self.store.root.parent),
            "cache": str(cache) if cache else None,
            "arguments": {
                **self.parameters,
                **self.settings(),
                **extra,
                **({"again": again} if cache else {}),
            },
            "trace": str(self._trace_path.absolute()),
        }
        return run_worker(arguments, log, self.timeout_s, self.name, beat, self.preload)

    def _build(
        self,
        requests: list[dict[str, Any]],
        before: Sources,
        beat: Callable[[float], None],
        force: bool,
    ) -> StageRecord:
        make_folder(self.work)
        with self.store.workspace(digest(requests[0])) as out:
            started = time.monotonic()
            try:
                cpu = self.call(out, self.log_path, beat, again=force)
            except BaseException:
                self._keep(out)
                raise
            elapsed = time.monotonic() - started
            missing = [o for o in self.outputs if not (out / o).is_file()]
            if missing:
                raise BuildError(
                    f"{self.name}: ended well but wrote no {', '.join(missing)}; its log is {self.log_path}"
                )
            derivation = self._yielded(requests, out)
            changed = self._changed_since(requests, before, derivation)
            if changed:
                raise BuildError(
                    f"{self.name}: {changed} changed while it ran, so what it wrote was not kept; "
                    "run doit again"
                )
            record = self.store.publish(self.name, derivation, out, self.outputs, elapsed, cpu)
        shutil.rmtree(self.failed_path, ignore_errors=True)
        return record

    def _used(self) -> dict[str, Any]:
        """What the last run used. Raises BuildError where it left no word of it."""
        return used(read_trace(self._trace_path)) if not self.yields else {}

    def _yielded(self, requests: Sequence[Mapping[str, Any]], out: Path) -> Mapping[str, Any]:
        """The derivation of what was built."""
        if not self.yields:
            return {**requests[0], **self._used()}
        named = json.loads((out / self.outputs[-1]).read_text(encoding="utf-8"))
        for request in requests:
            if request["yields"] == named:
                return request
        raise BuildError(f"{self.name}: yielded {named}, which it was not declared to; it is not kept")

    def _changed_since(
        self, requests: Sequence[Mapping[str, Any]], before: Sources, derivation: Mapping[str, Any]
    ) -> str:
        """Which parts of its derivation, or files it read, are no longer what they were; "" for none."""
        changed = _changed(requests, self.requests())
        files = [str(d.path) for s in self.after for d in self.store.verify(s.record(), s.folder)]
        return ", ".join([*changed, *before.changed(derivation), *files])

    def _keep(self, out: Path) -> None:
        """What a failed run wrote may show why it failed."""
        shutil.rmtree(self.failed_path, ignore_errors=True)
        if any(out.iterdir()):
            with suppress(OSError):
                out.rename(self.failed_path)


def _changed(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    """The parts of a stage's derivations that differ, by name."""
    if len(before) != len(now):
        return ["yields"]
    found = (change.name for old, new in zip(before, now, strict=True) for change in changes(old, new))
    return list(dict.fromkeys(found))
