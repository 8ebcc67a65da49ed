"""Stage of a build: its inputs and outputs, how it runs, and whether it is current."""

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
from kokoro_tvm.builder.engine.durable import make_folder, translate_write_errors
from kokoro_tvm.builder.engine.record import USED, NotBuiltError, StageRecord
from kokoro_tvm.builder.engine.resources import Needs
from kokoro_tvm.builder.engine.state import Failure, State, changes, read_failure
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.trace import read_trace
from kokoro_tvm.builder.engine.used import Sources, distinct_uses, hash_used, rehash_used, sources
from kokoro_tvm.builder.engine.worker import run_worker
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, KokoroTvmError

SCHEMA = 4  # of keys and records; change it to build everything again

_ATTEMPTS = 10
_PARTS = ("schema", "stage", "function", "outputs", "inputs", "parameters", "yields", "conversion")


def _no_facts() -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Stage:
    """Stage of a build.

    Its key is the digest of its derivation: the request (kind, function, outputs, digests of inputs,
    parameters, facts) and, once it ran, digests of the code that it executed and of the package's files that
    it read. The key contains no path, so equal derivations have equal keys in every checkout.

    Attributes:
        name: Name of the task: RECIPE.KIND or RECIPE.KIND.ARTIFACT.
        doc: One line.
        store: Store of its outputs and records.
        folder: Folder in which its outputs are visible.
        work: Folder of its log.
        function: "module:name", called in a worker with (out, inputs, **parameters, **settings()). It writes
            the outputs into the empty folder `out`.
        outputs: Files that it writes; the last one is the manifest of the others.
        inputs: Stage and output of each input, by name.
        parameters: Arguments of the function, as JSON.
        settings: Returns arguments that do not change the outputs, such as a number of threads.
        facts: Returns what else changes the outputs, such as versions of tools.
        yields: For a stage that fetches: what it may fetch, best first. Then the key is made of what it
            fetched and of its `conversion`, not of the code. Its last output says what it fetched, as JSON.
        conversion: Returns what converts a yield.
        cache: Folder of its own, for content that it can verify.
        waits: Stages that run before it although it reads none of their outputs.
        timeout_s: Limit for the worker.
        needs: Memory and cores that it takes.
        preload: Modules that its worker finds imported.
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
    settings: Callable[[], Mapping[str, Any]] = _no_facts
    facts: Callable[[], Mapping[str, Any]] = _no_facts
    yields: tuple[Mapping[str, Any], ...] = ()
    conversion: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda fetched: {}
    cache: Path | None = None
    waits: tuple[Stage, ...] = ()
    timeout_s: float = 3600.0
    needs: Needs = Needs()  # noqa: RUF009  (frozen)
    preload: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Kind of stage, such as `export`."""
        return self.name.split(".")[1]

    @property
    def after(self) -> tuple[Stage, ...]:
        """Stages that have to run before it."""
        stages = (*(stage for stage, _ in self.inputs.values()), *self.waits)
        return tuple({stage.name: stage for stage in stages}.values())

    @property
    def log_path(self) -> Path:
        """Path of the log of the last run."""
        return self.work / f"{self.kind}.log"

    @property
    def _trace_path(self) -> Path:
        """Path of the last run's trace."""
        return self.work / f"{self.kind}.trace"

    @property
    def failed_path(self) -> Path:
        """Folder of what the last run wrote, if it failed."""
        return self.work / f"{self.kind}.failed"

    @property
    def failure_path(self) -> Path:
        """Path of the JSON record of the last failure."""
        return self.work / f"{self.kind}.failure.json"

    def path(self, output: str) -> Path:
        """Return the path of an output."""
        return self.folder / output

    def previous(self) -> StageRecord | None:
        """Return the record of its visible outputs, current or not; None if it was never built."""
        return self.store.current(self.name)

    def record(self) -> StageRecord:
        """Return the record of its visible outputs. Raises NotBuiltError if there is none."""
        record = self.previous()
        if record is None:
            raise NotBuiltError(f"{self.name}: not built yet, or its record is damaged; run doit")
        return record

    def sha256(self, output: str) -> str:
        """Return the digest of an output from the record. Raises NotBuiltError if there is none."""
        return self.record().sha256(output)

    def read_json(self, output: str) -> Any:
        """Read an output. Raises NotBuiltError if it is missing or damaged."""
        content = self.store.read(self.record().output(output), self.path(output))
        if content is None:
            raise NotBuiltError(f"{self.name}: {output} is missing or damaged; run doit again")
        return json.loads(content)

    def requests(self) -> list[dict[str, Any]]:
        """Return the part of its derivation that is known before it runs; one per yield, best first.

        Raises:
            NotBuiltError: A stage that it reads from is not built.
            BuildError: A tool is missing whose version is one of the facts.
        """
        facts = self.facts()
        if clashes := facts.keys() & {*_PARTS, *USED}:
            raise ValueError(
                f"{self.name}: a derivation has a {', '.join(clashes)} of its own, besides this fact"
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
                {**common, "yields": dict(fetched), "conversion": dict(self.conversion(fetched))}
                for fetched in self.yields
            ]
        inputs = {name: stage.sha256(file) for name, (stage, file) in self.inputs.items()}
        return [{**common, "inputs": inputs, "parameters": dict(self.parameters)}]

    def derivations(self, requests: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """Return the derivations that it may have, best first.

        Each combines a request with the code and files that a past run of the same request used.

        Args:
            requests: What `requests` returned; None: call it.

        Raises:
            BuildError: As `requests` does.
        """
        requests = self.requests() if requests is None else requests
        if self.yields:
            return requests
        previous = self.previous()
        first = requests[0] | rehash_used(previous.derivation if previous is not None else {})
        if previous is not None and digest(first) == previous.key:
            return [first]
        past = self.store.find_requested(digest(requests[0]))[::-1]
        others = [requests[0] | rehash_used(d) for d in distinct_uses(r.derivation for r in past)]
        return [first, *others] if previous is not None or not others else others

    def derivation(self) -> dict[str, Any]:
        """Return the derivation that its record has, else the best one. Raises as `requests` does."""
        derivations, previous = self.derivations(), self.previous()
        matches = (d for d in derivations if previous is not None and digest(d) == previous.key)
        return next(matches, derivations[0])

    def key(self) -> str:
        """Return the digest of its derivation. Raises as `requests` does."""
        return digest(self.derivation())

    def state(self) -> State:
        """Compare its record with its inputs, as these are now, current or not."""
        previous = self.previous()
        unknown: Literal["stale", "missing"] = "stale" if previous else "missing"
        try:
            derivations = self.derivations()
        except NotBuiltError:  # that stage's own state says more
            return State(unknown, waiting=tuple(s.name for s in self.after if s.previous() is None))
        except BuildError as error:
            return State(unknown, problem=str(error))
        state = self._compare(previous, derivations)
        failure = read_failure(self.failure_path) if state.kind != "current" else None
        if failure is None or failure.key != self.failure_key():
            return state
        return replace(state, kind="failed", failure=failure)

    def failure_key(self, requests: Sequence[Mapping[str, Any]] | None = None) -> str:
        """Return the digest of its request and of all sources: a failure counts until one of them changes."""
        request = (self.requests() if requests is None else requests)[0]
        return digest({**request, **({} if self.yields else {"files": sources()})})

    def _compare(self, previous: StageRecord | None, derivations: Sequence[Mapping[str, Any]]) -> State:
        """Return the state: missing, stale with the changes, damaged or current."""
        if previous is None:
            return State("missing")
        if previous.key not in [digest(derivation) for derivation in derivations]:
            # The derivation that is nearest to the record: another source of a checkpoint is no reason.
            differences = [changes(previous.derivation, derivation) for derivation in derivations]
            return State("stale", min(differences, key=len))
        damage = self.store.verify(previous, self.folder)
        if not damage:
            return State("current")
        return State("missing" if all(d.missing for d in damage) else "damaged", damage=damage)

    def is_current(self) -> bool:
        """Return whether its outputs are intact and its inputs unchanged."""
        return self.state().kind == "current"

    def kept(self) -> StageRecord | None:
        """Return the record that running it would restore; None if it would be built, or that is unknown."""
        try:
            requests = self.requests()
            derivations = self.derivations(requests)
        except BuildError:  # its state says more
            return None
        for record in self._find_stored(derivations):
            if self.store.has(record, self.folder):
                return record
        return next(
            (r for r in self._find_cached(requests) if self.store.cache and self.store.cache.has(r)), None
        )

    def run(
        self, beat: Callable[[float], None] = lambda elapsed: None, force: bool = False
    ) -> Literal["built", "restored"]:
        """Restore it from the store or, if that is not possible, build it.

        Args:
            beat: Called every 10 s with the seconds so far.
            force: Build it, whatever the store and the caches have.

        Raises:
            KokoroTvmError: The worker's error. Then nothing is published, and the outputs stay as they were;
                `failure_path` has the error, `failed_path` what the worker wrote.
        """
        for _ in range(_ATTEMPTS):
            requests = self.requests()
            with self.store.lock(digest(requests[0]), beat):
                changed = _list_changed(requests, self.requests())
                if not changed:  # while another build had the lock
                    return self._run(requests, beat, force)
        raise BuildError(f"{self.name}: {changed[0]} keeps changing; build when it is at rest")

    def _run(
        self, requests: list[dict[str, Any]], beat: Callable[[float], None], force: bool
    ) -> Literal["built", "restored"]:
        """Restore the stage or build it; on an error, record the failure and raise it again."""
        derivations = self.derivations(requests)
        if not force and self._restore(requests, derivations):
            return "restored"
        before, failure_key = Sources(derivations[0]), self.failure_key(requests)
        try:
            built = self._build(requests, before, beat, force)
        except KokoroTvmError as error:
            failure = Failure(failure_key, type(error).__name__, str(error))
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
        """Restore it from the store or the shared cache; return False on a cache miss."""
        for record in self._find_stored(derivations):
            if self.store.restore(record, self.folder, self.name):
                return True
        for record in self._find_cached(requests):
            if self.store.fetch(record, digest(requests[0])):
                return self.store.restore(record, self.folder, self.name)
        return False

    def _find_stored(self, derivations: Sequence[Mapping[str, Any]]) -> Iterator[StageRecord]:
        """Yield the records that the store has of derivations."""
        records = (self.store.record(digest(derivation)) for derivation in derivations)
        return (record for record in records if record is not None)

    def _find_cached(self, requests: Sequence[Mapping[str, Any]]) -> Iterator[StageRecord]:
        """Yield the records in the shared cache whose code and files are those of today."""
        cache = self.store.cache
        if cache is None:
            return
        if self.yields:
            records = (cache.record(digest(request), self.outputs) for request in requests)
            yield from (record for record in records if record is not None)
            return
        for record in cache.find_requested(digest(requests[0]), self.outputs):
            if record.key == digest({**requests[0], **rehash_used(record.derivation)}):
                yield record

    def rebuild(self, beat: Callable[[float], None] = lambda elapsed: None) -> dict[str, str]:
        """Run it outside the store, with an empty cache.

        Returns:
            Digest of each output, by name.

        Raises:
            KokoroTvmError: As `run` does.
        """
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
        """Call its function in a worker process.

        Args:
            out: Folder that it writes to.
            log: File that its output goes to.
            beat: Called every 10 s with the seconds so far.
            cache: Folder that replaces the stage's own cache.
            again: Whether to ignore the content of the cache.
            extra: Further arguments of the function.

        Returns:
            Seconds of CPU time.

        Raises:
            KokoroTvmError: As `run` does.
        """
        cache = cache or self.cache
        with translate_write_errors(self._trace_path):
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
        self, requests: list[dict[str, Any]], before: Sources, beat: Callable[[float], None], force: bool
    ) -> StageRecord:
        """Run the worker, and move what it wrote to the store; if it fails, to `failed_path`.

        Raises KokoroTvmError: The worker's error, missing outputs, or inputs that changed meanwhile.
        """
        make_folder(self.work)
        with self.store.workspace(digest(requests[0])) as out:
            started = time.monotonic()
            try:
                cpu = self.call(out, self.log_path, beat, again=force)
            except BaseException:
                self._keep_failed(out)
                raise
            elapsed = time.monotonic() - started
            missing = [o for o in self.outputs if not (out / o).is_file()]
            if missing:
                raise BuildError(
                    f"{self.name}: ended well but wrote no {', '.join(missing)}; its log is {self.log_path}"
                )
            derivation = self._final_derivation(requests, out)
            changed = self._changed_since(requests, before, derivation)
            if changed:
                raise BuildError(
                    f"{self.name}: {changed} changed while it ran, so what it wrote was not kept; "
                    "run doit again"
                )
            record = self.store.publish(self.name, derivation, out, self.outputs, elapsed, cpu)
        shutil.rmtree(self.failed_path, ignore_errors=True)
        return record

    def _final_derivation(self, requests: Sequence[Mapping[str, Any]], out: Path) -> Mapping[str, Any]:
        """Return the derivation of a finished run, with the code and files used or the source fetched.

        Raises BuildError if no request has the yield that was fetched.
        """
        if not self.yields:
            return {**requests[0], **hash_used(read_trace(self._trace_path))}
        fetched = json.loads((out / self.outputs[-1]).read_text(encoding="utf-8"))
        for request in requests:
            if request["yields"] == fetched:
                return request
        raise BuildError(f"{self.name}: yielded {fetched}, which it was not declared to; it is not kept")

    def _changed_since(
        self, requests: Sequence[Mapping[str, Any]], before: Sources, derivation: Mapping[str, Any]
    ) -> str:
        """Return the parts of its derivation and the input files that changed while it ran; "" for none."""
        changed = _list_changed(requests, self.requests())
        files = [str(d.path) for s in self.after for d in self.store.verify(s.record(), s.folder)]
        return ", ".join([*changed, *before.changed(derivation), *files])

    def _keep_failed(self, out: Path) -> None:
        """Move what a failed run wrote to `failed_path`, in place of an earlier run's; ignore an OSError."""
        shutil.rmtree(self.failed_path, ignore_errors=True)
        if any(out.iterdir()):
            with suppress(OSError):
                out.rename(self.failed_path)


def _list_changed(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the parts of a stage's requests that differ."""
    if len(before) != len(now):
        return ["yields"]
    names = (change.name for old, new in zip(before, now, strict=True) for change in changes(old, new))
    return list(dict.fromkeys(names))
