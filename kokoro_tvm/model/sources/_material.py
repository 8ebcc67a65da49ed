"""What every source yields, and how one that does not answer says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from kokoro_tvm.errors import BuildError
from kokoro_tvm.recipe.checkpoint import FileSource, HuggingFaceSource, NpmSource, Source

__all__ = ["Log", "Material", "SourceUnavailableError", "describe"]

Log = Callable[[str], None]


class SourceUnavailableError(BuildError):
    """A source does not answer (no network, no npm, no such file): the next one may be tried."""


@dataclass(frozen=True)
class Material:
    """A verified checkpoint in memory.

    state: the stock state dict, complete, float32. voices: name to float32 (510, 256). config: the bytes of
    the config.json the state belongs to. sha256: of the file the weights came from (of the values, where
    there is none).
    """

    state: dict[str, torch.Tensor]
    voices: dict[str, torch.Tensor]
    config: bytes
    sha256: str
    synthetic: bool = False


def describe(source: Source) -> str:
    """A source in one short phrase, as it stands in errors, logs and the checkpoint's metadata."""
    if isinstance(source, HuggingFaceSource):
        return f"huggingface {source.repo}@{source.revision[:12]} {source.checkpoint.file}"
    if isinstance(source, NpmSource):
        return "npm " + " ".join(f"{package.name}@{package.version}" for package in source.packages)
    if isinstance(source, FileSource):
        return f"file {source.path}"
    return f"synthetic {source.size} seed {source.seed}"
