"""Emulated AMX instructions: bits, shapes, threads, and illegal uses."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bits import to_float32
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kokoro_tvm.common.cpu_features import AMX, PORTABLE, features_of_cpu
from kokoro_tvm.common.platforms import Platform, detect_platform
from kokoro_tvm.kernels.cpu.bfloat16 import round_to_bfloat16
from kokoro_tvm.targets.runners.tiles import TILES, emulate

HAD = features_of_cpu() or frozenset()
pytestmark = [
    pytest.mark.skipif(detect_platform() != Platform("x86_64", "linux"), reason="not Linux on x86-64"),
    pytest.mark.skipif(
        not PORTABLE["x86-64-v4"] <= HAD, reason="this CPU lacks AVX-512, which AMX comes with"
    ),
    pytest.mark.skipif(HAD >= AMX, reason="this CPU has AMX"),
]
SOURCE = r"""
#include <immintrin.h>
void configure(const void *from) { _tile_loadconfig(from); }
void release(void) { _tile_release(); }
void load(const void *from, long step) { _tile_loadd(3, from, step); }
void store(void *to, long step) { _tile_stored(3, to, step); }
void multiply(const void *config, const void *a, const void *b, void *c, const long *steps) {
  _tile_loadconfig(config);
  _tile_loadd(0, c, steps[2]);
  _tile_stream_loadd(1, a, steps[0]);
  _tile_loadd(2, b, steps[1]);
  _tile_dpbf16ps(0, 1, 2);
  _tile_stored(0, c, steps[2]);
  _tile_release();
}
void zero(const void *config, void *c) {
  _tile_loadconfig(config);
  _tile_loadd(7, c, 64);
  _tile_zero(7);
  _tile_stored(7, c, 64);
}
void other(void) { __builtin_trap(); }
"""
WHOLE = (16, 16, 16)


def configuration(rows: list[int], row_bytes: list[int], palette: int = 1) -> NDArray[np.uint8]:
    built = np.zeros(64, np.uint8)
    built[0] = palette
    built[16 : 16 + 2 * len(row_bytes)] = np.array(row_bytes, np.uint16).view(np.uint8)
    built[48 : 48 + len(rows)] = rows
    return built


ALL = configuration([16] * 8, [64] * 8)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiles")
    (folder / "made.c").write_text(SOURCE)
    out = folder / "made.so"
    options = ["-O1", "-mamx-tile", "-mamx-bf16", "-shared", "-fPIC"]
    subprocess.run(["gcc", *options, str(folder / "made.c"), "-o", str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def code(library: Path) -> Any:
    emulate()
    return ctypes.CDLL(str(library))


def at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def multiplied(
    code: Any, a: NDArray[np.uint16], b: NDArray[np.uint16], c: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return c + a * b; a (rows, pairs, 2), b (pairs, columns, 2), c (rows, columns)."""
    (rows, pairs, _), columns = a.shape, b.shape[1]
    config = configuration([rows, rows, pairs], [4 * columns, 4 * pairs, 4 * columns])
    result = c.copy()
    steps = np.array([array.strides[0] for array in (a, b, result)], np.int64)
    code.multiply(at(config), at(a), at(b), at(result), at(steps))
    return result


def expected(a: NDArray[np.uint16], b: NDArray[np.uint16], c: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute as the manual: products are exact in float32, and each half's sum is rounded at every step."""
    left, right = to_float32(a), to_float32(b)
    halves = np.zeros((2, *c.shape), np.float32)
    for k in range(a.shape[1]):
        for half in range(2):
            halves[half] += left[:, k, None, half] * right[None, k, :, half]
    return c + (halves[0] + halves[1])


def pairs_of(random: np.random.Generator, *shape: int) -> NDArray[np.uint16]:
    return round_to_bfloat16(random.standard_normal((*shape, 2)).astype(np.float32))


@settings(max_examples=examples(60))
@given(*[st.integers(1, 16)] * 3, st.integers(0, 99))
def test_products_match_the_manual(code: Any, rows: int, pairs: int, columns: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = pairs_of(random, rows, pairs), pairs_of(random, pairs, columns)
    c = random.standard_normal((rows, columns)).astype(np.float32)
    assert np.array_equal(multiplied(code, a, b, c), expected(a, b, c))


def test_tiles_load_rows_with_a_stride(code: Any) -> None:
    random = np.random.default_rng(1)
    a, b = pairs_of(random, 16, 40)[:, 7:23], pairs_of(random, 16, 32)[:, 16:]
    c = random.standard_normal((16, 16)).astype(np.float32)
    assert np.array_equal(multiplied(code, a, b, c), expected(a, b, c))


def test_subnormal_numbers_are_zero(code: Any) -> None:
    """As inputs and as results."""
    tiny = np.float32(2.0**-130)
    a, b = np.zeros((2, 1, 2), np.uint16), np.zeros((1, 1, 2), np.uint16)
    a[0], b[0] = round_to_bfloat16(np.full((1, 2), tiny, np.float32)), 0x3F80
    a[1], b[0, 0, 1] = 0x2000, 0x1000  # 2**-63 and 2**-95
    assert np.array_equal(multiplied(code, a, b, np.zeros((2, 1), np.float32))[0], [0])
    assert np.array_equal(multiplied(code, a, b, np.full((2, 1), tiny))[0], [0])


def test_tilezero_clears_a_tile(code: Any) -> None:
    c = np.ones((16, 16), np.float32)
    code.zero(at(ALL), at(c))
    assert not c.any()
    code.release()


def test_threads_have_separate_tiles(code: Any) -> None:
    step, both = ctypes.c_long(64), threading.Barrier(2)
    matches: dict[int, NDArray[np.float32]] = {}

    def work(number: int) -> None:
        code.configure(at(ALL))
        mine, kept = np.full((16, 16), number, np.float32), np.empty((16, 16), np.float32)
        code.load(at(mine), step)
        both.wait()
        code.store(at(kept), step)
        code.release()
        matches[number] = kept

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((matches[number] == number).all() for number in (1, 2))


LOADED = "code.configure(bytes({})); code.load(room, step)"
ILLEGAL = {
    "another instruction": "code.other()",
    "no configuration": "code.load(room, step)",
    "an unknown palette": "code.configure(bytes([2]) + bytes(63))",
    "17 rows": f"code.configure(bytes({configuration([17], [64]).tolist()}))",
    "rows of 65 bytes": f"code.configure(bytes({configuration([16], [65]).tolist()}))",
    "a tile without rows": LOADED.format(configuration([16], [64]).tolist()),
    "given back": f"code.configure(bytes({ALL.tolist()})); code.release(); code.load(room, step)",
    "pairs that do not fit": "code.multiply("
    f"bytes({configuration([16, 16, 15], [64, 64, 64]).tolist()}), room, room, room, room)",
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_instructions_stay_illegal(name: str, library: Path) -> None:
    script = (
        "import ctypes\nfrom kokoro_tvm.targets.runners.tiles import emulate\nemulate()\n"
        f"code = ctypes.CDLL({str(library)!r})\n"
        "step, room = ctypes.c_long(0), ctypes.create_string_buffer(4096)\n"
        f"{ILLEGAL[name]}\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.returncode == -signal.SIGILL, process.stderr


def test_tiles_describes_itself() -> None:
    assert TILES.way == "with AMX emulated"
    assert TILES.version().startswith("AMX emulated, gcc")
    assert TILES.check() is None
