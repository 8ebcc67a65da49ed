from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax


def calls(module: Any, component: str) -> list[Any]:
    """Return every call in the component's function."""
    result: list[Any] = []
    relax.analysis.post_order_visit(
        module[f"{component}_forward"],
        lambda node: result.append(node) if isinstance(node, relax.Call) else None,
    )
    return result


def operators(module: Any, component: str) -> Counter[str]:
    """Count the calls of each Relax operator."""
    return Counter(c.op.name for c in calls(module, component) if isinstance(c.op, tvm.ir.Op))
