"""Shared parts of stages: folders, preloaded modules, small files and logs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.versions import TVM, versions
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import tools_for

Files = dict[str, tuple[Stage, str]]  # input -> the stage that writes the file, the name of the file

# Modules that take seconds to import, for the stages that need them. Stages that speak preload nothing, so
# that they run like a user's own process.
COMPILER = (
    "kokoro_tvm.compiler.export",
    "kokoro_tvm.compiler.lower",
    "kokoro_tvm.builder.library",
    "kokoro_tvm.compiler.pack",
    "kokoro_tvm.model.checkpoint",
    "kokoro_tvm.validation.reference.compute",
    "kokoro.model",
    "transformers.models.albert.modeling_albert",
    "torch._dynamo",
)


@dataclass(frozen=True)
class Place:
    """The folders and the store of the stages of a recipe or a model.

    Attributes:
        name: Name of the recipe or the model.
        artifacts: Folder of all artifacts.
        store: The store.
        timeout_s: Time limit of each stage.
    """

    name: str
    artifacts: Path
    store: Store
    timeout_s: float = 3600.0

    @property
    def bundle(self) -> Path:
        """Folder of the recipe's bundle."""
        return self.artifacts / self.name

    @property
    def work(self) -> Path:
        """Folder of all other outputs, and of the logs."""
        return self.artifacts / ".build" / self.name

    def stage(
        self,
        kind: str,
        artifact: str = "",
        *,
        folder: Path | None = None,
        work: Path | None = None,
        **fields: Any,
    ) -> Stage:
        """Return a stage of this kind, and of this artifact if there is one.

        Args:
            kind: The name of the stage's module.
            artifact: Name of the artifact.
            folder: Folder of the outputs; None: `work`.
            work: Folder of the log; None: a folder of its own.
            fields: Other fields of the stage.
        """
        own = work or self.work / (artifact or kind)
        return Stage(
            name=".".join(filter(None, (self.name, kind, artifact))),
            store=self.store,
            folder=folder or own,
            work=own,
            function=f"kokoro_tvm.builder.stages.{kind}:run",
            timeout_s=self.timeout_s,
            **fields,
        )


def output_group(group: str, stage: Stage, *, without: str = "") -> Files:
    """Return all outputs of a stage but one as a group of inputs."""
    return {f"{group}/{output}": (stage, output) for output in stage.outputs if output != without}


def judged_references(recipe: Recipe, reference: Stage) -> Files:
    """Return the references of the utterances that the recipe's gates judge, as a group of inputs."""
    chosen = {f"{name}.safetensors" for name in recipe.judged}
    return {name: file for name, file in output_group("references", reference).items() if file[1] in chosen}


def runner_libraries(inputs: Inputs) -> list[Path]:
    """Return the libraries of the TVM runtime that the runner needs: the group of inputs `runner`."""
    return list(inputs.group("runner").values())


def gate_facts(recipe: Recipe, part: str) -> dict[str, Any]:
    """Return the gates of a component, or of `speech` and the like, as facts of the stage that judges it."""
    gates = recipe.gates.model_dump(mode="json")
    return {name: gates[name] for name in (part, "enforce")}


def run_facts(recipe: Recipe) -> dict[str, Any]:
    """Return the facts of stages that run the code: the runner (None: not run), and versions of libraries.

    Raises:
        BuildError: One of these is not installed.
    """
    runner = tools_for(recipe.target).runner()
    return {"runner": runner.facts() if runner else None, "versions": versions("numpy", *TVM)}


def run_settings(recipe: Recipe) -> dict[str, Any]:
    """Return the settings of stages that run the code before the bundle exists: the target, and names."""
    return {
        "target": recipe.target.model_dump(mode="json"),
        "names": {"name": recipe.name, "model": recipe.model},
    }


def call_parameters(recipe: Recipe) -> dict[str, str]:
    """Return what decides how the recipe's code is called, as a parameter of the stages that run it."""
    return {"length": recipe.length, "precision": recipe.precision}


def threads() -> int:
    """Return the number of threads of a stage. It does not affect any output."""
    from kokoro_tvm.runtime.threads import usable_cores  # imports numpy

    return usable_cores()


def log(line: str) -> None:
    """Write a line to the stage's log at once."""
    print(line, flush=True)


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON with sorted keys, so that equal values give equal bytes."""
    write(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False))


def write(path: Path, text: str) -> None:
    """Write a text file as UTF-8."""
    path.write_text(text, encoding="utf-8")
