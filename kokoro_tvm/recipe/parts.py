"""What a recipe is put together from: components, target, buckets, gates, utterances, pass context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.recipe._source import nearest
from kokoro_tvm.recipe._spec import CpuFeature, CpuName, Name, Spec, Triple, TvmPass, VoiceName

__all__ = [
    "COMPONENT_AXES",
    "MAX_FRAMES",
    "MAX_TOKENS",
    "Axis",
    "Buckets",
    "Component",
    "Components",
    "Length",
    "LlvmTarget",
    "PassContext",
    "PassContextOverride",
    "PassList",
    "PatchList",
    "PatchOverrides",
    "Precision",
    "RecipeSet",
    "RecipeSets",
    "Target",
    "Utterance",
    "distinct",
]

Axis = Literal["tokens", "frames"]
Length = Literal["exact", "masked", "padded"]
Precision = Literal["float32", "bfloat16"]
RecipeSet = Literal["ci", "nightly"]

MAX_TOKENS = 512
MAX_FRAMES = 5120

# The five components in the order they are built and run, each with the axis its length is counted on.
COMPONENT_AXES: dict[str, Axis] = {
    "bert": "tokens",
    "duration": "tokens",
    "text_encoder": "tokens",
    "f0n": "frames",
    "decoder": "frames",
}


def distinct(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words as they are. Raises when one is listed twice."""
    if len(set(words)) == len(words):
        return words
    for index, word in enumerate(words):
        if word in words[:index]:
            context = {"word": word, "index": index}
            raise PydanticCustomError("listed_twice", "`{word}` is listed twice; name it once", context)
    return words


def _known(what: str, folder: str) -> Callable[[str, ValidationInfo], str]:
    """A check that a name is among the `known` ones of the validation context; without one, any passes."""

    def check(word: str, info: ValidationInfo) -> str:
        known = (info.context or {}).get("known")
        if known is not None and word not in (valid := sorted(getattr(known, folder))):
            context = {"what": what, "word": word, "valid": valid}
            raise PydanticCustomError("unknown_word", "unknown {what} {word}", context)
        return word

    return check


def _increasing(lengths: tuple[int, ...]) -> tuple[int, ...]:
    for index, (before, after) in enumerate(pairwise(lengths), start=1):
        if after <= before:
            raise PydanticCustomError(
                "not_increasing",
                "buckets must grow from one to the next; {after} follows {before}",
                {"after": after, "before": before, "index": index},
            )
    return lengths


_Patch = Annotated[Name, AfterValidator(_known("patch", "patches"))]
_Pass = Annotated[Name, AfterValidator(_known("pass", "passes"))]
PatchList = Annotated[tuple[_Patch, ...], AfterValidator(distinct)]
PassList = Annotated[tuple[_Pass, ...], AfterValidator(distinct)]
TvmPasses = Annotated[tuple[TvmPass, ...], AfterValidator(distinct)]
TvmConfig = Annotated[
    dict[str, bool | int | float | str], AfterValidator(lambda options: dict(sorted(options.items())))
]
RecipeSets = Annotated[tuple[RecipeSet, ...], AfterValidator(distinct)]
OptLevel = Annotated[int, Field(ge=0, le=4)]


class Resources(Spec):
    """What one compile takes of the machine that builds: side by side run those that together fit."""

    memory_gb: float = Field(default=1.5, gt=0, le=4096, description="Memory, GB.")
    cpus: int = Field(default=1, ge=1, le=1024, description="Cores.")


class LlvmTarget(Spec):
    """A CPU, compiled for by TVM's LLVM and linked with the C++ compiler of the machine that builds."""

    kind: Literal["llvm"] = Field(description="Told apart by this word.")
    mcpu: CpuName = Field(description="CPU as LLVM names it, or native: that of the machine that builds.")
    mtriple: Triple | None = Field(
        default=None,
        description="LLVM target triple, x86_64-linux-gnu; null: that of the machine that builds.",
    )
    mattr: Annotated[tuple[CpuFeature, ...], AfterValidator(distinct)] = Field(
        default=(),
        description="CPU features added (+name) or taken away (-name).",
    )

    @model_validator(mode="after")
    def _native_is_here(self) -> LlvmTarget:
        if self.mcpu != "native" and nearest(self.mcpu, ["native"]) and abs(len(self.mcpu) - 6) < 2:
            context = {"what": "CPU", "word": self.mcpu, "valid": ["native"], "key": "mcpu"}
            raise PydanticCustomError("unknown_word", "unknown CPU {word}", context)
        if self.mcpu == "native" and self.mtriple is not None:
            raise PydanticCustomError(
                "native_triple",
                "native is the machine that builds: name the CPU where a triple is given",
                {"key": "mcpu"},
            )
        return self


