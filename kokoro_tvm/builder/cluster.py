"""Build on a Dask cluster, for more recipes than one machine can build.

The scheduler gets every requested stage and its dependencies. A worker runs a stage in a checkout of its own
(its working directory), as `doit` would: it restores from the shared cache what other workers built, and
writes there what it builds. If a worker is lost, finished stages are in the cache, and another worker runs
the rest.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kokoro_tvm.common.errors
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.order import in_order
from kokoro_tvm.builder.project import Project
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BuildError, InputError, KokoroTvmError, RecipeError
from kokoro_tvm.common.scheduler import completed, connect

Report = Callable[[str, str], None]


@dataclass(frozen=True)
class _Outcome:
    """Outcome of a stage.

    Attributes:
        manner: "built", "restored", "current", "failed" or "blocked".
        worker: Host and folder.
        seconds: Wall time.
        kind: Class of the error, if it failed.
        message: Text of the error.
    """

    manner: str
    worker: str
    seconds: float
    kind: str = ""
    message: str = ""


def build_on_cluster(
    address: str, tasks: Sequence[str], graph: Mapping[str, Sequence[str]], root: Path, report: Report
) -> None:
    """Build tasks on the workers of a scheduler, into the shared cache.

    Args:
        address: Address of the scheduler.
        tasks: Names of tasks.
        graph: Dependencies of each task, as doit has them.
        root: Folder of recipes/.
        report: Called with the name and outcome of each stage, and about missing and lost workers.

    Raises:
        KokoroTvmError: The first error of a stage.
        BuildError: The scheduler cannot be reached or no longer answers.
        InputError: No shared cache that can be written, or Dask is not installed.
    """
    cache = Cache.from_environment(lambda note: report("cache", note))
    if cache is None or cache.mode != "read-write":
        raise InputError(
            "workers meet through a shared cache: set KOKORO_TVM_CACHE, here and for every worker, to a "
            "folder or bucket that all of them can write to"
        )
    with connect(address) as client, client.as_current():
        recipes, run = _recipes_digest(root), time.time_ns()
        # Names without a dot are recipes and sets, which only group stages.
        stages = [task for task in in_order(tasks, graph.__getitem__) if "." in task]
        futures: dict[str, Any] = {}
        for position, name in enumerate(stages):
            before = [futures[task] for task in graph[name]]
            futures[name] = client.submit(
                _build, name, recipes, before, key=f"{name}-{run}", pure=False, priority=-position
            )
        names = {future.key: name for name, future in futures.items()}
        failed: list[_Outcome] = []
        for future in completed(client, address, futures.values(), lambda note: report("cluster", note)):
            outcome = _collect_outcome(future)
            if outcome.manner != "blocked":
                report(names[future.key], f"{outcome.manner} in {outcome.seconds:.1f} s on {outcome.worker}")
            failed += [outcome] if outcome.manner == "failed" else []
    if failed:
        raise getattr(kokoro_tvm.common.errors, failed[0].kind, BuildError)(
            "\n".join(o.message for o in failed)
        )


def _collect_outcome(future: Any) -> _Outcome:
    """Return the outcome of a future; one without a result lost its worker, which counts as a failure."""
    error = future.exception()
    if error is None:
        outcome: _Outcome = future.result()
        return outcome
    message = f"{type(error).__name__}: {error}. Look at the workers' logs."
    return _Outcome("failed", "no worker any more", 0.0, "BuildError", message)


def _build(name: str, recipes: str, before: Sequence[_Outcome]) -> _Outcome:
    """Build a stage on a worker; return errors, because Dask cancels what waits for a failed task."""
    worker, began = f"{platform.node()}:{Path.cwd()}", time.monotonic()
    if any(outcome.manner in ("failed", "blocked") for outcome in before):
        return _Outcome("blocked", worker, 0.0)
    notes: list[str] = []
    try:
        if _recipes_digest(Path()) != recipes:
            raise BuildError(
                f"{name}: recipes/ of {worker} is not the one to be built; bring it to the same state"
            )
        try:
            selection = Project(Path(), cache=Cache.from_environment(notes.append)).find(name)
        except RecipeError as error:
            raise BuildError(
                f"{name}: not in {Path.cwd()} ({error}); bring its code to the same state"
            ) from error
        stages = {stage.name: stage for stage in selection.graph.stages()}
        manner = "current"
        for dependency in in_order([name], lambda n: (s.name for s in stages[n].after)):
            if not stages[dependency].is_current():
                manner = stages[dependency].run()
        stage = stages[name]
        stage.store.offer(stage.record())
        if notes:
            raise BuildError(f"{name}: {worker} does not reach the shared cache. {' '.join(notes)}")
    except KokoroTvmError as error:
        kind = next(
            k.__name__ for k in type(error).__mro__ if k.__module__ == kokoro_tvm.common.errors.__name__
        )
        return _Outcome("failed", worker, time.monotonic() - began, kind, str(error))
    return _Outcome(manner, worker, time.monotonic() - began)


def _recipes_digest(root: Path) -> str:
    """Return the digest of recipes/. A worker reads its own copy, which must be the same."""
    folder = root / "recipes"
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".yaml", ".json"))
    return digest({str(p.relative_to(folder)): file_sha256(p) for p in files})
