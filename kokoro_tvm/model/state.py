"""Conversion of a file's state dict to the keys and shapes of the stock model."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch

from kokoro_tvm.common.errors import BuildError

# Tensors that checkpoints may leave out, all or none of a group, because inference does not read them or
# reads a constant: the affine part of AdaIN's instance norm (added to the stock classes after training),
# ALBERT's pooler.
OPTIONAL = (
    re.compile(r"(\.|^)(norm\d?|adain\d\.\d+)\.norm\.(weight|bias)$"),
    re.compile(r"^bert\.pooler\.(weight|bias)$"),
)
# Buffers that older versions of transformers saved along with the weights.
SAVED_BUFFERS = {"bert.embeddings.position_ids", "bert.embeddings.token_type_ids"}


def complete_state(
    state: Mapping[str, torch.Tensor], expected: Mapping[str, tuple[int, ...]], where: str
) -> dict[str, torch.Tensor]:
    """Return a state with the expected keys in their order, float32, contiguous.

    Optional tensors that are missing are filled in: AdaIN's affine part with 1 and 0, the
    unused pooler with 0.

    Args:
        state: Tensors of a file by stock key.
        expected: Shape of every tensor of the stock model.
        where: Name of the file, for errors.

    Raises:
        BuildError: A tensor is missing or unknown, has a wrong shape, or a value that is not finite.
    """
    state = {key: value for key, value in state.items() if key not in SAVED_BUFFERS}
    for pattern in OPTIONAL:
        group = [key for key in expected if pattern.search(key)]
        if not any(key in state for key in group):
            for key in group:
                fill = 1.0 if pattern is OPTIONAL[0] and key.endswith("weight") else 0.0
                state[key] = torch.full(expected[key], fill)
    missing = [key for key in expected if key not in state]
    extra = [key for key in state if key not in expected]
    if missing or extra:
        raise BuildError(
            f"{where}: expected the {len(expected)} tensors of the stock model, got "
            f"{len(state) - len(extra)} of them{_names('; missing', missing)}{_names('; not known', extra)}"
        )
    for key, shape in expected.items():
        if tuple(state[key].shape) != shape:
            raise BuildError(
                f"{where}: tensor {key!r} should have shape {shape}, got {tuple(state[key].shape)}"
            )
        if not torch.isfinite(state[key]).all():
            raise BuildError(f"{where}: tensor {key!r} should be finite, got NaN or infinity in it")
    return {key: state[key].detach().to(torch.float32).contiguous() for key in expected}


def _names(what: str, names: list[str]) -> str:
    """Return `WHAT: NAMES` for a message, at most five names; "" if there are none."""
    if not names:
        return ""
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{what}: {shown}"
