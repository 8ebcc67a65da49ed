"""The five components as modules with explicit signatures, made of the stock model's own submodules.

Parameter names are those of the stock state dict after `fold_weight_norm`. A component has no buffers and no
submodules that it does not use (BERT's pooler, the other half of the prosody predictor). It runs, and can be
exported, while its patches are applied: `with applied(names, component): component(...)`.

`kokoro_tvm.model.signatures` has shapes and units of inputs and outputs. Every forward takes `length` last,
int64 (1,) in units of the component's axis: inputs beyond it are not read, and outputs beyond it are zero.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches.base.length import mask_invalid, scale_length


def build_component(name: str, model: nn.Module) -> nn.Module:
    """Return a component that shares the submodules of a stock KModel.

    Raises BuildError if the name is unknown, or patches are applied to the model.
    """
    classes = dict(zip(COMPONENTS, (Bert, Duration, TextEncoder, F0N, Decoder), strict=True))
    if name not in classes:
        raise BuildError(f"unknown component {name!r}: there are {', '.join(COMPONENTS)}")
    component: nn.Module = classes[name](model)
    return component.eval()


class Bert(nn.Module):
    """Text features: tokens int64 (1, T) -> d_en (1, 512, T)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.bert = _copy_part(model.bert, ("embeddings", "encoder"))
        self.bert.embeddings = _copy_part(model.bert.embeddings)
        self.bert_encoder = model.bert_encoder

    def forward(self, tokens: Tensor, length: Tensor | None = None) -> tuple[Tensor, ...]:
        """Run the component."""
        x = self.bert(tokens, length)
        x = ops.conv1d(x, self.bert_encoder.weight, self.bert_encoder.bias, length=length)
        return (mask_invalid(x.transpose(1, 2), length),)


class Duration(nn.Module):
    """Durations: d_en (1, 512, T), style (1, 128) -> duration (1, T) in frames at speed 1, d (1, 640, T)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.predictor = _copy_part(model.predictor, ("text_encoder", "lstm", "duration_proj"))

    def forward(self, d_en: Tensor, style: Tensor, length: Tensor | None = None) -> tuple[Tensor, ...]:
        """Run the component."""
        d = self.predictor.text_encoder(d_en.transpose(1, 2), style, length)
        x = self.predictor.lstm(d, length)
        projection = self.predictor.duration_proj.linear_layer
        x = ops.conv1d(x, projection.weight, projection.bias, length=length)
        duration = torch.sigmoid(x).sum(dim=2)
        return mask_invalid(duration, length), mask_invalid(d.transpose(1, 2), length)


class TextEncoder(nn.Module):
    """Text encoding: tokens int64 (1, T) -> t_en (1, 512, T)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.text_encoder = model.text_encoder

    def forward(self, tokens: Tensor, length: Tensor | None = None) -> tuple[Tensor, ...]:
        """Run the component."""
        x = self.text_encoder(tokens, length)
        return (mask_invalid(x.transpose(1, 2), length),)


class F0N(nn.Module):
    """Pitch and energy: en (1, 640, F), style (1, 128) -> f0 (1, 2F) in Hz, n (1, 2F)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.predictor = _copy_part(model.predictor, ("shared", "F0", "N", "F0_proj", "N_proj"))

    def forward(self, en: Tensor, style: Tensor, length: Tensor | None = None) -> tuple[Tensor, ...]:
        """Run the component."""
        f0, n = self.predictor.F0Ntrain(en, style, length)
        return mask_invalid(f0, scale_length(length, 2)), mask_invalid(n, scale_length(length, 2))


class Decoder(nn.Module):
    """Audio: asr (1, 512, F), f0 and n (1, 2F), style (1, 128), noise (1, 600F) -> audio (1, 600F)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.decoder = model.decoder
        self.samples_per_frame = 2 * int(model.decoder.generator.m_source.l_sin_gen.upsample_scale)

    def forward(
        self, asr: Tensor, f0: Tensor, n: Tensor, style: Tensor, noise: Tensor, length: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """Run the component. Raises BuildError if f0, n or noise is not as long as asr."""
        # Checked first: export then has one symbol, without bounds from the halved rate.
        frames = asr.shape[2]
        for name, steps, per_frame in (
            ("f0", f0.shape[1], 2),
            ("n", n.shape[1], 2),
            ("noise", noise.shape[1], self.samples_per_frame),
        ):
            if steps != per_frame * frames:
                raise BuildError(f"{name} has {steps} steps where {frames} frames take {per_frame} each")
        audio = self.decoder(asr, f0, n, style, noise, length)
        return (mask_invalid(audio, scale_length(length, self.samples_per_frame)),)


def _copy_part(module: nn.Module, children: Iterable[str] | None = None) -> Any:
    """Return a copy of a module without buffers, with some of its children; parameters are shared.

    Raises BuildError if patches are applied to it.
    """
    if any(isinstance(value, MethodType) for value in module.__dict__.values()):
        raise BuildError(
            f"patches are applied to {type(module).__name__}: make the component first, then apply them"
        )
    selection = module._modules if children is None else {name: module._modules[name] for name in children}
    part = copy.copy(module)
    part.__dict__["_modules"] = dict(selection)
    part.__dict__["_buffers"] = {}
    part.__dict__["_non_persistent_buffers_set"] = set()
    return part
