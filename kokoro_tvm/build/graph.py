"""From a recipe to its stages: which there are, and what each of them depends on.

    checkpoint -> export -> lower -> compile -\\
               \\-> pack (one per component) ---> validate -> bundle -> speech -> speak
               \\-> reference -----------------/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.build.digest import source_digests, versions
from kokoro_tvm.build.linker import linker_version
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.recipe import ArtifactSpec, Recipe
from kokoro_tvm.runtime.threads import usable_cores

__all__ = ["RecipeGraph"]

_OPS = "kokoro_tvm.ops"
_TORCH = ("torch", "kokoro", "transformers", "numpy")
_TVM = ("apache-tvm", "apache-tvm-ffi")
_TELLING = tuple(f"kokoro_tvm.{m}" for m in ("errors", "recipe.checkpoint", "recipe.parts", "recipe.gates"))
HELLO = "həlˈO wˈɜɹld."


@dataclass(frozen=True)
class RecipeGraph:
    """The stages of one recipe; `artifacts` is the folder everything is written under."""

    recipe: Recipe
    artifacts: Path
    root: Path

    def stages(self) -> tuple[Stage, ...]:
        """Every stage, each after those it depends on; the decoder first, for it takes longest by far."""
        specs = self.recipe.artifacts()[::-1]
        return (
            self.checkpoint,
            self.machine,
            *(self.export(s) for s in specs),
            *(self.lower(s) for s in specs),
            *(self.compile(s) for s in specs),
            self.reference,
            *(self.pack(c) for c in self.recipe.components),
            *(self.validate(s) for s in specs),
            self.bundle,
            self.speech,
            self.speak,
        )

    @property
    def bundle_folder(self) -> Path:
        return self.artifacts / self.recipe.name

    @property
    def _work(self) -> Path:
        return self.artifacts / ".build" / self.recipe.name

    def _folder(self, spec: ArtifactSpec) -> Path:
        return self._work / spec.id

    def _named(self, stage: str, what: str = "") -> str:
        return ".".join(filter(None, (self.recipe.name, stage, what)))

    @cached_property
    def checkpoint(self) -> Stage:
        """Shared by all recipes of the model."""
        told = self.recipe.checkpoint.model_dump(mode="json")
        folder = self.artifacts / "checkpoint" / self.recipe.model
        return Stage(
            name=f"{self.recipe.model}.checkpoint",
            doc="fetch weights, voices and configuration",
            folder=folder,
            work=self.artifacts / ".build" / self.recipe.model,
            function="checkpoint",
            arguments=lambda: {"recipe": told, "folder": str(folder), "root": str(self.root)},
            outputs=("weights.safetensors", "voices.safetensors", "config.json"),
            ingredients=lambda: {
                "checkpoint": told,
                "sources": _sources(["kokoro_tvm.model.checkpoint"]),
                "versions": versions("torch", "kokoro", "numpy"),
            },
        )

    @cached_property
    def machine(self) -> Stage:
        target = self.recipe.target.model_dump(mode="json")
        folder = self._work / "machine"
        return Stage(
            name=self._named("machine"),
            doc=f"resolve the target {target['kind']} {target['mcpu']}",
            folder=folder,
            work=folder,
            function="machine",
            arguments=lambda: {"target": target, "out": str(folder / "machine.json")},
            outputs=("machine.json",),
            ingredients=lambda: {
                "target": target,
                "cpu": _cpu() if target["mcpu"] == "native" else None,
                "sources": _sources(["kokoro_tvm.target"], apart=[_OPS]),
                "versions": versions(*_TVM),
            },
            timeout_s=self.recipe.timeout_s,
        )

    def export(self, spec: ArtifactSpec) -> Stage:
        patches = list(self.recipe.components[spec.component].patches)
        folder, config = self._folder(spec), self.checkpoint.path("config.json")
        told = {"component": spec.component, "length": spec.length, "bucket": spec.bucket, "patches": patches}
        return Stage(
            name=self._named("export", spec.id),
            doc=f"export {spec.component} up to {spec.bucket} {spec.axis} ({spec.length}) from PyTorch",
            folder=folder,
            work=folder,
            function="export",
            arguments=lambda: told | {"config": str(config), "folder": str(folder)},
            outputs=("program.pt2", "operations.json"),
            ingredients=lambda: {
                "artifact": told,
                "config": self.checkpoint.sha256("config.json"),
                "sources": _sources(
                    ["kokoro_tvm.export", *(f"kokoro_tvm.patches.{p}" for p in patches)], apart=[_OPS]
                ),
                "versions": versions(*_TORCH),
            },
            after=(self.checkpoint,),
            timeout_s=self.recipe.timeout_s,
        )

    def manifest(self, spec: ArtifactSpec) -> dict[str, Any]:
        """What the library will say of itself."""
        return {
            "component": spec.component,
            "bucket": spec.bucket,
            "length": spec.length,
            "precision": self.recipe.precision,
            "project": f"kokoro-tvm {__version__}",
        }

    def _lowering(self, spec: ArtifactSpec) -> dict[str, Any]:
        return {
            "component": spec.component,
            "passes": list(self.recipe.passes),
            "pass_context": self.recipe.pass_context.model_dump(mode="json"),
            "manifest": self.manifest(spec),
        }

    def _lowered_from(self, spec: ArtifactSpec) -> dict[str, str]:
        program, machine = self.export(spec).path("program.pt2"), self.machine.path("machine.json")
        return {"program": str(program), "machine": str(machine)}

    def lower(self, spec: ArtifactSpec) -> Stage:
        export, machine, folder = self.export(spec), self.machine, self._folder(spec)
        told = self._lowering(spec)

        def sources() -> dict[str, str]:
            used = export.read_json("operations.json")
            modules = ["kokoro_tvm.lower", "kokoro_tvm.export"]
            modules += [f"kokoro_tvm.passes.{p}" for p in self.recipe.passes]
            modules += [f"{_OPS}.{o}" for o in used]
            # What only exporting needs has had its say in the program.
            return _sources(modules, apart=[_OPS, "kokoro_tvm.model.components", "kokoro_tvm.patches"])

        return Stage(
            name=self._named("lower", spec.id),
            doc=f"lower {spec.component} to kernels",
            folder=folder,
            work=folder,
            function="lower",
            arguments=lambda: told | self._lowered_from(spec) | {"folder": str(folder)},
            outputs=("module.py", "parameters.json"),
            ingredients=lambda: {
                "lowering": told,
                "program": export.sha256("program.pt2"),
                "machine": machine.sha256("machine.json"),
                "sources": sources(),
                "versions": versions(*_TVM, "torch", "numpy"),
            },
            after=(export, machine),
            timeout_s=self.recipe.timeout_s,
        )

    def compile(self, spec: ArtifactSpec) -> Stage:
        lower, machine, folder = self.lower(spec), self.machine, self._folder(spec)
        library = f"{spec.id}.so"
        return Stage(
            name=self._named("compile", spec.id),
            doc=f"generate machine code for {spec.component} and link it",
            folder=folder,
            work=folder,
            function="compile_",
            arguments=lambda: {
                "lowering": self._lowering(spec) | self._lowered_from(spec),
                "module": str(lower.path("module.py")),
                "out": str(folder / library),
            },
            outputs=(library,),
            ingredients=lambda: {
                "module": lower.sha256("module.py"),
                "machine": machine.sha256("machine.json"),
                "linker": linker_version(),
                "sources": _sources(["kokoro_tvm.compile"], apart=[_OPS]),
                "versions": versions(*_TVM),
            },
            after=(lower, machine),
            timeout_s=self.recipe.timeout_s,
        )

    def _specs(self, component: str) -> list[ArtifactSpec]:
        return [s for s in self.recipe.artifacts() if s.component == component]

    def pack(self, component: str) -> Stage:
        lowered = tuple(self.lower(s) for s in self._specs(component))
        folder, weights = self._work / component, self.checkpoint.path("weights.safetensors")
        out = f"{component}.safetensors"

        def operations() -> list[str]:
            told = lowered[0].read_json("parameters.json")
            return sorted({f"{_OPS}.{p['packing']['operation']}" for p in told if p["packing"]})

        return Stage(
            name=self._named("pack", component),
            doc=f"lay out the weights of {component} as its kernels read them",
            folder=folder,
            work=folder,
            function="pack",
            arguments=lambda: {
                "parameters": [str(s.path("parameters.json")) for s in lowered],
                "weights": str(weights),
                "out": str(folder / out),
            },
            outputs=(out,),
            ingredients=lambda: {
                "parameters": [s.sha256("parameters.json") for s in lowered],
                "weights": self.checkpoint.sha256("weights.safetensors"),
                "sources": _sources(
                    ["kokoro_tvm.pack", "kokoro_tvm.patches.weight_norm", *operations()],
                    apart=[_OPS, "kokoro_tvm.passes", "kokoro_tvm.patches"],
                ),
                "versions": versions("numpy", "torch"),
            },
            after=(*lowered, self.checkpoint),
            timeout_s=self.recipe.timeout_s,
        )

    @cached_property
    def reference(self) -> Stage:
        """What the stock model says, shared by all recipes with the same utterances."""
        utterances = [u.model_dump(mode="json") for u in self.recipe.utterances]
        folder = self.artifacts / "reference" / self.recipe.model
        return Stage(
            name=f"{self.recipe.model}.reference",
            doc="run the stock model in float64 and float32 on the utterances",
            folder=folder,
            work=self.artifacts / ".build" / self.recipe.model,
            function="reference",
            arguments=lambda: {
                "checkpoint": str(self.checkpoint.folder),
                "utterances": utterances,
                "folder": str(folder),
            },
            outputs=tuple(f"{u['name']}.safetensors" for u in utterances),
            ingredients=lambda: {
                "utterances": utterances,
                "checkpoint": {f: self.checkpoint.sha256(f) for f in self.checkpoint.outputs},
                "sources": _sources(["kokoro_tvm.validate.compute"]),
                "versions": versions(*_TORCH),
            },
            after=(self.checkpoint,),
        )

    def _identity(self) -> dict[str, str]:
        return {key: getattr(self.recipe, key) for key in ("name", "model", "length", "precision")}

    def _references(self) -> list[str]:
        return [str(self.reference.path(o)) for o in self.reference.outputs]

    def validate(self, spec: ArtifactSpec) -> Stage:
        lower, compiled, pack = self.lower(spec), self.compile(spec), self.pack(spec.component)
        folder, gates = self._folder(spec), self.recipe.gates.model_dump(mode="json")
        library = compiled.outputs[0]
        own = {spec.component: gates[spec.component], "enforce": gates["enforce"]}
        return Stage(
            name=self._named("validate", spec.id),
            doc=f"compare {spec.id} with the stock model",
            folder=folder,
            work=folder,
            function="validate",
            arguments=lambda: {
                "bundle": {
                    "recipe": self._identity(),
                    "config": str(self.checkpoint.path("config.json")),
                    "machine": str(self.machine.path("machine.json")),
                    "component": spec.component,
                    "bucket": spec.bucket,
                    "parameters": str(lower.path("parameters.json")),
                    "weights": str(pack.path(pack.outputs[0])),
                    "library": str(compiled.path(library)),
                },
                "references": self._references(),
                "gates": gates,
                "threads": usable_cores(),
                "out": str(folder / "validation.json"),
            },
            outputs=("validation.json",),
            ingredients=lambda: {
                "library": compiled.sha256(library),
                "weights": pack.sha256(pack.outputs[0]),
                "references": {o: self.reference.sha256(o) for o in self.reference.outputs},
                "gates": own,
                "sources": _sources(
                    ["kokoro_tvm.validate.artifact", "kokoro_tvm.runtime.session", "kokoro_tvm.build.bundle"]
                ),
                "versions": versions("numpy", "apache-tvm-ffi"),
            },
            after=(compiled, pack, self.reference),
            timeout_s=self.recipe.timeout_s,
        )

    @cached_property
    def bundle(self) -> Stage:
        specs = self.recipe.artifacts()
        compiled, packs = [self.compile(s) for s in specs], [self.pack(c) for c in self.recipe.components]
        validated = [self.validate(s) for s in specs]
        names = [*(c.outputs[0] for c in compiled), *(p.outputs[0] for p in packs), "voices.safetensors"]

        def parts() -> list[dict[str, Any]]:
            return [
                {
                    "name": component,
                    "parameters": str(self.lower(self._specs(component)[0]).path("parameters.json")),
                    "weights": str(pack.path(pack.outputs[0])),
                    "libraries": {
                        str(s.bucket): str(self.compile(s).path(self.compile(s).outputs[0]))
                        for s in self._specs(component)
                    },
                }
                for component, pack in zip(self.recipe.components, packs, strict=True)
            ]

        return Stage(
            name=self._named("bundle"),
            doc=f"put the bundle artifacts/{self.recipe.name} together",
            folder=self.bundle_folder,
            work=self._work,
            function="bundle",
            arguments=lambda: {
                "recipe": self._identity(),
                "checkpoint": str(self.checkpoint.folder),
                "machine": str(self.machine.path("machine.json")),
                "components": parts(),
                "toolchain": versions(*_TVM, *_TORCH),
                "folder": str(self.bundle_folder),
            },
            outputs=(*names, "bundle.json"),
            ingredients=lambda: {
                "recipe": self._identity(),
                "libraries": [c.sha256(c.outputs[0]) for c in compiled],
                "weights": [p.sha256(p.outputs[0]) for p in packs],
                "checkpoint": {f: self.checkpoint.sha256(f) for f in ("voices.safetensors", "config.json")},
                "parameters": [self.lower(s).sha256("parameters.json") for s in specs],
                "machine": self.machine.sha256("machine.json"),
                "validated": [v.sha256("validation.json") for v in validated],
                "sources": _sources(["kokoro_tvm.build.bundle"]),
                "versions": versions(*_TVM, *_TORCH),
                "project": __version__,
            },
            after=(*compiled, *packs, *validated, self.machine, self.checkpoint),
            timeout_s=self.recipe.timeout_s,
        )

    @cached_property
    def speech(self) -> Stage:
        folder, gates = self._work / "speech", self.recipe.gates.model_dump(mode="json")
        return Stage(
            name=self._named("speech"),
            doc="compare what the bundle says with what the stock model says",
            folder=folder,
            work=folder,
            function="speech",
            arguments=lambda: {
                "bundle": str(self.bundle_folder),
                "references": self._references(),
                "gates": gates,
                "threads": usable_cores(),
                "out": str(folder / "speech.json"),
            },
            outputs=("speech.json",),
            ingredients=lambda: {
                "bundle": self.bundle.sha256("bundle.json"),
                "references": {o: self.reference.sha256(o) for o in self.reference.outputs},
                "gates": {"speech": gates["speech"], "enforce": gates["enforce"]},
                "sources": _sources(["kokoro_tvm.validate.artifact", "kokoro_tvm.runtime"]),
                "versions": versions("numpy", "apache-tvm-ffi"),
            },
            after=(self.bundle, self.reference),
            timeout_s=self.recipe.timeout_s,
        )

    @cached_property
    def speak(self) -> Stage:
        folder = self.bundle_folder
        told = {"phonemes": HELLO, "voice": "af_heart"}
        return Stage(
            name=self._named("speak"),
            doc=f"say hello into artifacts/{self.recipe.name}/hello.wav",
            folder=folder,
            work=self._work,
            function="speak",
            arguments=lambda: told | {"bundle": str(folder), "out": str(folder / "hello.wav")},
            outputs=("hello.wav",),
            ingredients=lambda: {
                "said": told,
                "bundle": self.bundle.sha256("bundle.json"),
                "sources": _sources(["kokoro_tvm.runtime"]),
                "versions": versions("numpy", "apache-tvm-ffi"),
            },
            after=(self.speech,),
            timeout_s=self.recipe.timeout_s,
        )


def _sources(modules: Sequence[str], apart: Sequence[str] = ()) -> dict[str, str]:
    """Digests of these modules' code, less what only carries the recipe's words or puts errors into ours."""
    return source_digests(modules, apart=[*apart, *_TELLING])


def _cpu() -> dict[str, Any]:
    """What tells this CPU from another, without asking the compiler."""
    told: Mapping[str, str] = {}
    lines: Sequence[str] = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    told = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    keys = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features")
    return {key: told.get(key, "") for key in keys}
