"""How the front end's file is laid out: what the one who writes it and the one who reads it agree on."""

from __future__ import annotations

__all__ = ["BETWEEN", "FORMAT", "HOMOGRAPHS", "LAYERS", "WITHIN"]

FORMAT = 5
"""The version of the layout, in the tensor `format`."""
LAYERS = 4
"""Layers of the tagger over a word and its neighbours."""
HOMOGRAPHS = ("mean", "deviation", "scales", "biases", "weights")
"""Tensors of the model of words of two readings."""
BETWEEN, WITHIN = "\x1e", "\x1f"
"""In a dictionary's value, what stands between its parts, and within one."""
