"""What every source provides, and how one that does not answer says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.errors import BuildError
from kokoro_tvm.recipe.checkpoint import HuggingFaceSource, NpmSource, Source

__all__ = ["Log", "Material", "SourceUnavailableError", "describe"]

Log = Callable[[str], None]


class SourceUnavailableError(BuildError):
    """A source does not answer (no network, no npm, no such file): the next one may be tried."""


@dataclass(frozen=True)
class Material:
    """Files as a source has them, not verified yet: one of weights, a folder of voices, and the configuration
    where that is not shipped."""

    weights: Path
    voices: Path
    config: Path | None = None


def describe(source: Source) -> str:
    """A source in one short phrase, for errors and logs."""
    if isinstance(source, HuggingFaceSource):
        return f"huggingface {source.repo}@{source.revision[:12]} {source.weights.file}"
    if isinstance(source, NpmSource):
        return "npm " + " ".join(f"{package.name}@{package.version}" for package in source.packages)
    if source.kind == "file":
        return f"file {source.path}"
    return f"synthetic {source.size} seed {source.seed}"
