"""Tagger: matrix products, in the calling thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.runtime.text.frontend.tagger import _product

SIZES = st.integers(1, 100)


@given(height=SIZES, depth=st.integers(1, 600), width=SIZES, seed=st.integers(0, 9))
def test_product_equals_matmul(height: int, depth: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((height, depth)), rng.standard_normal((depth, width))
    found = _product(left.astype(np.float32), right.astype(np.float32))
    np.testing.assert_allclose(found, left @ right, atol=1e-3)


ALONE = """
import os, sys, time
import numpy as np
from kokoro_tvm.runtime.text.frontend.tagger import MaxoutLayer

def others():
    threads = [task for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]
    return sum(int(open(f"/proc/self/task/{task}/schedstat").read().split()[0]) for task in threads)

def settled():
    before = None
    while before != (now := others()):  # until all of them sleep
        before = now
        time.sleep(0.2)
    return now

def spent(work):
    before = settled()
    work()
    return settled() - before

def drawn(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)

if not spent(lambda: drawn(500, 500) @ drawn(500, 500)):
    sys.exit("this numpy divides no product among threads")
mix = MaxoutLayer(drawn(3, 96, 576), drawn(3, 96), drawn(96), drawn(96))
layer = MaxoutLayer(drawn(3, 96, 288), drawn(3, 96), drawn(96), drawn(96))
for words in (1, 5, 30, 400):
    print(words, spent(lambda: (mix(drawn(words, 576)), layer(drawn(words, 288)))))
"""


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system counts no time of threads")
def test_tagger_uses_no_thread_of_blas() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
    )
    if done.returncode == 1 and "divides no product" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert (done.stderr, done.stdout) == ("", "1 0\n5 0\n30 0\n400 0\n")
