"""The stock model's components one by one, on any inputs: the yardstick where there is no whole utterance."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray

from kokoro_tvm.validation.reference.reference import INPUTS, OUTPUTS
from kokoro_tvm.validation.reference.stock import SourceNoise, computing, stock_model

__all__ = ["StockEngine"]

Array = NDArray[Any]
_ANY = 1 << 30


class StockEngine:
    """pt.float64 or pt.dynamic. Its results are those of `KModel.forward_with_tokens`, which calls the same
    submodules with the same arguments; a test holds the two together."""

    policy = "exact"

    def __init__(self, config: Mapping[str, Any], state: Mapping[str, torch.Tensor], regime: str) -> None:
        self.regime = regime
        self._model: Any = stock_model(config, state, regime)
        self._dtype = next(self._model.parameters()).dtype

    def buckets(self, component: str) -> tuple[int, ...]:
        return (_ANY,)

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Outputs in the regime's dtype, for inputs of any real dtype."""
        arguments = [self._tensor(inputs[name]) for name in INPUTS[component] if name != "noise"]
        with ExitStack() as scope:
            scope.enter_context(torch.no_grad())
            scope.enter_context(computing(self._model))
            # One step over time can be normalised: it is its own mean, and its variance is zero. PyTorch
            # refuses it because nothing could be learnt from it; the operation itself does not.
            scope.enter_context(patch.object(torch.nn.functional, "_verify_spatial_size"))
            if component == "decoder":
                noise = inputs["noise"][0]
                scope.enter_context(SourceNoise(lambda samples: noise[:samples], self._model.decoder))
            outputs = getattr(self, f"_{component}")(*arguments)
        return {
            name: np.ascontiguousarray(value.numpy())
            for name, value in zip(OUTPUTS[component], outputs, strict=True)
        }

    def _tensor(self, array: Array) -> torch.Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.to(self._dtype) if tensor.is_floating_point() else tensor

    def _bert(self, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = self._model.bert(tokens, attention_mask=torch.ones_like(tokens, dtype=torch.int32))
        return (self._model.bert_encoder(hidden).transpose(-1, -2),)

    def _duration(self, d_en: torch.Tensor, style: torch.Tensor) -> tuple[torch.Tensor, ...]:
        predictor = self._model.predictor
        d = predictor.text_encoder(d_en, style, *_whole(d_en.shape[-1]))
        logits = predictor.duration_proj(predictor.lstm(d)[0])
        return torch.sigmoid(logits).sum(dim=-1), d.transpose(-1, -2)

    def _text_encoder(self, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (self._model.text_encoder(tokens, *_whole(tokens.shape[-1])),)

    def _f0n(self, en: torch.Tensor, style: torch.Tensor) -> tuple[torch.Tensor, ...]:
        f0, n = self._model.predictor.F0Ntrain(en, style)
        return f0, n

    def _decoder(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (self._model.decoder(*inputs).reshape(1, -1),)


def _whole(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Lengths and mask of one sequence without padding."""
    return torch.tensor([tokens]), torch.zeros(1, tokens, dtype=torch.bool)
