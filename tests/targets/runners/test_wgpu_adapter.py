"""The Vulkan adapter of wgpu."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import wgpu
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.targets.runners.wgpu import adapter

wgpu.gpu.enumerate_adapters_sync = lambda: []
for _ in range(2):
    try:
        adapter()
    except BuildError as error:
        print(str(error).partition(":")[0])
"""


@pytest.mark.slow("needs wgpu, a package of test-slow")
def test_adapter_names_the_missing_driver_at_every_call() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["no Vulkan driver to run WebGPU kernels with"] * 2
