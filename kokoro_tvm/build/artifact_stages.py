"""The stages of a recipe's artifacts: export, lower, compile and validate each, pack for each component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kokoro_tvm import __version__
from kokoro_tvm.build.digest import versions
from kokoro_tvm.build.ingredients import OPS, TORCH, TVM, cpu, stage_sources, threads, tvm_versions
from kokoro_tvm.build.model_stages import ModelStages
from kokoro_tvm.build.resources import Needs
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.store import Store
from kokoro_tvm.linker import linker_version
from kokoro_tvm.recipe import ArtifactSpec, Recipe

__all__ = ["ArtifactStages"]


@dataclass(frozen=True)
class ArtifactStages:
    """`work` is the folder their outputs are seen in."""

    recipe: Recipe
    model: ModelStages
    work: Path
    store: Store

    def _stage(self, kind: str, what: str, function: str | None = None, **told: Any) -> Stage:
        """A stage of this kind; what: it makes ("": a recipe has one of the kind). The rest is Stage's."""
        folder = self.work / (what or kind)
        return Stage(
            name=".".join(filter(None, (self.recipe.name, kind, what))),
            store=self.store,
            folder=folder,
            work=folder,
            function=function or kind,
            timeout_s=self.recipe.timeout_s,
            **told,
        )

    def specs(self, component: str) -> list[ArtifactSpec]:
        """The artifacts of a component, by growing bucket."""
        return [s for s in self.recipe.artifacts() if s.component == component]

    def identity(self) -> dict[str, str]:
        """What a bundle says of the recipe."""
        return {key: getattr(self.recipe, key) for key in ("name", "model", "length", "precision")}

    @cached_property
    def machine(self) -> Stage:
        target, precision = self.recipe.target.model_dump(mode="json"), self.recipe.precision
        return self._stage(
            "machine",
            "",
            doc=f"resolve the target {target['kind']} {target['mcpu']}",
            arguments=lambda out: {
                "target": target,
                "precision": precision,
                "out": str(out / "machine.json"),
            },
            outputs=("machine.json",),
            ingredients=lambda: {
                "target": target,
                "precision": precision,
                "cpu": cpu() if target["mcpu"] == "native" else None,
                "sources": stage_sources("machine", apart=[OPS]),
                "versions": tvm_versions(),
            },
        )

    def export(self, spec: ArtifactSpec) -> Stage:
        patches = list(self.recipe.components[spec.component].patches)
        config = self.model.checkpoint.path("config.json")
        told = {"component": spec.component, "length": spec.length, "bucket": spec.bucket, "patches": patches}
        return self._stage(
            "export",
            spec.id,
            doc=f"export {spec.component} up to {spec.bucket} {spec.axis} ({spec.length}) from PyTorch",
            arguments=lambda out: told | {"config": str(config), "folder": str(out)},
            outputs=("program.pt2", "operations.json"),
            ingredients=lambda: {
                "artifact": told,
                "config": self.model.checkpoint.sha256("config.json"),
                "sources": stage_sources("export", [f"kokoro_tvm.patches.{p}" for p in patches], apart=[OPS]),
                "versions": versions(*TORCH),
            },
            after=(self.model.checkpoint,),
        )

    def _manifest(self, spec: ArtifactSpec) -> dict[str, Any]:
        """What the library will say of itself, besides what its lowering finds out."""
        packages = tvm_versions() | versions("torch")
        return {
            "component": spec.component,
            "bucket": spec.bucket,
            "length": spec.length,
            "precision": self.recipe.precision,
            "project": f"kokoro-tvm {__version__}",
            "toolchain": {name: version for name, version in packages.items() if name != "python"},
        }

    def _lowering(self, spec: ArtifactSpec) -> dict[str, Any]:
        return {
            "component": spec.component,
            "passes": list(self.recipe.passes),
            "pass_context": self.recipe.pass_context.model_dump(mode="json"),
            "manifest": self._manifest(spec),
            "schedule": {k: c.model_dump() for k, c in self.recipe.schedule.get(spec.component, {}).items()},
        }

    def _lowered_from(self, spec: ArtifactSpec) -> dict[str, str]:
        program, machine = self.export(spec).path("program.pt2"), self.machine.path("machine.json")
        return {"program": str(program), "machine": str(machine)}

    def lower(self, spec: ArtifactSpec) -> Stage:
        export, machine = self.export(spec), self.machine

        def lowering() -> dict[str, str]:
            used = export.read_json("operations.json")
            modules = [f"kokoro_tvm.passes.{p}" for p in self.recipe.passes]
            modules += [f"{OPS}.{o}" for o in used]
            # What only exporting needs has had its say in the program.
            apart = [OPS, "kokoro_tvm.model.components", "kokoro_tvm.patches"]
            return stage_sources("lower", modules, apart)

        return self._stage(
            "lower",
            spec.id,
            doc=f"lower {spec.component} to kernels",
            arguments=lambda out: self._lowering(spec) | self._lowered_from(spec) | {"folder": str(out)},
            outputs=("module.py", "parameters.json"),
            ingredients=lambda: {
                "lowering": self._lowering(spec),
                "program": export.sha256("program.pt2"),
                "machine": machine.sha256("machine.json"),
                "sources": lowering(),
                "versions": tvm_versions() | versions("torch", "numpy"),
            },
            after=(export, machine),
        )

    def compile(self, spec: ArtifactSpec) -> Stage:
        lower, machine = self.lower(spec), self.machine
        library = f"{spec.id}.so"
        return self._stage(
            "compile",
            spec.id,
            doc=f"generate machine code for {spec.component} and link it",
            function="compile_",
            arguments=lambda out: {
                "lowering": self._lowering(spec) | self._lowered_from(spec),
                "module": str(lower.path("module.py")),
                "out": str(out / library),
            },
            outputs=(library,),
            ingredients=lambda: {
                "module": lower.sha256("module.py"),
                "machine": machine.sha256("machine.json"),
                "linker": linker_version(),
                # Lowering once more gives what module.py says, or an error.
                "sources": stage_sources("compile_", apart=[OPS, "kokoro_tvm.lower", "kokoro_tvm.export"]),
                "versions": tvm_versions(),
            },
            after=(lower, machine),
            needs=Needs(self.recipe.resources.memory_gb, self.recipe.resources.cpus),
        )

    def pack(self, component: str) -> Stage:
        lowered = tuple(self.lower(s) for s in self.specs(component))
        weights = self.model.checkpoint.path("weights.safetensors")
        packed = f"{component}.safetensors"

        def operations() -> list[str]:
            told = lowered[0].read_json("parameters.json")
            return sorted({f"{OPS}.{p['packing']['operation']}" for p in told if p["packing"]})

        return self._stage(
            "pack",
            component,
            doc=f"lay out the weights of {component} as its kernels read them",
            arguments=lambda out: {
                "parameters": [str(s.path("parameters.json")) for s in lowered],
                "weights": str(weights),
                "out": str(out / packed),
            },
            outputs=(packed,),
            ingredients=lambda: {
                "parameters": [s.sha256("parameters.json") for s in lowered],
                "weights": self.model.checkpoint.sha256("weights.safetensors"),
                "sources": stage_sources(
                    "pack", operations(), apart=[OPS, "kokoro_tvm.passes", "kokoro_tvm.patches"]
                ),
                "versions": versions("numpy", "torch"),
            },
            after=(*lowered, self.model.checkpoint),
        )

    def validate(self, spec: ArtifactSpec) -> Stage:
        lower, compiled, pack = self.lower(spec), self.compile(spec), self.pack(spec.component)
        gates = self.recipe.gates.model_dump(mode="json")
        library = compiled.outputs[0]
        own = {spec.component: gates[spec.component], "enforce": gates["enforce"]}
        return self._stage(
            "validate",
            spec.id,
            doc=f"compare {spec.id} with the stock model",
            arguments=lambda out: {
                "bundle": {
                    "recipe": self.identity(),
                    "config": str(self.model.checkpoint.path("config.json")),
                    "machine": str(self.machine.path("machine.json")),
                    "component": spec.component,
                    "bucket": spec.bucket,
                    "parameters": str(lower.path("parameters.json")),
                    "weights": str(pack.path(pack.outputs[0])),
                    "library": str(compiled.path(library)),
                },
                "references": self.model.reference_paths(),
                "gates": gates,
                "threads": threads(),
                "out": str(out / "validation.json"),
            },
            outputs=("validation.json",),
            ingredients=lambda: {
                "library": compiled.sha256(library),
                "weights": pack.sha256(pack.outputs[0]),
                "references": {o: self.model.reference.sha256(o) for o in self.model.reference.outputs},
                "gates": own,
                "sources": stage_sources("validate"),
                "versions": versions("numpy", *TVM),
            },
            after=(compiled, pack, self.model.reference),
        )
