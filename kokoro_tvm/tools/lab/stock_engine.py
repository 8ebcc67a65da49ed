"""Run single components of the stock model on any inputs: the truth for lengths that no utterance has."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_tvm.validation.reference.reference import INPUTS, OUTPUTS
from kokoro_tvm.validation.reference.stock import SourceNoise, stock_model, use_model_dtype

Array = NDArray[Any]
_UNLIMITED = 1 << 30


class StockEngine:
    """Component engine over the stock model, in the regime pt.float64 or pt.dynamic."""

    # It calls the submodules as `KModel.forward_with_tokens` does; a test compares the two.
    policy = "exact"

    def __init__(self, config: Mapping[str, Any], state: Mapping[str, torch.Tensor], regime: str) -> None:
        self._model: Any = stock_model(config, state, regime)
        self._dtype = next(self._model.parameters()).dtype

    def buckets(self, component: str) -> tuple[int, ...]:
        """Return one bucket that every length fits."""
        return (_UNLIMITED,)

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Return the outputs in the regime's dtype, for inputs of any real dtype and their own length.

        `bucket` and `length` are those of other engines, and not used.
        """
        arguments = [to_tensor(inputs[name], self._dtype) for name in INPUTS[component] if name != "noise"]
        with ExitStack() as scope:
            scope.enter_context(torch.no_grad())
            scope.enter_context(use_model_dtype(self._model))
            # PyTorch refuses to normalise one step over time, because training would learn nothing from it.
            # The operation itself is defined: the mean is the step, the variance is zero.
            scope.enter_context(patch.object(torch.nn.functional, "_verify_spatial_size"))
            if component == "decoder":
                noise = inputs["noise"][0]
                scope.enter_context(SourceNoise(lambda samples: noise[:samples], self._model.decoder))
            outputs = getattr(self, f"_{component}")(*arguments)
        return {
            name: np.ascontiguousarray(value.numpy())
            for name, value in zip(OUTPUTS[component], outputs, strict=True)
        }

    def _bert(self, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute d_en."""
        hidden = self._model.bert(tokens, attention_mask=torch.ones_like(tokens, dtype=torch.int32))
        return (self._model.bert_encoder(hidden).transpose(-1, -2),)

    def _duration(self, d_en: torch.Tensor, style: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute duration and d."""
        predictor = self._model.predictor
        d = predictor.text_encoder(d_en, style, *_unpadded(d_en.shape[-1]))
        logits = predictor.duration_proj(predictor.lstm(d)[0])
        return torch.sigmoid(logits).sum(dim=-1), d.transpose(-1, -2)

    def _text_encoder(self, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute t_en."""
        return (self._model.text_encoder(tokens, *_unpadded(tokens.shape[-1])),)

    def _f0n(self, en: torch.Tensor, style: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute f0 and n."""
        f0, n = self._model.predictor.F0Ntrain(en, style)
        return f0, n

    def _decoder(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute the audio."""
        return (self._model.decoder(*inputs).reshape(1, -1),)


def _unpadded(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return lengths and mask of one sequence without padding."""
    return torch.tensor([tokens]), torch.zeros(1, tokens, dtype=torch.bool)


def to_tensor(array: Array, dtype: torch.dtype) -> torch.Tensor:
    """Convert an array to a tensor; floats to `dtype`."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
