"""Program that builds some stages as `kokoro-tvm build` does.

Arguments: the folder, the folder of the file `lines` that every run of a stage adds to, how many stages
run at once, how many seconds they take, and which edition of the outputs they write.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from made_stages import stage_in

from kokoro_tvm.builder import tasks
from kokoro_tvm.builder.engine.resources import Budget
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")


def main(folder: Path, ran: Path, jobs: int = 1, seconds: float = 0.5, edition: str = "") -> int:
    from kokoro_tvm.cli.develop.build import run_tasks

    made, budget = stages(folder, ran, seconds, edition), Budget()
    setattr(tasks, "recipe_tasks", lambda *given, **options: (tasks._task(s, given[1], budget) for s in made))  # noqa: B010
    try:
        run_tasks([s.name for s in made], jobs, folder)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def stages(folder: Path, ran: Path, seconds: float = 0.5, edition: str = "") -> list[Stage]:
    """Return a stage and others that depend on it. Each sleeps and writes its name and the edition."""
    store = Store(folder / ".store")
    made: list[Stage] = []
    for name in NAMES:
        stage = stage_in(
            folder,
            name,
            "tally",
            store=store,
            outputs=(name,),
            inputs={stage.name: (stage, stage.outputs[0]) for stage in made[:1]},
            parameters={"file": name, "text": name + edition},
            settings=lambda: {"seconds": seconds},
            cache=ran,
        )
        made.append(stage)
    return made


if __name__ == "__main__":
    words = sys.argv[3:]
    sys.exit(
        main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, words[:1]), *map(float, words[1:2]), *words[2:])
    )
