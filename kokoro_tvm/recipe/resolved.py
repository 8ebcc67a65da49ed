"""Resolved recipes: everything that a build reads, with defaults and overrides applied."""

from __future__ import annotations

from kokoro_tvm.common.constants import COMPONENT_AXES, Axis
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.spec import Name, Spec, TargetSpec
from kokoro_tvm.recipe.checkpoint import Checkpoint
from kokoro_tvm.recipe.files import ModelFile, TargetFile
from kokoro_tvm.recipe.front_end import FrontEndSpec
from kokoro_tvm.recipe.gates import Gates
from kokoro_tvm.recipe.parts import (
    Buckets,
    ComponentSpec,
    Languages,
    Length,
    PassContext,
    Precision,
    RecipeSet,
    Resources,
    Runtime,
    Target,
    UtteranceSpec,
)
from kokoro_tvm.recipe.schedule import Schedule
from kokoro_tvm.targets import target_kind


class ArtifactSpec(Spec):
    """One compiled (component, bucket) of a recipe; `bucket` counts the units of `axis`."""

    component: Name
    axis: Axis
    bucket: int
    length: Length

    @property
    def id(self) -> str:
        """Name of the artifact: `decoder-5120`."""
        return f"{self.component}-{self.bucket}"


class Recipe(Spec):
    """A target recipe over its model's.

    Attributes:
        components: Components in the order of the build.
        judged: Names of the utterances that the gates are run on.
        schedules: Schedules of all CPUs; the one for the target's features decides how layers are computed.
    """

    name: str
    model: Name
    target: Target
    precision: Precision
    length: Length
    buckets: Buckets
    components: dict[str, ComponentSpec]
    passes: tuple[str, ...]
    pass_context: PassContext
    gates: Gates
    utterances: tuple[UtteranceSpec, ...]
    judged: tuple[Name, ...]
    checkpoint: Checkpoint
    front_end: FrontEndSpec | None = None
    languages: Languages | None = None
    timeout_s: int
    runtime: Runtime
    weight_bits: dict[str, int]
    resources: Resources
    sets: tuple[RecipeSet, ...]
    schedules: tuple[Schedule, ...] = ()

    def target_of(self, component: str) -> TargetSpec:
        """Return the target that a component is compiled for."""
        return target_kind(self.target.kind).of_component(self.target, component)

    def precision_of(self, target: TargetSpec) -> Precision:
        """Return the precision of the recipe's target, or float32 for its host."""
        return self.precision if target == self.target else "float32"

    def utterance(self, name: str | None = None) -> UtteranceSpec:
        """Return the utterance of a name, or the first one. Raises InputError for an unknown name."""
        by_name = {utterance.name: utterance for utterance in self.utterances}
        if name is not None and name not in by_name:
            raise InputError(
                f"The recipe {self.name} has no utterance {name!r}; it has {', '.join(by_name)}."
            )
        return self.utterances[0] if name is None else by_name[name]

    def artifacts(self) -> tuple[ArtifactSpec, ...]:
        """Return every (component, bucket) in the order of the build."""
        return tuple(
            ArtifactSpec(component=name, axis=component.axis, bucket=bucket, length=self.length)
            for name, component in self.components.items()
            for bucket in (self.buckets.tokens if component.axis == "tokens" else self.buckets.frames)
        )


def resolve(name: str, target: TargetFile, model: ModelFile, schedules: tuple[Schedule, ...] = ()) -> Recipe:
    """Return a target recipe over its model. Its gates are complete (`merge.resolve_gates`)."""
    patches = target.patches.model_dump(exclude_none=True) if target.patches else {}
    gates, context = target.gates or model.gates, model.pass_context
    if target.pass_context:
        context = context.model_copy(update=target.pass_context.model_dump(exclude_unset=True))
    if target.length == "padded":  # its gates report, they do not stop
        gates = gates.model_copy(update={"enforce": False})
    return Recipe(
        name=name,
        model=target.model,
        target=target.target,
        precision=target.precision,
        length=target.length,
        buckets=target.buckets,
        components={
            component: getattr(model.components, component).model_copy(
                update={"patches": patches[component]} if component in patches else {}
            )
            for component in COMPONENT_AXES
        },
        passes=model.passes if target.passes is None else target.passes,
        pass_context=context,
        gates=gates,
        utterances=model.utterances,
        judged=target.utterances or tuple(utterance.name for utterance in model.utterances),
        checkpoint=model.checkpoint,
        front_end=model.front_end,
        languages=model.languages,
        timeout_s=target.timeout_s,
        runtime=target.runtime,
        weight_bits=target.weight_bits,
        resources=target.resources,
        sets=target.sets,
        schedules=schedules,
    )
