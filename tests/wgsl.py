"""A small kernel in the form that TVM prints for WebGPU, and what it computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction

__all__ = ["ROTATION", "WRITES", "code_of", "rotated"]

# As TVM prints it, with the body in the place of BODY.
TEXT = """
@group(0) @binding(0) var<storage, read> x : array<f32>;
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
struct PODArgs {
  n: i32,
  scale: f32,
  most: u32,
  packGridDimX: u32
}
@group(0) @binding(2) var<uniform> podArgs : PODArgs;
var<workgroup> s : array<f32, 64>;
@compute @workgroup_size(64, 1, 1)
fn k(
  @builtin(workgroup_id) blockIdx : vec3<u32>,
  @builtin(num_workgroups) gridDim : vec3<u32>,
  @builtin(local_invocation_id) threadIdx : vec3<u32>
) {
  if (blockIdx.z * gridDim.x + blockIdx.x > podArgs.packGridDimX) { return; }
  let block : i32 = i32(blockIdx.z * gridDim.x + blockIdx.x);
  let t : i32 = i32(threadIdx.x);
  let i : i32 = block * 64i + t;
BODY
}
"""
ROTATION = """
  if (i < podArgs.n) { s[t] = x[i]; } else { s[t] = 0.0f; }
  workgroupBarrier();
  let v : f32 = s[(t + 63) % 64];
  if (i < podArgs.n) { y[i] = v * podArgs.scale + f32(podArgs.most); }
"""
WRITES = "paramWriteAccess:[0,1]"


def code_of(body: str, launch: Sequence[str] = ("blockIdx.x", "threadIdx.x", WRITES)) -> DeviceCode:
    arguments = ((3, 64, 1), (0, 32, 1), (3, 64, 1), (2, 32, 1), (1, 32, 1))
    function = DeviceFunction("k", arguments, tuple(launch), ())
    return DeviceCode("webgpu", "", {"k": function}, {"k": TEXT.replace("BODY", body).encode()})


def rotated(x: np.ndarray) -> np.ndarray:
    whole = np.zeros(-(-len(x) // 64) * 64, np.float32)
    whole[: len(x)] = x
    return np.roll(whole.reshape(-1, 64), 1, axis=1).reshape(-1)[: len(x)]
