"""The parts of a recipe: components, target, buckets, utterances, pass context."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.constants import COMPONENT_AXES, Axis
from kokoro_tvm.common.spec import (
    EspeakName,
    Extended,
    LanguageCode,
    Name,
    Spec,
    TargetSpec,
    TvmPass,
    VoiceName,
    refuse_duplicates,
)
from kokoro_tvm.native.toolchains.compiler_names import compiler_names
from kokoro_tvm.targets import kinds, target_kind

__all__ = [
    "MAX_FRAMES",
    "MAX_TOKENS",
    "Bits",
    "Buckets",
    "ComponentSpec",
    "Components",
    "ExtendableSpec",
    "LanguageSpec",
    "Languages",
    "Length",
    "PassContext",
    "PassList",
    "PatchList",
    "PatchOverrides",
    "Precision",
    "RecipeSet",
    "RecipeSets",
    "Resources",
    "Runtime",
    "Target",
    "UtteranceSpec",
    "list_modules",
]

Length = Literal["exact", "masked", "padded"]
Precision = Literal["float32", "bfloat16", "float16"]
RecipeSet = Literal["ci", "nightly"]

MAX_TOKENS = 512
MAX_FRAMES = 5120


def _module_of(folder: str, what: str) -> Callable[[str], str]:
    """Return a validator: a name is one of `list_modules`."""

    def check(word: str) -> str:
        if word not in (valid := list_modules(folder)):
            context = {"what": what, "word": word, "valid": valid}
            raise PydanticCustomError("unknown_word", "unknown {what} {word}", context)
        return word

    return check


@cache
def list_modules(folder: str) -> list[str]:
    """Return the names of the modules of a folder such as `model/patches`, without importing one."""
    paths = (Path(__file__).parents[1] / folder).glob("*.py")
    return sorted(path.stem for path in paths if not path.stem.startswith("_"))


def _increasing(lengths: tuple[int, ...]) -> tuple[int, ...]:
    for index, (before, after) in enumerate(pairwise(lengths), start=1):
        if after <= before:
            raise PydanticCustomError(
                "not_increasing",
                "buckets must grow from one to the next; {after} follows {before}",
                {"after": after, "before": before, "index": index},
            )
    return lengths


def _of_tvm(name: str) -> str:
    if name not in (valid := compiler_names().passes):
        context = {"what": "TVM pass", "word": name, "valid": valid}
        raise PydanticCustomError("unknown_word", "unknown {what} {word}", context)
    return name


_Patch = Annotated[Name, AfterValidator(_module_of("model/patches", "patch"))]
_Pass = Annotated[Name, AfterValidator(_module_of("compiler/passes", "pass"))]
PatchList = Annotated[tuple[_Patch, ...], AfterValidator(refuse_duplicates)]
PassList = Annotated[tuple[_Pass, ...], AfterValidator(refuse_duplicates)]
TvmPasses = Annotated[
    tuple[Annotated[TvmPass, AfterValidator(_of_tvm)], ...], AfterValidator(refuse_duplicates)
]
TvmConfig = Annotated[
    dict[str, bool | int | float | str], AfterValidator(lambda options: dict(sorted(options.items())))
]
RecipeSets = Annotated[tuple[RecipeSet, ...], AfterValidator(refuse_duplicates)]


class ExtendableSpec(Spec):
    """A recipe that may be written as a difference; `extends` is resolved before validation."""

    extends: Extended | tuple[Extended, ...] | None = Field(
        default=None,
        description="A recipe, or several, that this one is written over: what it does not say itself is "
        "theirs, the last one's first; all but `sets`. They are beside this one or in `recipes/`.",
    )


class Runtime(Spec):
    """Runtimes that a bundle contains besides the TVM runtime."""

    c: bool = Field(
        default=False,
        description="`true`: libkokoro and its program `speak`, compiled for the target, and what they need.",
    )


class Resources(Spec):
    """Resources of the build machine that one compile takes."""

    memory_gb: float = Field(
        default=1.5,
        gt=0,
        le=4096,
        description="Memory that one compile takes, GB (the decoder of Kokoro-82M for a CPU takes 0.7, and "
        "0.1 for each kernel it generates at a time). With `-n`, as many compiles run at the same time as "
        "fit into the machine's memory.",
    )
    cpus: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Cores that one compile takes, and kernels it generates at a time. null: all cores.",
    )


if TYPE_CHECKING:
    Target = TargetSpec
else:
    _specs = tuple(target_kind(name).spec for name in kinds())
    # A union discriminated by `kind`, as checkpoint.Source is; pydantic has none of one member.
    Target = _specs[0] if len(_specs) == 1 else Annotated[Union[_specs], Field(discriminator="kind")]  # noqa: UP007


class Buckets(Spec):
    """The largest lengths compiled for, per axis; an input takes the smallest that fits."""

    tokens: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_TOKENS)], ...],
        Field(min_length=1),
        AfterValidator(_increasing),
    ] = Field(description="Largest lengths of the text side, in tokens: phonemes and one token at each end.")
    frames: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_FRAMES)], ...],
        Field(min_length=1),
        AfterValidator(_increasing),
    ] = Field(description="Largest lengths of the audio side, in frames, 40 a second.")


class ComponentSpec(Spec):
    """A separately compiled part of the model."""

    axis: Axis = Field(
        description="The axis of the component's length: `frames` for `f0n` and `decoder`, `tokens` for "
        "`bert`, `duration` and `text_encoder`."
    )
    patches: PatchList = Field(default=(), description="Patches of the component, in order.")


class LanguageSpec(Spec):
    """A language that a model speaks."""

    name: str = Field(min_length=1, max_length=60, description="Its name, for people.")
    espeak: EspeakName | None = Field(
        default=None,
        description="espeak-ng's name of it, by which its texts become phonemes; null: those that kokoro-tvm "
        "reads itself, by their letters (docs/text.md).",
    )


Languages = Annotated[dict[LanguageCode, LanguageSpec], Field(min_length=1)]


class PassContext(Spec):
    """Options of TVM's PassContext around the passes."""

    opt_level: int = Field(default=3, ge=0, le=4, description="TVM's optimisation level.")
    disabled_passes: TvmPasses = Field(default=(), description="TVM passes to leave out, by TVM's names.")
    config: TvmConfig = Field(
        default_factory=dict,
        description="Options of TVM's PassContext. Each is true, false, a number or text.",
    )


