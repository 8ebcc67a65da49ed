"""A project whose stages were all built, in no time: their records are real, what they wrote is made up."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.trace import CodeTrace
from kokoro_tvm.builder.engine.used import hash_used
from kokoro_tvm.builder.project import Project

__all__ = ["build", "built_project", "edit", "make", "make_project", "report"]

RECIPES = Path(__file__).parents[3] / "recipes"

USED = ("kokoro_tvm.model.patches.decoder:_forward",)
"""What the export of the decoder executed."""


def make_project(root: Path, **recipes: str) -> Project:
    """The shipped recipes `cpu` and `kokoro-82m`, and others by name and text, nothing of them built."""
    (root / "recipes").mkdir(parents=True)
    for name in ("cpu", "kokoro-82m"):
        shutil.copy(RECIPES / f"{name}.yaml", root / "recipes")
    for name, text in recipes.items():
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Project(root)


def built_project(root: Path, **recipes: str) -> Project:
    """The same, the recipe `cpu` built: a copy of one that is built once."""
    shutil.copytree(_template().root, root, dirs_exist_ok=True)
    for name, text in recipes.items():
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Project(root)


@cache
def _template() -> Project:
    folder = tempfile.TemporaryDirectory(prefix="built-project-")
    atexit.register(folder.cleanup)
    project = make_project(Path(folder.name))
    build(project)
    return project


def edit(project: Project, recipe: str, old: str, new: str) -> None:
    """Writes something else into a recipe."""
    path = project.root / "recipes" / f"{recipe}.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def build(
    project: Project, recipe: str = "cpu", contents: Mapping[str, Any] | None = None, only: str | None = None
) -> list[str]:
    """Every stage that is not current (or one alone) is as if it had run; their names.

    contents: what a stage writes in place of what it always does, by STAGE:FILE, as text or JSON.
    """
    ran = []
    for stage in project.graph(recipe).stages():
        if (only is None or stage.name == only) and stage.state().kind != "current":
            make(project, stage, contents or {})
            ran.append(stage.name)
    return ran


def report(component: str, *missed: str, enforce: bool = True) -> dict[str, Any]:
    """A report of a validation, as short as one can be."""
    return {"component": component, "passed": not missed, "enforce": enforce, "missed": list(missed)}


def make(project: Project, stage: Stage, contents: Mapping[str, Any] = {}) -> None:
    """A stage is as if it had run."""
    with project.store.workspace(stage.key()) as out:
        for output in stage.outputs:
            content = contents.get(f"{stage.name}:{output}", _usual(stage, output))
            (out / output).write_text(
                content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
            )
        seconds = 31.6 if stage.kind == "compile" else 1.5
        derivation = stage.derivation() | (
            hash_used(CodeTrace(USED)) if stage.name == "cpu.export.decoder-5120" else {}
        )
        record = project.store.publish(stage.name, derivation, out, stage.outputs, seconds, seconds)
    assert project.store.restore(record, stage.folder, stage.name)


def _usual(stage: Stage, output: str) -> Any:
    if output == "machine.json":
        return {"required": ["avx2", "fma"]}
    if output == "parameters.json":
        return [{"name": "weight", "packing": None}]
    if output == "parts.json":
        return []
    if output in (
        "validation.json",
        "throughput.json",
        "speech.json",
        "intelligibility.json",
        "phonemes.json",
    ):
        return report(stage.kind)
    return f"{stage.kind} {output}"  # the same for every recipe, as what has the same derivation is
