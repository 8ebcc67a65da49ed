"""The two kinds of recipe file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.spec import Name, refuse_duplicates
from kokoro_tvm.recipe.checkpoint import Checkpoint
from kokoro_tvm.recipe.front_end import FrontEndSpec
from kokoro_tvm.recipe.gates import Gates
from kokoro_tvm.recipe.parts import (
    Bits,
    Buckets,
    Components,
    ExtendableSpec,
    Languages,
    Length,
    PassContext,
    PassList,
    PatchOverrides,
    Precision,
    RecipeSets,
    Resources,
    Runtime,
    Target,
    UtteranceSpec,
)
from kokoro_tvm.targets import target_kind, tools_for

__all__ = ["DEFAULT_TIMEOUT_S", "ModelFile", "TargetFile", "detect_kind"]

DEFAULT_TIMEOUT_S = 900


def _check_names(utterances: tuple[UtteranceSpec, ...]) -> tuple[UtteranceSpec, ...]:
    """Raise PydanticCustomError if two utterances have one name."""
    for index, utterance in enumerate(utterances):
        if any(utterance.name == before.name for before in utterances[:index]):
            raise PydanticCustomError(
                "listed_twice",
                "`{word}` names two utterances; each needs a name of its own",
                {"word": utterance.name, "path": (index, "name")},
            )
    return utterances


class ModelFile(ExtendableSpec):
    """A model: weights, components with their patches, passes, gates and the utterances it is tested on."""

    checkpoint: Checkpoint = Field(description="Where weights and voices come from.")
    front_end: FrontEndSpec | None = Field(
        default=None,
        description="Where the text front end of English comes from; null: the bundle has none, and English "
        "goes by what is installed beside it.",
    )
    languages: Languages | None = Field(
        default=None,
        description="Languages that it speaks, by the letter that names of voices begin with; voices whose "
        "names say none speak the first. null: the nine of Kokoro-82M.",
    )
    components: Components = Field(description="The five components and their patches.")
    passes: Annotated[PassList, Field(min_length=1)] = Field(description="Compiler passes, in order.")
    pass_context: PassContext = Field(default_factory=PassContext, description="Options around the passes.")
    gates: Gates = Field(
        description="Numbers every artifact must meet, or the name of a set of them.",
    )
    gate_sets: dict[Name, Gates] = Field(
        default_factory=dict,
        description="Gates by name, for `gates` here and in target recipes: `gates: NAME`.",
    )
    utterances: Annotated[tuple[UtteranceSpec, ...], Field(min_length=1), AfterValidator(_check_names)] = (
        Field(
            description="Utterances that artifacts are compared on.",
        )
    )

    @model_validator(mode="after")
    def _check_voices(self) -> ModelFile:
        """Raise PydanticCustomError for an utterance of a voice that the model lacks."""
        # Utterances may be inherited from a model with other voices.
        names = self.checkpoint.voices.all_names
        for index, utterance in enumerate(self.utterances):
            if utterance.voice not in names:
                raise PydanticCustomError(
                    "unknown_voice",
                    "the model has no voice `{voice}`; it has {known}",
                    {
                        "voice": utterance.voice,
                        "known": ", ".join(names[:8]) + (", …" if len(names) > 8 else ""),
                        "path": ("utterances", index, "voice"),
                    },
                )
        return self

    @model_validator(mode="after")
    def _check_phoneme_gates(self) -> ModelFile:
        """Raise PydanticCustomError for a gate of phonemes without a front end."""
        # A gate that judges nothing would look like one that was met.
        limits = self.gates.phonemes.model_dump()
        judged = [name for name, limit in limits.items() if limit is not None]
        if self.front_end is None and judged:
            raise PydanticCustomError(
                "gate_without_front_end",
                "a gate of the phonemes needs `front_end`; give one, or leave the gate out",
                {"path": ("gates", "phonemes", judged[0])},
            )
        return self


def _describe_axes(schema: dict[str, Any]) -> None:
    """Describe the keys of a matrix in a JSON Schema: paths of fields."""
    scalar = {"type": ["string", "number", "boolean", "null"]}
    labelled = {"type": "object", "minProperties": 1}
    rules = {"type": "array", "items": {"type": "object", "additionalProperties": scalar, "minProperties": 1}}
    names = [name for name in TargetFile.model_fields if name not in ("extends", "matrix")]
    schema |= {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "exclude": rules,
            **{name: {"anyOf": [{"type": "array", "minItems": 1}, labelled]} for name in names},
        },
        "additionalProperties": {"anyOf": [{"type": "array", "items": scalar, "minItems": 1}, labelled]},
    }
    del schema["anyOf"]


class TargetFile(ExtendableSpec):
    """What to build of a model, for which machine; it may override the model's recipe."""

    matrix: dict[str, Any] | None = Field(
        default=None,
        description="Fields, by paths such as `target.mcpu`, with a list of choices or a mapping of labels "
        "to choices: every combination is a recipe, its choices over the rest of the file. `name` is a "
        "template of their names, by default the labels with `-` between them; `exclude` lists combinations "
        "to leave out.",
        json_schema_extra=_describe_axes,
    )

    model: Name = Field(description="Name of the model recipe, a file beside this one or in `recipes/`.")
    target: Target = Field(description="Where the code runs.")
    precision: Precision = Field(
        default="float32",
        description="Arithmetic of the compiled code. `bfloat16`: convolutions of the decoder multiply "
        "operands rounded to bfloat16 and sum in float32; phase, statistics and recurrences stay "
        "float32. The CPU must have `avx512bf16`. `float16`: memory holds weights of these convolutions, "
        "and on GPUs what they hand to one another, as float16; kernels compute in float32. A CPU must have "
        "`f16c` or `neon`.",
    )
    length: Length = Field(
        default="exact",
        description="`exact`: any length up to the bucket, without padding. `masked`: static shape and a "
        "valid length; values behind it change nothing. `padded`: static shape, padding is treated as "
        "data; only to debug a compile.",
    )
    buckets: Buckets = Field(description="Largest lengths compiled for.")
    patches: PatchOverrides | None = Field(default=None, description="Patch lists in place of the model's.")
    passes: Annotated[PassList, Field(min_length=1)] | None = Field(
        default=None,
        description="Compiler passes in place of the model's list.",
    )
    pass_context: PassContext | None = Field(
        default=None,
        description="Options in place of the model's, each as a whole.",
    )
    gates: Gates | None = Field(
        default=None,
        description="Numbers in place of the model's, one by one, or the name of a set of the model's.",
    )
    utterances: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(refuse_duplicates)] | None = (
        Field(
            default=None,
            description="Names of the model's utterances that the gates are run on, for targets that are "
            "emulated; null: all.",
        )
    )
    timeout_s: int = Field(
        default=DEFAULT_TIMEOUT_S,
        ge=1,
        le=86_400,
        description="Largest time for the compile of one artifact, s.",
    )
    runtime: Runtime = Field(default=Runtime(), description="What a bundle is spoken with, besides Python.")
    weight_bits: dict[str, Bits] = Field(
        default={},
        description="How many bits of each weight a bundle stores, by what its name in the checkpoint begins "
        "with, such as `decoder.encode`; the longest counts. A weight is a whole number then, times a scale "
        "for each output channel, and is made float32 when it is loaded: the code is the same, and the gates "
        "judge what is rounded. Biases, and weights without an entry, stay as they are.",
    )
    resources: Resources = Field(default=Resources(), description="Memory and cores that one compile takes.")
    sets: RecipeSets = Field(
        default=("nightly",), description="Sets that build the recipe: `doit ci`, `doit nightly`."
    )

    @model_validator(mode="after")
    def _check_precision(self) -> TargetFile:
        """Raise PydanticCustomError for a precision that the kind of target cannot compute in."""
        kind = self.target.kind
        precisions = target_kind(kind).precisions
        if self.precision not in precisions:
            raise PydanticCustomError(
                "precision_of_kind",
                "a target of kind {kind} computes in {known}",
                {"path": ("precision",), "kind": kind, "known": " or ".join(precisions)},
            )
        return self

    @model_validator(mode="after")
    def _check_c_platform(self) -> TargetFile:
        """Raise PydanticCustomError for `runtime.c` on a platform without libkokoro."""
        kind = target_kind(self.target.kind)
        if self.runtime.c and tools_for(self.target).c_compiler() is None:
            raise PydanticCustomError(
                "c_of_target",
                "libkokoro is for Linux on x86-64, 64-bit ARM and RISC-V, for macOS on 64-bit ARM and for "
                "Windows on x86-64, not for {target}; leave `c` out",
                {
                    "path": ("runtime", "c"),
                    "target": "GPUs" if kind.has_kernels else str(kind.platform(self.target)),
                },
            )
        return self

    @model_validator(mode="after")
    def _check_c_weights(self) -> TargetFile:
        """Raise PydanticCustomError for `runtime.c` with quantized weights."""
        if self.runtime.c and self.weight_bits:
            raise PydanticCustomError(
                "c_with_weight_bits",
                "libkokoro maps weights as they are stored, so with `runtime.c` they are whole",
                {"path": ("weight_bits",)},
            )
        return self


def detect_kind(data: dict[str, Any]) -> type[ModelFile] | type[TargetFile]:
    """Return the kind of recipe that the keys belong to, even if some have typos."""
    model = len(set(ModelFile.model_fields) & set(data))
    target = len(set(TargetFile.model_fields) & set(data))
    if "checkpoint" in data and "target" not in data:
        return ModelFile
    return ModelFile if model > target else TargetFile
