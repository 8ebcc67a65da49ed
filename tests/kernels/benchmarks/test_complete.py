from __future__ import annotations

import re
from pathlib import Path

from kokoro_tvm.kernels.base.semantic import registry


def test_every_kernel_has_a_benchmark() -> None:
    files = Path(__file__).parent.glob("test_*.py")
    measured = {name for path in files for name in re.findall(r'\bkernel\(\s*"(\w+)"', path.read_text())}
    assert measured == set(registry())
