"""Patches: scoped, named replacements of pieces of the stock model; one file each.

A patch rewrites a stock module in terms of `kokoro_tvm.ops`, so that `torch.export` yields a small graph of
them. Only the patches that a recipe lists are imported. Conventions all of them share:

* activations have time before channels, (1, T, C), as kernels read them;
* every forward takes `length`, int64 (1,), as its last argument: how many steps of its own axis are valid.
  None means all. What stands beyond, in inputs and in results, is undefined;
* `device` of new tensors is the device of the inputs: "meta" while exporting.
"""

from __future__ import annotations

from kokoro_tvm.patches.base.patch import Patch
from kokoro_tvm.patches.base.registry import applied, available, get, source

__all__ = ["Patch", "applied", "available", "get", "source"]
