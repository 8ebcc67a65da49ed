"""A build of some stages that take their time: run as a program, by several processes at once.

Arguments: the folder, the file that every run of a stage leaves a line in, and words for doit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain

from kokoro_tvm.build import stage, tasks
from kokoro_tvm.build.reporter import LineReporter
from kokoro_tvm.build.resources import Budget
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.store import Store

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")


def main(folder: Path, ran: Path, *words: str) -> int:
    stage._STAGES, stage._COMPILER = "fakes", ("fakes",)
    setattr(stage, "function_code", lambda module, name: ("code", []))  # noqa: B010
    made, reporter = stages(folder, ran), LineReporter()
    budget = Budget.of_machine()
    config = tasks.doit_config(reporter) | {"default_tasks": None}
    loader = ModuleTaskLoader(
        {"DOIT_CONFIG": config, "task_all": lambda: (tasks._task(s, reporter, budget) for s in made)}
    )
    return int(DoitMain(loader, config_filenames=()).run(["run", *words]))


def stages(folder: Path, ran: Path, seconds: float = 0.5) -> list[Stage]:
    """One, and others after it, which take so long each."""
    store = Store(folder / ".store")
    made: list[Stage] = []
    for name in NAMES:
        made.append(_stage(store, folder, name, tuple(made[:1]), ran, seconds))
    return made


def _stage(
    store: Store, folder: Path, name: str, after: tuple[Stage, ...], ran: Path, seconds: float
) -> Stage:
    def arguments(out: Path) -> dict[str, Any]:
        return {"path": str(out / name), "text": name, "ran": str(ran), "seconds": seconds}

    return Stage(
        name=f"cpu.{name}",
        doc=f"write {name}",
        store=store,
        folder=folder / "seen",
        work=folder / f"{name}-work",
        function="tally",
        arguments=arguments,
        outputs=(name,),
        ingredients=lambda: {"name": name, "after": [s.sha256(s.outputs[0]) for s in after]},
        after=after,
        timeout_s=60,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
