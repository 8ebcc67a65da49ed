"""The PyTorch side: where weights and voices come from, and the stock model built from them.

Nothing is imported here, so that `kokoro_tvm.model.checkpoint` and its neighbours cost only what they use.
"""

from __future__ import annotations
