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
        description="Sources of the English text front end. null: the bundle has none, and English is"
        " read by an installed package.",
    )
    languages: Languages | None = Field(
        default=None,
        description="Languages by the first letter of their voices' names. A voice whose name begins with no "
        "such letter speaks the first language. null: the nine languages of Kokoro-82M.",
    )
    components: Components = Field(description="The five components and their patches.")
    passes: Annotated[PassList, Field(min_length=1)] = Field(description="Compiler passes, in order.")
    pass_context: PassContext = Field(
        default_factory=PassContext, description="Options of TVM's PassContext."
    )
    gates: Gates = Field(description="Limits that every artifact must meet, or the name of a set of gates.")
    gate_sets: dict[Name, Gates] = Field(
        default_factory=dict,
        description="Sets of gates by name. `gates: NAME`, here and in target recipes, takes one.",
    )
    utterances: Annotated[tuple[UtteranceSpec, ...], Field(min_length=1), AfterValidator(_check_names)] = (
        Field(description="Test utterances, on which artifacts are compared with the reference.")
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
    """Write the schema of a matrix into a JSON Schema: `name`, `exclude`, and choices by field path."""
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
        description="Choices for fields, by path (`target.mcpu`): a list, or a mapping of labels to "
        "choices. Every combination is a recipe: its choices are merged over the rest of "
        "the file. `name` is the template of the recipes' names, by default the labels "
        "joined by `-`. `exclude` lists combinations to leave out.",
        json_schema_extra=_describe_axes,
    )

    model: Name = Field(description="Name of the model recipe, a file beside this one or in `recipes/`.")
    target: Target = Field(description="Where the code runs.")
    precision: Precision = Field(
        default="float32",
        description="Precision of the compiled code. `bfloat16`: the decoder's convolutions multiply "
        "operands rounded to bfloat16 and sum in float32; phase, statistics and recurrences stay float32. "
        "The CPU must have `avx512bf16`. `float16`: memory holds the weights of these convolutions as "
        "float16, on GPUs also their results; kernels compute in float32. A CPU must have `f16c` or `neon`.",
    )
    length: Length = Field(
        default="exact",
        description="`exact`: any length up to the bucket, without padding. `masked`: static shapes "
        "and a valid length; values behind it have no effect. `padded`: static shapes, "
        "padding is treated as data; only for debugging.",
    )
    buckets: Buckets = Field(description="Lengths to compile for.")
    patches: PatchOverrides | None = Field(
        default=None, description="Patches that replace the model's, by component."
    )
    passes: Annotated[PassList, Field(min_length=1)] | None = Field(
        default=None, description="Compiler passes that replace the model's list."
    )
    pass_context: PassContext | None = Field(
        default=None, description="Options that replace the model's; each is replaced as a whole."
    )
    gates: Gates | None = Field(
        default=None,
        description="Limits that replace the model's one by one, or the name of one of the model's "
        "sets of gates.",
    )
    utterances: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(refuse_duplicates)] | None = (
        Field(
            default=None,
            description="Names of the utterances to run the gates on, to save time on emulated targets. "
            "null: all utterances.",
        )
    )
    timeout_s: int = Field(
        default=DEFAULT_TIMEOUT_S,
        ge=1,
        le=86_400,
        description="Timeout for the compilation of one artifact, in seconds.",
    )
    runtime: Runtime = Field(default=Runtime(), description="Runtimes in the bundle besides Python's.")
    weight_bits: dict[str, Bits] = Field(
        default={},
        description="Bits (8 to 20) to quantize weights to, by the beginning of their names in the "
        "checkpoint, such as `decoder.encode`; the longest match counts. Each output channel has a scale. "
        "Weights are converted to float32 when they are loaded, so the code is the same, and gates judge the "
        "rounded weights. Biases and all other weights are stored as they are.",
    )
    resources: Resources = Field(
        default=Resources(), description="Memory and cores that one compilation takes."
    )
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
