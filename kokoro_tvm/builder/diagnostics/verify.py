"""Reads all outputs again and reports those that are damaged or missing; runs a stage again and compares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.project import Project

__all__ = ["Fault", "VerifyResult", "rebuild", "verify"]


@dataclass(frozen=True)
class Fault:
    """A file that is not as it was written; in_bundle: whether a bundle consists of it."""

    path: Path
    problem: str
    in_bundle: bool
    repair: str = ""
    """What became of it: `restored`, `removed`, or empty if it was not to be repaired."""


@dataclass(frozen=True)
class VerifyResult:
    """How much was read, and what was wrong with it."""

    files: int
    bytes: int
    faults: tuple[Fault, ...]


def verify(
    project: Project, recipes: Sequence[str] | None, everything: bool, repair: bool = False
) -> VerifyResult:
    """Every output of these recipes (all, if None); `everything`: every object and record of the store, too.

    repair: restore damaged files from intact copies, the store's or the outputs', and remove the others.

    The project has to be a paranoid one, or what looks unchanged is not read.
    """
    faults: list[Fault] = []
    built: dict[str, tuple[Stage, StageRecord, bool]] = {}
    for name in recipes or project.recipes():
        graph = project.graph(name)
        for stage in graph.stages():
            record = stage.previous()
            if record is not None:
                built.setdefault(stage.name, (stage, record, stage.folder == graph.bundle_folder))
    files = sum(len(record.outputs) for _, record, _ in built.values())
    size = sum(record.size for _, record, _ in built.values())
    if everything:  # before the outputs, which are restored from it
        copies: dict[str, list[Path]] = defaultdict(list)
        for stage, record, _ in built.values():
            for output in record.outputs:
                copies[output.sha256].append(stage.path(output.file))
        for path, problem in project.audit():
            files, size = files + 1, size + path.stat().st_size
            if problem:
                done = project.repair(path, copies[path.name]) if repair else ""
                faults.append(Fault(path, problem, in_bundle=False, repair=done))
    for stage, record, in_bundle in built.values():
        damages = project.store.verify(record, stage.folder)
        is_restored = repair and bool(damages) and project.store.restore(record, stage.folder, stage.name)
        for damage in damages:
            if repair and not is_restored:
                damage.path.unlink(missing_ok=True)
            done = ("restored" if is_restored else "removed") if repair else ""
            what = "is missing" if damage.missing else "holds something else than was written"
            faults.append(Fault(damage.path, f"{what} ({stage.name})", in_bundle, done))
    return VerifyResult(files, size, tuple(faults))


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
