"""Weights of a safetensors file with the keys of the stock state dict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from kokoro_tvm.common.errors import BuildError


def read(path: Path, expected: Mapping[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Read every tensor of a file. Raises BuildError if it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        raise BuildError(f"{path} cannot be loaded as safetensors: {error}") from error