class UtteranceSpec(Spec):
    """An utterance on which artifacts are compared with the reference."""

    name: Name = Field(description="Name in reports. Names must differ.")
    phonemes: str = Field(
        min_length=1, max_length=MAX_TOKENS - 2, description="The phonemes to speak, in misaki's alphabet."
    )
    text: str = Field(default="", description="The sentence in letters, for the report.")
    voice: VoiceName = Field(description="The voice.")
    speed: float = Field(default=1.0, gt=0.0, le=10.0, description="Speed; 2 is twice as fast.")
    seed: int = Field(
        default=0, ge=0, le=2**64 - 1, description="Seed of the noise, the same for both sides."
    )
    piece: int = Field(
        default=0,
        ge=0,
        le=2**32 - 1,
        description="Which piece of a text it has the noise of; 0 is the first.",
    )


class Components(Spec):
    """The five components."""

    key_word: ClassVar[str] = "component"

    bert: ComponentSpec = Field(description="Text to context.")
    duration: ComponentSpec = Field(description="Context and style to frames a token.")
    text_encoder: ComponentSpec = Field(description="Text to the decoder's features.")
    f0n: ComponentSpec = Field(description="Pitch and energy.")
    decoder: ComponentSpec = Field(description="Everything to audio.")

    @model_validator(mode="after")
    def _axes_are_the_models(self) -> Components:
        for name, axis in COMPONENT_AXES.items():
            component: ComponentSpec = getattr(self, name)
            if component.axis != axis:
                raise PydanticCustomError(
                    "wrong_axis",
                    "the length of {name} is counted in {axis}",
                    {"name": name, "axis": axis, "path": (name, "axis")},
                )
        return self


Bits = Annotated[int, Field(ge=8, le=20)]


class PatchOverrides(Spec):
    """Patch lists that replace the model's, per component."""

    key_word: ClassVar[str] = "component"

    bert: PatchList | None = Field(
        default=None, description="Patches of one component, in place of the model's list."
    )
    duration: PatchList | None = Field(default=None, description="Patches of duration.")
    text_encoder: PatchList | None = Field(default=None, description="Patches of text_encoder.")
    f0n: PatchList | None = Field(default=None, description="Patches of f0n.")
    decoder: PatchList | None = Field(default=None, description="Patches of decoder.")

    def by_component(self) -> dict[str, Any]:
        """Return the patches of every component that has a list, an empty one too."""
        return {name: patches for name in COMPONENT_AXES if (patches := getattr(self, name)) is not None}
