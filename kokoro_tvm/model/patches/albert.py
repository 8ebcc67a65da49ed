"""Patch of ALBERT without masks, buffers and output classes: embeddings, then the shared layer repeatedly."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import method_patch


def _forward(self: nn.Module, tokens: Tensor, length: Tensor | None = None) -> Tensor:
    """Return the last hidden states (1, T, C) of tokens int64 (1, T); the stock method also takes a mask.

    Raises BuildError for another activation than gelu_new.
    """
    config = self.config
    if config.hidden_act != "gelu_new":
        raise BuildError(f"patch albert supports the activation gelu_new, not {config.hidden_act}")
    x = _embed(self.embeddings, tokens, length)
    encoder = self.encoder
    x = _project(encoder.embedding_hidden_mapping_in, x, length)
    for index in range(config.num_hidden_layers):
        group = encoder.albert_layer_groups[index * config.num_hidden_groups // config.num_hidden_layers]
        for layer in group.albert_layers:
            x = _apply_layer(layer, x, length)
    return x


def _embed(embeddings: nn.Module, tokens: Tensor, length: Tensor | None) -> Tensor:
    """Add the embeddings of words, positions and the single token type, and normalize: (1, T, E)."""
    # The stock module reads positions and types from buffers, which have no values on the meta device.
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    x = ops.embedding(embeddings.word_embeddings.weight, tokens)
    x = x + embeddings.token_type_embeddings.weight[0]
    x = x + ops.embedding(embeddings.position_embeddings.weight, positions.unsqueeze(0))
    return _normalize(embeddings.LayerNorm, x, length)


def _apply_layer(layer: nn.Module, x: Tensor, length: Tensor | None) -> Tensor:
    """Compute self-attention, then the feed-forward pair, each with its residual and layer norm."""
    attention = layer.attention
    y = ops.attention(
        _project(attention.query, x, length),
        _project(attention.key, x, length),
        _project(attention.value, x, length),
        length,
        heads=attention.num_attention_heads,
    )
    x = _normalize(attention.LayerNorm, _project(attention.dense, y, length, x), length)
    y = ops.gelu(_project(layer.ffn, x, length))
    return _normalize(layer.full_layer_layer_norm, _project(layer.ffn_output, y, length, x), length)


def _project(linear: nn.Linear, x: Tensor, length: Tensor | None, residual: Tensor | None = None) -> Tensor:
    """Apply a linear layer to every step of x (1, T, C), and add a residual."""
    return ops.conv1d(x, linear.weight, linear.bias, residual=residual, length=length)


def _normalize(norm: nn.LayerNorm, x: Tensor, length: Tensor | None) -> Tensor:
    """Apply a layer norm over the channels of x (1, T, C)."""
    return ops.layer_norm(x, norm.weight, norm.bias, length, eps=norm.eps)


PATCH = method_patch("albert", {"kokoro.modules.CustomAlbert.forward": _forward})
