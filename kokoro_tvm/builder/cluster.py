"""The same stages on a Dask cluster, for matrices of recipes that outgrow one machine.

The scheduler is given every stage that is requested, with those it comes after; a worker runs one in a
checkout of its own (its working directory) as `doit` would, taking over from the shared cache what other
workers have built, and putting there what it builds itself. So a worker may be lost at any moment: what it
had finished is in the cache, and what it had begun another one begins again.
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

__all__ = ["build_on_cluster"]

Report = Callable[[str, str], None]


@dataclass(frozen=True)
class _Outcome:
    """How it went: "built", "restored", "current", "failed" (kind and message of the error) or "blocked"."""

    manner: str
    worker: str
    seconds: float
    kind: str = ""
    message: str = ""

    @property
    def good(self) -> bool:
        return self.manner not in ("failed", "blocked")


def build_on_cluster(
    address: str, tasks: Sequence[str], graph: Mapping[str, Sequence[str]], root: Path, report: Report
) -> None:
    """Builds tasks on the workers of the scheduler at `address`, into the shared cache.

    graph: the tasks every task comes after, as doit has them; root: the folder that holds recipes/; report:
    hears of every stage that ends, its name first, and of missing and lost workers. Raises the first error
    of a stage; BuildError where the scheduler cannot be reached or no longer answers, InputError without a
    cache that can be written or the library to do it.
    """
    cache = Cache.from_environment(lambda note: report("cache", note))
    if cache is None or cache.mode != "read-write":
        raise InputError(
            "workers meet through a shared cache: set KOKORO_TVM_CACHE, here and for every worker, to a "
            "folder or bucket that all of them can write to"
        )
    with connect(address) as client, client.as_current():
        recipes, run = _recipes_digest(root), time.time_ns()
        # Recipes and sets do nothing of their own.
        stages = [task for task in in_order(tasks, graph.__getitem__) if "." in task]
        futures: dict[str, Any] = {}
        for place, name in enumerate(stages):
            before = [futures[task] for task in graph[name]]
            key = f"{name}-{run}"
            futures[name] = client.submit(_build, name, recipes, before, key=key, pure=False, priority=-place)
        names = {future.key: name for name, future in futures.items()}
        failed: list[_Outcome] = []
        for future in completed(client, address, futures.values(), lambda note: report("cluster", note)):
            outcome = _outcome(future)
            if outcome.manner != "blocked":
                report(names[future.key], f"{outcome.manner} in {outcome.seconds:.1f} s on {outcome.worker}")
            failed += [outcome] if outcome.manner == "failed" else []
    if failed:
        raise getattr(kokoro_tvm.common.errors, failed[0].kind, BuildError)(
            "\n".join(o.message for o in failed)
        )


def _outcome(future: Any) -> _Outcome:
    error = future.exception()
    if error is None:
        found: _Outcome = future.result()
        return found
    message = f"{type(error).__name__}: {error}. Look at the workers' logs."
    return _Outcome("failed", "no worker any more", 0.0, "BuildError", message)


def _build(name: str, recipes: str, before: Sequence[_Outcome]) -> _Outcome:
    """What a worker does. Its errors are returned, not raised: what waits for it is then not run at all."""
    worker, began = f"{platform.node()}:{Path.cwd()}", time.monotonic()
    if not all(outcome.good for outcome in before):
        return _Outcome("blocked", worker, 0.0)
    notes: list[str] = []
    try:
        if _recipes_digest(Path()) != recipes:
            raise BuildError(
                f"{name}: recipes/ of {worker} is not the one to be built; bring it to the same state"
            )
        try:
            found = Project(Path(), cache=Cache.from_environment(notes.append)).find(name)
        except RecipeError as error:
            raise BuildError(
                f"{name}: not in {Path.cwd()} ({error}); bring its code to the same state"
            ) from error
        stages = {stage.name: stage for stage in found.graph.stages()}
        manner = "current"
        for each in in_order([name], lambda n: (s.name for s in stages[n].after)):
            if not stages[each].is_current():
                manner = stages[each].run()
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
    """What stands in recipes/: a worker builds by its own."""
    folder = root / "recipes"
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".yaml", ".json"))
    return digest({str(p.relative_to(folder)): file_sha256(p) for p in files})
