"""Stack switches of the source runner, with each architecture's assembly and without."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

import kokoro_tvm.targets.runners.source

pytestmark = pytest.mark.slow("compiles kernels for GPUs as C++")

HEADER = Path(kokoro_tvm.targets.runners.source.__file__).with_name("switch.h")
PROGRAM = f"""
#include <stdio.h>
#include "{HEADER}"

static group_place home, there;
static char stack[65536];
static int steps;

/* Enough values that are alive across a change to fill every register that a call preserves. */
#define FILL(n) \\
  volatile int seed = n; \\
  long a = seed + 1, b = seed * 3, c = seed * 5, d = seed * 7, e = seed * 11, f = seed * 13, g = seed * 17; \\
  long h = seed * 19, i = seed * 23, j = seed * 29, k = seed * 31; \\
  double p = seed + 0.5, q = seed * 3.5, r = seed * 5.5, s = seed * 7.5, t = seed * 9.5, u = seed * 11.5; \\
  double v = seed * 13.5, w = seed * 15.5;
#define SUM (a + b + c + d + e + f + g + h + i + j + k + p + q + r + s + t + u + v + w)

static double computed;

static void body() {{
  for (int n = 1;; ++n) {{
    FILL(n)
    ++steps;
    group_change(&there, &home);
    computed = SUM;
  }}
}}

int main() {{
  group_prepare(&there, stack, sizeof stack, body);
  double mine = 0;
  group_change(&home, &there);
  for (int n = 1; n <= 1000; ++n) {{
    FILL(2 * n)
    group_change(&home, &there);
    mine = SUM;
    seed = n;
    double want = n + 1 + n * 158L + n + 0.5 + n * 66.5;
    if (computed != want || mine != 2 * n + 1 + 2 * n * 158L + 2 * n + 0.5 + 2 * n * 66.5) return 1;
  }}
  printf("%d", steps);
  return 0;
}}
"""


@pytest.mark.parametrize("options", [(), ("-DGROUP_PORTABLE",)])
@pytest.mark.parametrize("optimised", ["-O0", "-O3"])
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_switch_preserves_registers(
    architecture: str, optimised: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    own = architecture == platform.machine()
    compiler, emulator = ("gcc", []) if own else (f"{architecture}-linux-gnu-gcc", [f"qemu-{architecture}"])
    for program in (compiler, *emulator):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    source, built = tmp_path / "switch.c", tmp_path / "switch"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(
        [compiler, "-std=gnu11", "-static", optimised, *options, str(source), "-o", str(built)], check=True
    )
    process = subprocess.run([*emulator, str(built)], stdout=subprocess.PIPE, text=True, check=True)
    assert process.stdout == "1001"
