"""What stages share: where things are kept, what processes find imported, small files and logs."""

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

__all__ = [
    "COMPILER",
    "Files",
    "Place",
    "computing",
    "files_of",
    "gates_on",
    "log",
    "read_json",
    "references_of",
    "run_facts",
    "run_settings",
    "runner_libraries",
    "threads",
    "write",
    "write_json",
]

Files = dict[str, tuple[Stage, str]]
"""Inputs of a stage: name -> the stage that writes the file, and its name there."""

# What takes seconds to import, for the stages that need it; those that speak start as bare as a user's own
# process.
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
    """Where the stages of a recipe, or of a model, are kept: name of either, the folder of all artifacts,
    the store.

    timeout_s: how long one of them may take.
    """

    name: str
    artifacts: Path
    store: Store
    timeout_s: float = 3600.0

    @property
    def bundle(self) -> Path:
        """The folder of the recipe's bundle."""
        return self.artifacts / self.name

    @property
    def work(self) -> Path:
        """The folder of everything else."""
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
        """A stage of this kind, of an artifact if one is named; its outputs lie in `folder`, else in its
        `work`."""
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


def files_of(group: str, stage: Stage, *, without: str = "") -> Files:
    """All outputs of a stage but one as a group of inputs."""
    return {f"{group}/{output}": (stage, output) for output in stage.outputs if output != without}


def references_of(recipe: Recipe, reference: Stage) -> Files:
    """The references that a recipe's gates are run on, as a group of inputs."""
    chosen = {f"{name}.safetensors" for name in recipe.judged}
    return {name: file for name, file in files_of("references", reference).items() if file[1] in chosen}


def runner_libraries(inputs: Inputs) -> list[Path]:
    """The TVM runtime that the runner needs: the group of inputs `runner`, which is empty where it needs
    none."""
    return list(inputs.group("runner").values())


def gates_on(recipe: Recipe, part: str) -> dict[str, Any]:
    """The gates on a component or on something whole, as facts of the stage that judges it."""
    gates = recipe.gates.model_dump(mode="json")
    return {name: gates[name] for name in (part, "enforce")}


def run_facts(recipe: Recipe) -> dict[str, Any]:
    """Facts of the stages that run the code: the runner, None where nothing does, and what they compute with.
    Raises BuildError where one of these is not installed."""
    runner = tools_for(recipe.target).runner()
    return {"runner": runner.facts() if runner else None, "versions": versions("numpy", *TVM)}


def run_settings(recipe: Recipe) -> dict[str, Any]:
    """Settings of the stages that run the code before there is a bundle: the target, and the names that the
    bundle will have."""
    return {
        "target": recipe.target.model_dump(mode="json"),
        "names": {"name": recipe.name, "model": recipe.model},
    }


def computing(recipe: Recipe) -> dict[str, str]:
    """What of a recipe decides how its code is called, as a parameter of the stages that run it."""
    return {"length": recipe.length, "precision": recipe.precision}


def threads() -> int:
    """How many threads stages compute with; decides about no output."""
    from kokoro_tvm.runtime.threads import usable_cores  # numpy comes with it

    return usable_cores()


def log(line: str) -> None:
    """Prints a line to the stage's log at once."""
    print(line, flush=True)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False))


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
