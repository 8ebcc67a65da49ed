"""The compiler of CUDA."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import nvrtc

pytestmark = pytest.mark.slow("compiles kernels for GPUs with NVRTC")

needs_compiler = pytest.mark.skipif(nvrtc.check() is not None, reason=str(nvrtc.check()))
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
KERNEL = """
extern "C" __global__ void __launch_bounds__(64) k(float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ alignas(64) float s[64];
  int unused = 3;
  s[threadIdx.x] = x[threadIdx.x] * 0x1.71547652b82fep+0f;
  __syncthreads();
  if ((int)threadIdx.x < n) {
    y[threadIdx.x] = s[63 - threadIdx.x];
  }
}
"""
# As TVM puts before kernels with float16.
HALF = """
#include <cuda_fp16.h>
__device__ half max(half a, half b) { return __hgt(__half(a), __half(b)) ? a : b; }
extern "C" __global__ void __launch_bounds__(64) h(half* __restrict__ x, half* __restrict__ y) {
  y[threadIdx.x] = (half)((float)x[threadIdx.x] + (float)max(x[0], x[1]));
}
"""


TRACED = """
from kokoro_tvm.builder.engine import trace

trace.begin()
from kokoro_tvm.native.toolchains import nvrtc

trace.restart()
nvrtc.compile_cuda('extern "C" __global__ void k(float* x) { x[0] = 1.0f; }', "sm_90")
print(*trace.take().files)
"""


@needs_compiler
def test_headers_are_recorded_as_read() -> None:
    process = subprocess.run([sys.executable, "-c", TRACED], check=True, capture_output=True, text=True)
    folder = Path(nvrtc.__file__).with_name("nvrtc_headers")
    headers = {f"toolchains/nvrtc_headers/{path.name}" for path in folder.glob("*.h")}
    assert headers
    assert headers <= {*process.stdout.split()}


@needs_compiler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_compile_cuda_returns_code_and_resources(architecture: str) -> None:
    compiled = nvrtc.compile_cuda(KERNEL, architecture)
    assert compiled.code.startswith(b"\x7fELF")
    assert b".text.k" in compiled.code
    used = compiled.resources["k"]
    assert set(compiled.resources) == {"k"}
    assert 0 < used.registers <= 255
    assert 256 <= used.shared_bytes <= 256 + 1024  # some generations keep a kilobyte for themselves
    assert used.spilled_bytes == 0


@needs_compiler
def test_compile_cuda_returns_ptx() -> None:
    compiled = nvrtc.compile_cuda(KERNEL, "compute_90")
    assert b".target sm_90" in compiled.code
    assert b".entry k(" in compiled.code


@needs_compiler
def test_compile_cuda_converts_float16_in_hardware() -> None:
    code = nvrtc.compile_cuda(HALF, "compute_80").code
    assert b"cvt.f32.f16" in code
    assert b"cvt.rn.f16.f32" in code
    assert nvrtc.compile_cuda(HALF, "sm_80").resources["h"].shared_bytes == 0


@needs_compiler
def test_fat_binary_contains_all_architectures() -> None:
    binary, parts = nvrtc.fat_binary(KERNEL, ARCHITECTURES)
    magic, _, head, size = struct.unpack_from("<IHHQ", binary)
    assert (magic, head, size) == (0xBA55ED50, 16, len(binary) - 16)
    assert list(parts) == [*ARCHITECTURES, "compute_100"]
    assert binary == nvrtc.fat_binary(KERNEL, ARCHITECTURES)[0]


@needs_compiler
def test_compile_cuda_quotes_errors() -> None:
    with pytest.raises(BuildError) as caught:
        nvrtc.compile_cuda(KERNEL.replace("63 -", "warp_speed -"), "sm_90")
    assert re.match(r"NVRTC 13\.\d+ refuses kernels for sm_90: kernels\.cu\(8\): error: ", str(caught.value))
    assert 'identifier "warp_speed" is undefined' in str(caught.value)


@needs_compiler
def test_compile_cuda_fails_on_a_warning() -> None:
    with pytest.raises(BuildError, match="expression has no effect"):
        nvrtc.compile_cuda(KERNEL.replace("__syncthreads();", "__syncthreads(); y[0] == 1.0f;"), "sm_90")


@needs_compiler
def test_compile_cuda_names_an_unknown_architecture() -> None:
    with pytest.raises(BuildError, match=r"refuses kernels for sm_31: .*invalid value for --gpu-arch"):
        nvrtc.compile_cuda(KERNEL, "sm_31")


@needs_compiler
def test_compile_cuda_refuses_too_much_shared_memory() -> None:
    source = KERNEL.replace("s[64]", "s[20000]").replace("s[63 -", "s[19999 -")
    with pytest.raises(BuildError, match=r"uses too much shared data \(0x13880 bytes, 0xc000 max\)"):
        nvrtc.compile_cuda(source, "sm_90")


def test_compile_cuda_refuses_too_many_registers() -> None:
    resources = {"k": nvrtc.KernelResources(registers=80, shared_bytes=0, spilled_bytes=0)}
    nvrtc._check_limits(resources, "sm_90", {"k": 512})
    with pytest.raises(BuildError) as caught:
        nvrtc._check_limits(resources, "sm_90", {"k": 1024})
    assert str(caught.value) == "k takes 81920 registers in a workgroup of sm_90, which has 65536."


def test_version_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"no libnvrtc\.so\.13 .* pip install 'kokoro-tvm\[cuda\]'"):
        nvrtc._load_library.__wrapped__("libnvrtc.so.13")
