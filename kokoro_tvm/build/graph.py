"""From a recipe to its stages: which there are, and what each of them depends on.

    checkpoint -> export -> lower -> compile -\\
               \\-> pack (one per component) ---> validate -> bundle -> speech -> (intelligibility) -> speak
               \\-> reference -----------------/

and `report`, which comes after all of them and is made only when it is asked for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.build.artifact_stages import ArtifactStages
from kokoro_tvm.build.digest import file_sha256, installed, versions
from kokoro_tvm.build.ingredients import TORCH, TVM, llvm_version, stage_sources, threads
from kokoro_tvm.build.model_stages import ModelStages
from kokoro_tvm.build.provenance import parameters
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.store import Store
from kokoro_tvm.linker import linker_version
from kokoro_tvm.recipe import Recipe

__all__ = ["RecipeGraph"]

HELLO = "həlˈO wˈɜɹld."


@dataclass(frozen=True)
class RecipeGraph:
    """The stages of one recipe; `artifacts` is the folder everything is written under, store: what holds it
    (one in that folder where it is not given)."""

    recipe: Recipe
    artifacts: Path
    root: Path
    shared: Store | None = None

    @cached_property
    def store(self) -> Store:
        """What keeps all that its stages write."""
        return self.shared or Store(self.artifacts / ".store")

    @cached_property
    def model(self) -> ModelStages:
        """The stages shared by all recipes of the model."""
        recipe = self.recipe
        return ModelStages(
            recipe.model, recipe.checkpoint, recipe.utterances, self.artifacts, self.root, self.store
        )

    @cached_property
    def artifact(self) -> ArtifactStages:
        """The stages of every artifact."""
        return ArtifactStages(self.recipe, self.model, self._work, self.store)

    def stages(self) -> tuple[Stage, ...]:
        """Every stage, each after those it depends on; the decoder first, for it takes longest by far."""
        specs = self.recipe.artifacts()[::-1]
        return (
            self.model.checkpoint,
            self.artifact.machine,
            *(self.artifact.export(s) for s in specs),
            *(self.artifact.lower(s) for s in specs),
            *(self.artifact.compile(s) for s in specs),
            self.model.reference,
            *(self.artifact.pack(c) for c in self.recipe.components),
            *(self.artifact.validate(s) for s in specs),
            self.bundle,
            self.speech,
            *([self.intelligibility] if self._listens else []),
            self.speak,
        )

    @property
    def bundle_folder(self) -> Path:
        return self.artifacts / self.recipe.name

    @property
    def _listens(self) -> bool:
        """Whether a speech recogniser is asked: only where the recipe has a gate for it."""
        return self.recipe.gates.intelligibility.max_word_error_increase is not None

    @property
    def _work(self) -> Path:
        return self.artifacts / ".build" / self.recipe.name

    def _stage(self, kind: str, aside: bool = False, **told: Any) -> Stage:
        """A stage of this kind, that writes into the bundle's folder or aside. The rest is Stage's."""
        folder = self._work / kind if aside else self.bundle_folder
        return Stage(
            name=f"{self.recipe.name}.{kind}",
            store=self.store,
            folder=folder,
            work=folder if aside else self._work,
            function=kind,
            timeout_s=self.recipe.timeout_s,
            **told,
        )

    @cached_property
    def bundle(self) -> Stage:
        specs = self.recipe.artifacts()
        compiled, packs = (
            [self.artifact.compile(s) for s in specs],
            [self.artifact.pack(c) for c in self.recipe.components],
        )
        validated = [self.artifact.validate(s) for s in specs]
        names = [*(c.outputs[0] for c in compiled), *(p.outputs[0] for p in packs), "voices.safetensors"]
        checkpoint = self.model.checkpoint

        def provenance() -> dict[str, Any]:
            return {
                "recipe": parameters(self.recipe),
                "checkpoint": {file: checkpoint.sha256(file) for file in checkpoint.outputs},
                "reports": {
                    f"{s.id}/validation.json": v.sha256("validation.json")
                    for s, v in zip(specs, validated, strict=True)
                },
                "compiler": {"linker": linker_version(), "llvm": llvm_version()},
            }

        def parts() -> list[dict[str, Any]]:
            return [
                {
                    "name": component,
                    "parameters": str(
                        self.artifact.lower(self.artifact.specs(component)[0]).path("parameters.json")
                    ),
                    "weights": str(pack.path(pack.outputs[0])),
                    "libraries": {
                        str(s.bucket): str(self.artifact.compile(s).path(self.artifact.compile(s).outputs[0]))
                        for s in self.artifact.specs(component)
                    },
                }
                for component, pack in zip(self.recipe.components, packs, strict=True)
            ]

        return self._stage(
            "bundle",
            doc=f"put the bundle artifacts/{self.recipe.name} together",
            arguments=lambda out: {
                "recipe": self.artifact.identity(),
                "checkpoint": str(self.model.checkpoint.folder),
                "machine": str(self.artifact.machine.path("machine.json")),
                "components": parts(),
                "toolchain": versions(*TVM, *TORCH),
                "provenance": provenance(),
                "folder": str(out),
            },
            outputs=(*names, "provenance.json", "bundle.json"),
            ingredients=lambda: {
                "recipe": self.artifact.identity(),
                "libraries": [c.sha256(c.outputs[0]) for c in compiled],
                "weights": [p.sha256(p.outputs[0]) for p in packs],
                "parameters": [self.artifact.lower(s).sha256("parameters.json") for s in specs],
                "machine": self.artifact.machine.sha256("machine.json"),
                "provenance": provenance(),
                "sources": stage_sources("bundle"),
                "versions": versions(*TVM, *TORCH),
                "project": __version__,
            },
            after=(*compiled, *packs, *validated, self.artifact.machine, self.model.checkpoint),
        )

    @cached_property
    def speech(self) -> Stage:
        gates = self.recipe.gates.model_dump(mode="json")
        return self._stage(
            "speech",
            doc="compare what the bundle says with what the stock model says",
            aside=True,
            arguments=lambda out: {
                "bundle": str(self.bundle_folder),
                "references": self.model.reference_paths(),
                "gates": gates,
                "threads": threads(),
                "out": str(out / "speech.json"),
            },
            outputs=("speech.json",),
            ingredients=lambda: {
                "bundle": self.bundle.sha256("bundle.json"),
                "references": {o: self.model.reference.sha256(o) for o in self.model.reference.outputs},
                "gates": {"speech": gates["speech"], "enforce": gates["enforce"]},
                "sources": stage_sources("speech"),
                "versions": versions("numpy", *TVM),
            },
            after=(self.bundle, self.model.reference),
        )

    @cached_property
    def intelligibility(self) -> Stage:
        gates = self.recipe.gates.model_dump(mode="json")

        def ears() -> dict[str, Any]:
            from kokoro_tvm.validate.intelligibility import SENTENCES
            from kokoro_tvm.validate.recogniser import PACKAGE

            return {"sentences": list(SENTENCES), PACKAGE: installed(PACKAGE)}

        return self._stage(
            "intelligibility",
            doc="compare what a speech recogniser understands of the bundle and of the stock model",
            aside=True,
            arguments=lambda out: {
                "bundle": str(self.bundle_folder),
                "checkpoint": str(self.model.checkpoint.folder),
                "gates": gates,
                "threads": threads(),
                "out": str(out / "intelligibility.json"),
            },
            outputs=("intelligibility.json",),
            ingredients=lambda: {
                "bundle": self.bundle.sha256("bundle.json"),
                "checkpoint": {f: self.model.checkpoint.sha256(f) for f in self.model.checkpoint.outputs},
                "gates": {"intelligibility": gates["intelligibility"], "enforce": gates["enforce"]},
                "sources": stage_sources("intelligibility"),
                "ears": ears(),
                "versions": versions(*TORCH),
            },
            after=(self.speech, self.model.checkpoint),
        )

    @cached_property
    def speak(self) -> Stage:
        folder = self.bundle_folder
        told = {"phonemes": HELLO, "voice": "af_heart"}
        return self._stage(
            "speak",
            doc=f"say hello into artifacts/{self.recipe.name}/hello.wav",
            arguments=lambda out: told | {"bundle": str(folder), "out": str(out / "hello.wav")},
            outputs=("hello.wav",),
            ingredients=lambda: {
                "said": told,
                "bundle": self.bundle.sha256("bundle.json"),
                "sources": stage_sources("speak"),
                "versions": versions("numpy", *TVM),
            },
            after=(self.speech,),
        )

    @cached_property
    def report(self) -> Stage:
        """The page about the bundle; no stage needs it, so it is not among `stages`."""
        folder, stages = self.bundle_folder, self.stages()
        validated = [self.artifact.validate(s) for s in self.recipe.artifacts()]
        template = Path(__file__).parents[1] / "report" / "templates" / "report.html.jinja"

        def built() -> list[dict[str, Any]]:
            records = {stage.name: stage.record() for stage in stages}
            return [
                {
                    "name": name,
                    "seconds": record.seconds,
                    "cpu_seconds": record.cpu_seconds,
                    "outputs": [[o.file, o.size, o.sha256] for o in record.outputs],
                }
                for name, record in records.items()
            ]

        return self._stage(
            "report",
            doc=f"write artifacts/{self.recipe.name}/report.html",
            arguments=lambda out: {
                "bundle": str(folder),
                "references": self.model.reference_paths(),
                "validations": [str(v.path("validation.json")) for v in validated],
                "speech": str(self.speech.path("speech.json")),
                "machine": str(self.artifact.machine.path("machine.json")),
                "stages": built(),
                "logs": [os.path.relpath(s.log_path, folder) for s in stages],
                "threads": threads(),
                "out": str(out / "report.html"),
            },
            outputs=("report.html",),
            ingredients=lambda: {
                "bundle": self.bundle.sha256("bundle.json"),
                "validated": [v.sha256("validation.json") for v in validated],
                "speech": self.speech.sha256("speech.json"),
                "machine": self.artifact.machine.sha256("machine.json"),
                "references": {o: self.model.reference.sha256(o) for o in self.model.reference.outputs},
                "stages": built(),
                "template": file_sha256(template),
                "sources": stage_sources("report"),
                "versions": versions("numpy", *TVM, "jinja2", "soundfile"),
            },
            after=stages,
        )
