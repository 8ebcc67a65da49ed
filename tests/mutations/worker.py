"""Program that runs batches of jobs (JSON): stages of a recipe, with copies of the package.

A job names a copy of the package, a repository root, a recipe, some of its stages, and artifacts to start
from. Each runs in a forked process. Slow imports happen once, before the fork, so this file imports nothing
of the package. Each process writes its outcome: {} (success), {"missed": gates} (ValidationError) or
{"failed": traceback}.
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
    stages = [s for s in graph.stages() if s.name in job["stages"]]
    if {s.name for s in stages} != set(job["stages"]):
        return {"failed": f"{job['recipe']} has no stages {job['stages']}"}
    Stage.call = call  # in this process, which has been forked already
    for stage in stages:
        try:
            stage.run()
        except ValidationError as error:
            # The message names the worst gate, the report all of them.
            reports = [json.loads(path.read_text()) for path in stage.failed_path.glob("*.json")]
            missed = [gate for report in reports for gate in report.get("missed", ())]
            return {"missed": "\n".join([str(error), *missed])}
    return {}


def link(source: str, target: str) -> None:
    """Create a hard link: stages replace files and never write into them."""
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


def call(
    stage: Any, out: Path, log: Path, beat: Any, cache: Path | None = None, again: bool = False, **extra: Any
) -> float:
    """Do what `Stage.call` does, in this process, without the check for undeclared inputs."""
    from kokoro_tvm.builder.engine import trace
    from kokoro_tvm.builder.engine.inputs import Inputs

    trace.restart()
    began = time.process_time()
    module, _, name = stage.function.partition(":")
    files = {n: (str(s.path(file)), s.sha256(file)) for n, (s, file) in stage.inputs.items()}
    function = getattr(importlib.import_module(module), name)
    if cache := cache or stage.cache:
        extra |= {"cache": cache, "again": again}
    function(out, Inputs(files), **stage.parameters, **stage.settings(), **extra)
    trace.take().write(stage._trace_path)  # so that a mistake changes the key, and nothing is restored
    return time.process_time() - began


def child(job: dict[str, Any]) -> None:
    """Run a job in a forked process, and exit without the parent's exit handlers."""
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
