"""Runs stages of a recipe with copies of the package, each in a process of its own: batches of jobs, as JSON.

A job names a copy of the package, a repository root, a recipe and stages of it, and artifacts to begin with.
What takes seconds to import is imported once, here, before the package is; so this file imports nothing of
it. Every process leaves behind what became of its job: {"missed": message} of a ValidationError, {"failed":
trace} of anything else, or {}.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Any

_HEAVY = (
    "tvm.relax.frontend.torch",
    "torch._dynamo",
    "transformers.models.albert.modeling_albert",
    "kokoro.model",
)


def run(job: dict[str, Any]) -> dict[str, str]:
    sys.path.insert(0, job["package"])
    import kokoro_tvm.recipe as recipe
    from kokoro_tvm.builder.engine.stage import Stage
    from kokoro_tvm.builder.graph import RecipeGraph
    from kokoro_tvm.common.errors import ValidationError

    if not recipe.__file__.startswith(job["package"]):
        return {"failed": f"{recipe.__file__} was imported instead of the copy in {job['package']}"}
    root = Path(job["root"])
    if job["artifacts"] is not None:
        shutil.copytree(job["artifacts"], root / "artifacts", copy_function=link)
    graph = RecipeGraph(recipe.load_recipe(job["recipe"], root / "recipes"), root / "artifacts", root)
    wanted = [s for s in graph.stages() if s.name in job["stages"]]
    if {s.name for s in wanted} != set(job["stages"]):
        return {"failed": f"{job['recipe']} has no stages {job['stages']}"}
    # In this process, which has been forked already, instead of in one of a server's.
    Stage.call = called
    for stage in wanted:
        try:
            stage.run()
        except ValidationError as error:
            return {"missed": str(error)}
    return {}


def link(source: str, target: str) -> None:
    """Stages put whole new files in the place of old ones, so links are as good as copies."""
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


def called(stage: Any, out: Path, log: Path, beat: Any, **extra: Any) -> float:
    """Calls a stage's function, and records what it executes; seconds of CPU."""
    from kokoro_tvm.builder.engine import trace
    from kokoro_tvm.builder.engine.inputs import Inputs

    trace.restart()
    begun = time.process_time()
    module, _, name = stage.function.partition(":")
    files = {n: (str(s.path(file)), s.sha256(file)) for n, (s, file) in stage.inputs.items()}
    function = getattr(importlib.import_module(module), name)
    if stage.cache:
        extra["cache"] = stage.cache
    function(out, Inputs(files), **stage.parameters, **stage.settings(), **extra)
    trace.take().write(stage._trace_path)  # so that a mistake makes another key, and nothing is restored
    return time.process_time() - begun


def child(job: dict[str, Any]) -> None:
    """Runs a job and leaves, whatever happens, without what the parent would do at its end."""
    status = 1
    try:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            outcome = run(job)
        except Exception:
            outcome = {"failed": traceback.format_exc()}
        Path(job["outcome"]).write_text(json.dumps(outcome), encoding="utf-8")
        sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    for name in _HEAVY:
        importlib.import_module(name)
    for batch in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        running = 0
        for job in batch:
            if running == len(os.sched_getaffinity(0)):
                os.wait()
                running -= 1
            if os.fork() == 0:
                child(job)
            running += 1
        for _ in range(running):
            os.wait()


if __name__ == "__main__":
    main()
