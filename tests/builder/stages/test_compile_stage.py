"""The stage `compile`: processes, and objects in the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kokoro_tvm.builder.engine.parts import PARTS, Parts, parts_store
from kokoro_tvm.builder.project import Project
from kokoro_tvm.builder.stages.compile import processes
from kokoro_tvm.recipe.parts import Resources


@pytest.mark.parametrize(
    ("resources", "cores", "expected"),
    [
        (Resources(), 2, 2),
        (Resources(), 64, 8),
        (Resources(memory_gb=8), 64, 64),
        (Resources(cpus=3), 64, 3),
        (Resources(cpus=3), 2, 2),
        (Resources(memory_gb=0.5), 64, 1),
    ],
)
def test_processes_fit_cores_and_memory(resources: Resources, cores: int, expected: int) -> None:
    assert processes(resources, cores) == expected


def test_gc_keeps_the_objects_of_builds_it_keeps(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "cpu.yaml").touch()
    project = Project(tmp_path)
    for build in ("first", "second"):
        objects = Parts(parts_store(project.store), {})
        for kernel in ("shared", build):
            path = tmp_path / "kernel.o"
            if not objects.fetch({"kernel": kernel}, path):
                path.write_text(kernel, encoding="utf-8")
                objects.keep({"kernel": kernel}, path, 1.0)
            path.unlink()
        with project.store.lock("a" * 64), project.store.workspace("a" * 64) as folder:
            (folder / PARTS).write_text(json.dumps(sorted(objects.keys)), encoding="utf-8")
            record = project.store.publish("cpu.compile.x", {"build": build}, folder, [PARTS], 1.0, 1.0)
        project.store.restore(record, tmp_path / "out", "cpu.compile.x")

    def kept() -> set[str]:
        folder = parts_store(project.store).root / "objects"
        return {path.read_text(encoding="utf-8") for path in folder.glob("*/*")}

    assert kept() == {"shared", "first", "second"}
    project.gc(project.list_kept_keys(2))
    assert kept() == {"shared", "first", "second"}
    assert project.gc(project.list_kept_keys(1), dry_run=True).records == 2
    project.gc(project.list_kept_keys(1))
    assert kept() == {"shared", "second"}
