"""Reads all outputs again and reports those that are damaged or missing; runs a stage again and compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.engine.stage import Stage
from kokoro_tvm.project.project import Project

__all__ = ["Fault", "Findings", "rebuild", "verify"]


@dataclass(frozen=True)
class Fault:
    """A file that is not as it was written; in_bundle: whether a bundle consists of it."""

    path: Path
    problem: str
    in_bundle: bool


@dataclass(frozen=True)
class Findings:
    """How much was read, and what was wrong with it."""

    files: int
    bytes: int
    faults: tuple[Fault, ...]


def verify(project: Project, recipes: Sequence[str] | None, everything: bool) -> Findings:
    """Every output of these recipes (all, if None); `everything`: every object and record of the store, too.

    The project has to be a paranoid one, or what looks unchanged is not read.
    """
    files = size = 0
    faults: list[Fault] = []
    seen: set[str] = set()
    for name in recipes or project.recipes():
        graph = project.graph(name)
        for stage in graph.stages():
            record = stage.previous()
            if stage.name in seen or record is None:
                continue
            seen.add(stage.name)
            files, size = files + len(record.outputs), size + record.size
            for damage in project.store.verify(record, stage.folder):
                what = "is missing" if damage.missing else "holds something else than was written"
                problem = f"{what} ({stage.name})"
                faults.append(Fault(damage.path, problem, stage.folder == graph.bundle_folder))
    if everything:
        for path, problem in project.audit():
            files, size = files + 1, size + path.stat().st_size
            if problem:
                faults.append(Fault(path, problem, in_bundle=False))
    return Findings(files, size, tuple(faults))


def rebuild(stage: Stage, beat: Callable[[float], None]) -> list[str]:
    """Run a stage twice, outside the store, and say which outputs differ: between the two runs, or from what
    the store has, if the stage is current.

    Raises:
        BuildError: The stage fails, or a stage it reads from is not built.
    """
    first, second = stage.rebuild(beat), stage.rebuild(beat)
    differences = [
        f"{output}: two runs wrote different bytes" for output in first if first[output] != second[output]
    ]
    record = stage.previous() if stage.is_current() else None
    stored = {} if record is None else {output.file: output.sha256 for output in record.outputs}
    return differences + [
        f"{output}: the store has other bytes than both runs wrote"
        for output in stored
        if first[output] == second[output] != stored[output]
    ]
