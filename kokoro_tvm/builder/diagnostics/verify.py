"""Compares outputs with their records, repairs them, and runs a stage twice to compare what it writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.project import Project


@dataclass(frozen=True)
class Fault:
    """A damaged or missing file.

    Attributes:
        path: The file.
        problem: What is wrong with it.
        in_bundle: Whether it is a file of a bundle.
        repair: `restored`, `removed`, or "" if it was not repaired.
    """

    path: Path
    problem: str
    in_bundle: bool
    repair: str = ""


@dataclass(frozen=True)
class VerifyResult:
    """The number and total size of the files that were read, and the faults."""

    files: int
    bytes: int
    faults: tuple[Fault, ...]


def verify(
    project: Project, recipes: Sequence[str] | None, everything: bool, repair: bool = False
) -> VerifyResult:
    """Compare every output of the recipes (None: of all) with its record.

    Args:
        project: A paranoid one; another does not read a file that looks unchanged.
        recipes: Names of recipes.
        everything: Also read every object and record of the store.
        repair: Restore damaged files from intact copies, and remove those that have none.
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
    if everything:  # before the outputs, because they are restored from the store
        copies: dict[str, list[Path]] = defaultdict(list)
        for stage, record, _ in built.values():
            for output in record.outputs:
                copies[output.sha256].append(stage.path(output.file))
        for path, problem in project.audit():
            files, size = files + 1, size + path.stat().st_size
            if problem:
                result = project.repair(path, copies[path.name]) if repair else ""
                faults.append(Fault(path, problem, in_bundle=False, repair=result))
    for stage, record, in_bundle in built.values():
        damages = project.store.verify(record, stage.folder)
        is_restored = repair and bool(damages) and project.store.restore(record, stage.folder, stage.name)
        for damage in damages:
            if repair and not is_restored:
                damage.path.unlink(missing_ok=True)
            result = ("restored" if is_restored else "removed") if repair else ""
            problem = "is missing" if damage.missing else "holds something else than was written"
            faults.append(Fault(damage.path, f"{problem} ({stage.name})", in_bundle, result))
    return VerifyResult(files, size, tuple(faults))


def rebuild(stage: Stage, beat: Callable[[float], None]) -> list[str]:
    """Run a stage twice outside the store, and return the differences of the outputs.

    The outputs of both runs are compared with each other and, if the stage is current, with the store.

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
