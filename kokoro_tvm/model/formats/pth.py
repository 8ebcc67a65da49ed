"""Weights of a PyTorch checkpoint; its code is not run."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path

import torch

from kokoro_tvm.common.errors import BuildError

# What torch raises for a damaged archive or pickle.
_DAMAGE = (
    *(pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, TypeError),
    *(LookupError, AttributeError, ArithmeticError, AssertionError),
)


def read(path: Path, expected: Mapping[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Read Kokoro's layout (a state dict per submodule, keys with the prefix `module.`) or a flat state dict.

    Raises BuildError if the file is neither, or has other values than tensors.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except _DAMAGE as error:
        first_line = str(error).partition("\n")[0]
        raise BuildError(
            f"{path} cannot be loaded as a PyTorch checkpoint (weights only): {first_line}"
        ) from error
    if not isinstance(content, dict):
        raise BuildError(f"{path}: expected a dictionary of tensors, got {type(content).__name__}")
    flat: dict[str, torch.Tensor] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{str(key).removeprefix('module.')}": part for key, part in value.items()})
        else:
            flat[name] = value
    for name, value in flat.items():
        if not isinstance(value, torch.Tensor):
            raise BuildError(f"{path}: expected a tensor for {name!r}, got {type(value).__name__}")
    return flat
