r"""Stages of a recipe, and the edges between them.

    front_end -> phonemes --------------------------> bundle

    checkpoint -> export -> lower -> compile (-> assemble) -> speak
               \-> pack (one a component) --/ \
               \-> reference ------------------> validate -> bundle -> speech -> (intelligibility)

`throughput` runs beside `validate`. No other stage needs it or `report`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.stages import (
    assemble,
    bundle,
    checkpoint,
    compile,
    export,
    front_end,
    golden,
    intelligibility,
    libkokoro,
    libtvm,
    lower,
    machine,
    pack,
    phonemes,
    reference,
    report,
    runtime,
    speak,
    speech,
    text,
    throughput,
    validate,
)
from kokoro_tvm.builder.stages.base import Files, Place, output_group
from kokoro_tvm.recipe import ArtifactSpec, Recipe
from kokoro_tvm.targets import KERNELS, CompiledLibrary, RuntimeLibrary, target_kind, tools_for
from kokoro_tvm.targets.runners import Runner

T = TypeVar("T")
S = TypeVar("S", Stage, Stage | None)


def _once(declare: Callable[[RecipeGraph, T], S]) -> Callable[[RecipeGraph, T], S]:
    """Cache a method that declares the stage of an artifact or component."""

    @wraps(declare)
    def cached(graph: RecipeGraph, of: T) -> S:
        """Return the cached stage, or declare it."""
        key = declare.__name__, of
        if key not in graph._stages:
            graph._stages[key] = declare(graph, of)
        return graph._stages[key]

    return cached


@dataclass(frozen=True)
class RecipeGraph:
    """Stages of one recipe. Stages that the recipe does not need are None.

    Attributes:
        recipe: The recipe.
        artifacts: Folder of all outputs.
        root: Folder that relative paths in the model's recipe start from.
        shared: Store of the outputs; None: one in `artifacts`.
    """

    recipe: Recipe
    artifacts: Path
    root: Path
    shared: Store | None = None
    _stages: dict[tuple[str, object], Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def store(self) -> Store:
        """Store of the outputs."""
        return self.shared or Store(self.artifacts / ".store")

    @cached_property
    def place(self) -> Place:
        """Place of the recipe's own stages."""
        return Place(self.recipe.name, self.artifacts, self.store, self.recipe.timeout_s)

    @cached_property
    def _model(self) -> Place:
        """Place of the stages that all recipes of the model share."""
        return Place(self.recipe.model, self.artifacts, self.store)

    @property
    def bundle_folder(self) -> Path:
        """Folder of the bundle."""
        return self.place.bundle

    def specs(self, component: str) -> list[ArtifactSpec]:
        """Return the artifacts of a component, by increasing bucket."""
        return [spec for spec in self.recipe.artifacts() if spec.component == component]

    def stages(self) -> tuple[Stage, ...]:
        """Return every stage but `report`, in the order of dependencies."""
        # The decoder, which takes longest, comes first.
        specs, gates = self.recipe.artifacts()[::-1], self.recipe.gates
        stages = (
            self.checkpoint,
            self.front_end,
            self.phonemes,
            self.machine,
            *(self.machine_of(component) for component in self.recipe.components),
            self.runtime,
            self.runner,
            self.libkokoro,
            self.text,
            *(self.export(spec) for spec in specs),
            *(self.lower(spec) for spec in specs),
            *(self.compile(spec) for spec in specs),
            *(self.assemble(spec) for spec in specs),
            *(self.pack(component) for component in self.recipe.components),
            self.speak if self.is_run else None,
            self.golden,
            self.reference,
            *(self.validate(spec) for spec in specs),
            self.bundle,
            self.speech,
            self.throughput if gates.throughput.min_peak_share is not None else None,
            self.intelligibility if gates.intelligibility.max_word_error_increase is not None else None,
        )
        return tuple({stage.name: stage for stage in stages if stage is not None}.values())

    @cached_property
    def checkpoint(self) -> Stage:
        """Stage that fetches weights and voices."""
        return checkpoint.declare(self._model, self.recipe.checkpoint, self.root)

    @cached_property
    def front_end(self) -> Stage | None:
        """Stage that fetches the data of the front end; None if the recipe has none."""
        spec = self.recipe.front_end
        return front_end.declare(self._model, spec, self.root) if spec else None

    @cached_property
    def phonemes(self) -> Stage | None:
        """Stage that judges the front end; None if there is none, or no gate for it."""
        limits = self.recipe.gates.phonemes.model_dump().values()
        if self.front_end is None or all(limit is None for limit in limits):
            return None
        return phonemes.declare(self.place, self.recipe, self.front_end)

    @cached_property
    def reference(self) -> Stage:
        """Stage that runs the stock model."""
        return reference.declare(self._model, self.recipe.utterances, self.checkpoint)

    @cached_property
    def machine(self) -> Stage:
        """Stage that resolves the recipe's target."""
        return machine.declare(self.place, self.recipe, self.recipe.target)

    @_once
    def machine_of(self, component: str) -> Stage:
        """Return the stage that resolves the target of a component: the recipe's target, or its host."""
        target = self.recipe.target_of(component)
        if target == self.recipe.target:
            return self.machine
        return machine.declare(self.place, self.recipe, target, "host")

    @cached_property
    def runtime(self) -> Stage | None:
        """Stage of the bundle's TVM runtime, which builds or copies it; None if the bundle has none."""
        return self._runtime(self._libraries) if self._libraries else None

    @cached_property
    def runner(self) -> Stage | None:
        """Stage of the TVM runtime that the runner uses, which may be the bundle's; None if it needs none."""
        if self._runner is None or not self._runner.needs_runtime:
            return None
        libraries = tools_for(self.recipe.target).runner_libraries()
        if libraries == self._libraries:
            return self.runtime
        return self._runtime(libraries, "runner")

    def _runtime(self, libraries: Mapping[str, RuntimeLibrary], artifact: str = "") -> Stage:
        """Return the stage that compiles, fetches or copies libraries of the TVM runtime."""
        compiled = {name: lib for name, lib in libraries.items() if isinstance(lib, CompiledLibrary)}
        if compiled:
            return libtvm.declare(self.place, compiled)
        return runtime.declare(self.place, libraries, artifact)

    @cached_property
    def _libraries(self) -> Mapping[str, RuntimeLibrary]:
        """Libraries of the TVM runtime that the bundle brings."""
        return tools_for(self.recipe.target).runtime_libraries(ffi=self.recipe.runtime.c)

    @cached_property
    def libkokoro(self) -> Stage | None:
        """Stage that builds the C library; None if the recipe does not want it."""
        return libkokoro.declare(self.place, self.recipe) if self.recipe.runtime.c else None

    @cached_property
    def text(self) -> Stage | None:
        """Stage that builds text.wasm for browsers; None for other targets."""
        target = self.recipe.target
        return text.declare(self.place) if target_kind(target.kind).is_for_browsers(target) else None

    @cached_property
    def _runtime_parts(self) -> Files:
        """Libraries of the TVM runtime, as inputs of the bundle."""
        if self.runtime is None:
            return {}
        return dict(zip(self._libraries, runtime.libraries_of(self.runtime), strict=True))

    @cached_property
    def _runner_parts(self) -> Files:
        """Libraries that the runner needs, as a group of inputs of every stage that runs code."""
        if self.runner is None:
            return {}
        return {f"runner/{file}": (stage, file) for stage, file in runtime.libraries_of(self.runner)}

    @property
    def is_run(self) -> bool:
        """Whether this machine can run the code."""
        return self._runner is not None

    @property
    def _runner(self) -> Runner | None:
        """What runs the code here, or None."""
        return tools_for(self.recipe.target).runner()

    @_once
    def export(self, spec: ArtifactSpec) -> Stage:
        """Return the stage that exports an artifact from PyTorch."""
        return export.declare(self.place, self.recipe, spec, self.checkpoint)

    @_once
    def lower(self, spec: ArtifactSpec) -> Stage:
        """Return the stage that lowers an artifact to kernels."""
        machine = self.machine_of(spec.component)
        return lower.declare(self.place, self.recipe, spec, self.export(spec), machine)

    @_once
    def compile(self, spec: ArtifactSpec) -> Stage:
        """Return the stage that compiles an artifact."""
        return compile.declare(self.place, self.recipe, spec, self.lower(spec))

    @_once
    def assemble(self, spec: ArtifactSpec) -> Stage | None:
        """Return the stage that assembles GPU kernels; None if the target has none."""
        if not target_kind(self.recipe.target_of(spec.component).kind).has_machine_code:
            return None
        return assemble.declare(self.place, self.recipe, spec, self.compile(spec))

    @_once
    def pack(self, component: str) -> Stage:
        """Return the stage that packs the weights of a component."""
        lowered = [self.lower(spec) for spec in self.specs(component)]
        return pack.declare(self.place, self.recipe, component, lowered, self.checkpoint)

    @_once
    def validate(self, spec: ArtifactSpec) -> Stage:
        """Return the stage that judges an artifact by its gates."""
        parts = self._parts(spec) | self._runner_parts
        return validate.declare(self.place, self.recipe, spec, parts, self.reference)

    @cached_property
    def speak(self) -> Stage:
        """Stage that synthesizes hello.wav."""
        return speak.declare(self.place, self.recipe, self._all_parts | self._runner_parts)

    @cached_property
    def golden(self) -> Stage | None:
        """Stage that writes what browsers compare; None for other targets, or if the code cannot be run."""
        kind = target_kind(self.recipe.target.kind)
        if not (self.is_run and kind.is_for_browsers(self.recipe.target)):
            return None
        return golden.declare(self.place, self.recipe, self._all_parts | self._runner_parts)

    @cached_property
    def bundle(self) -> Stage:
        """Stage that collects the bundle."""
        judged = dict(self._validations)
        if self.phonemes is not None:
            judged["phonemes"] = (self.phonemes, "phonemes.json")
        parts = {**self._all_parts, **self._runtime_parts}
        if self.golden is not None:
            parts |= {file: (self.golden, file) for file in self.golden.outputs}
        if self.libkokoro is not None:
            parts |= output_group("libkokoro", self.libkokoro)
        if self.text is not None:
            parts |= {file: (self.text, file) for file in self.text.outputs}
        return bundle.declare(self.place, self.recipe, parts, judged, self.checkpoint, self.front_end)

    @cached_property
    def speech(self) -> Stage:
        """Stage that judges whole utterances."""
        return speech.declare(self.place, self.recipe, self.bundle, self.reference, self._runner_parts)

    @cached_property
    def throughput(self) -> Stage:
        """Stage that measures the speed of the decoder."""
        parts = self._parts(self.specs("decoder")[0])
        return throughput.declare(self.place, self.recipe, parts, self.reference)

    @cached_property
    def intelligibility(self) -> Stage:
        """Stage that transcribes speech with a recogniser and compares the words."""
        return intelligibility.declare(self.place, self.recipe, self.bundle, self.checkpoint)

    @cached_property
    def report(self) -> Stage:
        """Stage that writes the page about the bundle. It is not among `stages`, because nothing needs it."""
        return report.declare(
            self.place,
            self.recipe,
            self.bundle,
            self.reference,
            self.speech,
            self.machine,
            self._validations,
            self._runner_parts,
            self.stages(),
        )

    def _parts(self, *specs: ArtifactSpec) -> Files:
        """Return the parts of a bundle of these artifacts, as inputs (see `builder.stages.manifest`)."""
        parts: Files = {"config": (self.checkpoint, "config.json"), "machine": (self.machine, "machine.json")}
        for spec in specs:
            lowered, packed, compiled = self.lower(spec), self.pack(spec.component), self.compile(spec)
            parts.setdefault(f"parameters/{spec.component}", (lowered, "parameters.json"))
            parts.setdefault(f"weights/{spec.component}", (packed, packed.outputs[0]))
            parts[f"libraries/{spec.id}"] = (compiled, compiled.outputs[0])
            kernels = f"{spec.id}{KERNELS}"
            if kernels in compiled.outputs:
                parts[f"kernels/{spec.id}"] = (compiled, kernels)
            if (assembled := self.assemble(spec)) is not None:
                parts[f"machine_code/{spec.id}"] = (assembled, assembled.outputs[0])
        return parts

    @cached_property
    def _all_parts(self) -> Files:
        """Parts of the bundle, as inputs."""
        return {"voices": (self.checkpoint, "voices.safetensors"), **self._parts(*self.recipe.artifacts())}

    @cached_property
    def _validations(self) -> Files:
        """Reports of all artifacts, as inputs."""
        return {spec.id: (self.validate(spec), "validation.json") for spec in self.recipe.artifacts()}
