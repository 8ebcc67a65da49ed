"""What a checkpoint's sources can yield: all that decides about the stored bytes, and nothing else.

Two sources that give the same bytes have the same yield. Where a file is from, the order of the sources and
whichever other sources a recipe lists are no part of it. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from kokoro_tvm.recipe.checkpoint import (
    Checkpoint,
    FileSource,
    HuggingFaceSource,
    NpmSource,
    Source,
    SyntheticSource,
)

__all__ = ["converters", "yield_of", "yields"]


def yields(checkpoint: Checkpoint) -> tuple[dict[str, Any], ...]:
    """The distinct yields of all sources, in the order the sources are tried."""
    found = [yield_of(checkpoint, source) for source in checkpoint.sources]
    return tuple(one for index, one in enumerate(found) if one not in found[:index])


def yield_of(checkpoint: Checkpoint, source: Source) -> dict[str, Any]:
    """What one source yields: its weights by SHA-256 and format, the voices, the configuration.

    Of a synthetic source, what it is drawn from.
    """
    config = {"config": checkpoint.config.sha256}
    if isinstance(source, SyntheticSource):
        return config | {"format": "synthetic", "size": source.size, "seed": source.seed}
    file, sha256 = _weights(source)
    voices = checkpoint.voices.model_dump(mode="json", exclude_defaults=True)
    return config | {"format": PurePosixPath(file).suffix[1:], "weights": sha256, "voices": voices}


def converters(yielded: Mapping[str, Any]) -> tuple[str, ...]:
    """The functions, "module:name", that turn what was obtained into the stored files."""
    if yielded["format"] == "synthetic":
        return "kokoro_tvm.model.synthetic:draw", "kokoro_tvm.model.checkpoint_files:write_checkpoint"
    return (
        f"kokoro_tvm.model.formats.{yielded['format']}:read",
        "kokoro_tvm.model.kokoro:expected_shapes",
        "kokoro_tvm.model.state:complete_state",
        "kokoro_tvm.model.checkpoint_files:write_checkpoint",
    )


def _weights(source: HuggingFaceSource | NpmSource | FileSource) -> tuple[str, str]:
    """Name and SHA-256 of a source's file of weights."""
    if isinstance(source, HuggingFaceSource):
        return source.weights.file, source.weights.sha256
    if isinstance(source, NpmSource):
        return "joined.onnx", source.shards.sha256
    return source.path, source.sha256