# The kinds there are. A second one makes this a union told apart by `kind`, as checkpoint.Source is.
Target = LlvmTarget


class Buckets(Spec):
    """The largest lengths compiled for, per axis; an input takes the smallest that holds it."""

    tokens: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_TOKENS)], ...],
        Field(min_length=1),
        AfterValidator(_increasing),
    ] = Field(description="Tokens (phonemes and the two that frame them), 1 to 512, growing.")
    frames: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_FRAMES)], ...],
        Field(min_length=1),
        AfterValidator(_increasing),
    ] = Field(description="Frames of audio, 40 a second, 1 to 5120, growing.")


class Component(Spec):
    """A part of the model compiled on its own."""

    axis: Axis = Field(description="The axis its length is counted on.")
    patches: PatchList = Field(default=(), description="Patches applied to it, in order.")


class PassContext(Spec):
    """Options of TVM's PassContext around the passes."""

    opt_level: OptLevel = Field(default=3, description="Optimisation level.")
    disabled_passes: TvmPasses = Field(default=(), description="TVM passes to leave out, by TVM's names.")
    config: TvmConfig = Field(
        default_factory=dict,
        description="TVM's PassContext config: option: true, false, a number or text.",
    )


class PassContextOverride(Spec):
    """PassContext options that replace the model's, each as a whole."""

    opt_level: OptLevel | None = Field(default=None, description="Optimisation level.")
    disabled_passes: TvmPasses | None = Field(
        default=None, description="TVM passes to leave out, by TVM's names."
    )
    config: TvmConfig | None = Field(default=None, description="TVM's PassContext config.")

    def over(self, context: PassContext) -> PassContext:
        """`context` with these options in place of its own."""
        return PassContext.model_validate(context.model_dump() | self.model_dump(exclude_none=True))


class Utterance(Spec):
    """What an artifact says when it is compared with the reference."""

    name: Name = Field(description="Name in reports.")
    phonemes: str = Field(
        min_length=1, max_length=MAX_TOKENS - 2, description="Phonemes as misaki writes them."
    )
    voice: VoiceName = Field(description="Voice.")
    speed: float = Field(default=1.0, gt=0.0, le=10.0, description="Speed; 2 is twice as fast.")
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="Seed of the noise given to both sides.")


class Components(Spec):
    """The five components."""

    key_word: ClassVar[str] = "component"

    bert: Component = Field(description="Text to context.")
    duration: Component = Field(description="Context and style to frames a token.")
    text_encoder: Component = Field(description="Text to what the decoder says.")
    f0n: Component = Field(description="Pitch and energy.")
    decoder: Component = Field(description="Everything to audio.")

    @model_validator(mode="after")
    def _axes_are_the_models(self) -> Components:
        for name, axis in COMPONENT_AXES.items():
            given: Component = getattr(self, name)
            if given.axis != axis:
                raise PydanticCustomError(
                    "wrong_axis",
                    "the length of {name} is counted in {axis}",
                    {"name": name, "axis": axis, "path": (name, "axis")},
                )
        return self

    def by_name(self) -> Mapping[str, Component]:
        """The components in the order they are built."""
        return {name: getattr(self, name) for name in COMPONENT_AXES}


class PatchOverrides(Spec):
    """Patch lists that replace the model's, per component."""

    key_word: ClassVar[str] = "component"

    bert: PatchList | None = Field(default=None, description="Patches of bert.")
    duration: PatchList | None = Field(default=None, description="Patches of duration.")
    text_encoder: PatchList | None = Field(default=None, description="Patches of text_encoder.")
    f0n: PatchList | None = Field(default=None, description="Patches of f0n.")
    decoder: PatchList | None = Field(default=None, description="Patches of decoder.")

    def given(self) -> dict[str, Any]:
        """Component to patches, for the components that were given any list, an empty one too."""
        return {name: patches for name in COMPONENT_AXES if (patches := getattr(self, name)) is not None}
