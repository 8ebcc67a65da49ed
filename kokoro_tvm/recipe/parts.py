"""The parts of a recipe: components, target, buckets, utterances, pass context."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Union

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
    choice_of,
    refuse_duplicates,
)
from kokoro_tvm.native.toolchains.compiler_names import compiler_names
from kokoro_tvm.targets import kinds, target_kind

Length = Literal["exact", "masked", "padded"]
Precision = Literal["float32", "bfloat16", "float16"]
RecipeSet = Literal["ci", "nightly"]

MAX_TOKENS = 512
MAX_FRAMES = 5120


@cache
def list_modules(folder: str) -> list[str]:
    """Return the names of the modules of a folder such as `model/patches`, without importing one."""
    paths = (Path(__file__).parents[1] / folder).glob("*.py")
    return sorted(path.stem for path in paths if not path.stem.startswith("_"))


def _check_increasing(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return bucket lengths. Raises PydanticCustomError unless each exceeds the one before."""
    for index, (before, after) in enumerate(pairwise(lengths), start=1):
        if after <= before:
            raise PydanticCustomError(
                "not_increasing",
                "buckets must grow from one to the next; {after} follows {before}",
                {"after": after, "before": before, "index": index},
            )
    return lengths


_Patch = Annotated[Name, choice_of("patch", partial(list_modules, "model/patches"))]
_Pass = Annotated[Name, choice_of("pass", partial(list_modules, "compiler/passes"))]
PatchList = Annotated[tuple[_Patch, ...], AfterValidator(refuse_duplicates)]
PassList = Annotated[tuple[_Pass, ...], AfterValidator(refuse_duplicates)]
TvmPasses = Annotated[
    tuple[Annotated[TvmPass, choice_of("TVM pass", lambda: compiler_names().passes)], ...],
    AfterValidator(refuse_duplicates),
]
TvmConfig = Annotated[
    dict[str, bool | int | float | str], AfterValidator(lambda options: dict(sorted(options.items())))
]
RecipeSets = Annotated[tuple[RecipeSet, ...], AfterValidator(refuse_duplicates)]


class ExtendableSpec(Spec):
    """A recipe that may be written as a difference; `extends` is resolved before validation."""

    extends: Extended | tuple[Extended, ...] | None = Field(
        default=None,
        description="Recipe, or list of recipes, to inherit from. Later ones override earlier ones, and this "
        "recipe overrides all. `sets` is not inherited. They are files beside this one or in `recipes/`.",
    )


class Runtime(Spec):
    """Runtimes that a bundle contains besides the TVM runtime."""

    c: bool = Field(
        default=False,
        description="`true`: the bundle contains libkokoro and its program `speak`, compiled for the target.",
    )


class Resources(Spec):
    """Resources of the build machine that one compile takes."""

    memory_gb: float = Field(
        default=1.5,
        gt=0,
        le=4096,
        description="Memory that one compilation takes, in GB. For a CPU, the decoder of Kokoro-82M "
        "takes 0.7, and 0.1 for each kernel generated at a time. With `-n`, as many "
        "compilations run at a time as fit into the machine's memory.",
    )
    cpus: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Cores that one compilation takes, which is also the number of kernels generated "
        "at a time. null: all cores.",
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
        AfterValidator(_check_increasing),
    ] = Field(
        description="Bucket lengths of the text side in tokens: the phonemes and one token at each end."
    )
    frames: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_FRAMES)], ...],
        Field(min_length=1),
        AfterValidator(_check_increasing),
    ] = Field(description="Bucket lengths of the audio side in frames of 1/40 s.")


class ComponentSpec(Spec):
    """A separately compiled part of the model."""

    axis: Axis = Field(
        description="Axis that the component's length is counted on: `frames` for `f0n` and "
        "`decoder`, `tokens` for `bert`, `duration` and `text_encoder`."
    )
    patches: PatchList = Field(default=(), description="Patches of the component, in order.")


class LanguageSpec(Spec):
    """A language that a model speaks."""

    name: str = Field(min_length=1, max_length=60, description="Name of the language in listings.")
    espeak: EspeakName | None = Field(
        default=None,
        description="espeak-ng's name of the language, if espeak-ng converts its texts to phonemes. "
        "null: kokoro-tvm reads it (docs/text.md).",
    )


Languages = Annotated[dict[LanguageCode, LanguageSpec], Field(min_length=1)]


class PassContext(Spec):
    """Options of TVM's PassContext around the passes."""

    opt_level: int = Field(default=3, ge=0, le=4, description="TVM's optimization level.")
    disabled_passes: TvmPasses = Field(default=(), description="Names of TVM passes to disable.")
    config: TvmConfig = Field(
        default_factory=dict,
        description="Options of TVM's PassContext by name. Values are true, false, a number or text.",
    )


class UtteranceSpec(Spec):
    """An utterance on which artifacts are compared with the reference."""

    name: Name = Field(description="Name in reports, unique among the utterances.")
    phonemes: str = Field(
        min_length=1, max_length=MAX_TOKENS - 2, description="The phonemes to speak, in misaki's alphabet."
    )
    text: str = Field(default="", description="The sentence in letters, for the report.")
    voice: VoiceName = Field(description="The voice.")
    speed: float = Field(default=1.0, gt=0.0, le=10.0, description="Speaking rate; 2 is twice as fast.")
    seed: int = Field(
        default=0, ge=0, le=2**64 - 1, description="Seed of the noise, for artifact and reference."
    )
    piece: int = Field(
        default=0,
        ge=0,
        le=2**32 - 1,
        description="Number of the piece of a text whose noise is drawn; 0 is the first.",
    )


class Components(Spec):
    """The five components."""

    key_word: ClassVar[str] = "component"

    bert: ComponentSpec = Field(description="Text features of the tokens.")
    duration: ComponentSpec = Field(description="Duration of each token, and prosody features.")
    text_encoder: ComponentSpec = Field(description="Text features for the decoder.")
    f0n: ComponentSpec = Field(description="Pitch and energy.")
    decoder: ComponentSpec = Field(description="Audio from text features, pitch and energy.")

    @model_validator(mode="after")
    def _check_axes(self) -> Components:
        """Raise PydanticCustomError for a component whose length is not counted on its own axis."""
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
        default=None, description="Patches of one component, which replace the model's list."
    )
    duration: PatchList | None = Field(default=None, description="Patches of duration.")
    text_encoder: PatchList | None = Field(default=None, description="Patches of text_encoder.")
    f0n: PatchList | None = Field(default=None, description="Patches of f0n.")
    decoder: PatchList | None = Field(default=None, description="Patches of decoder.")
