"""How the front end's file is laid out: what the one who writes it and the one who reads it agree on."""

from __future__ import annotations

__all__ = ["FORMAT", "HOMOGRAPHS", "LAYERS"]

FORMAT = 4
"""The version of the layout, in the tensor `rules`."""
LAYERS = 4
"""Layers of the tagger over a word and its neighbours."""
HOMOGRAPHS = ("mean", "deviation", "scales", "biases", "weights")
"""Tensors of the model of words of two readings."""
