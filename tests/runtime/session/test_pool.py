"""The thread that calls compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.runtime.session.pool import compute
from kokoro_tvm.runtime.session.tvm_runtime import load_tvm_ffi

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")


def in_use() -> int:
    """Threads of the pool of the calling thread."""
    return int(load_tvm_ffi().get_global_func("runtime.NumThreads")())


def from_threads(number: int, function: Callable[[], Any]) -> list[Any]:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(function())) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_compute_uses_one_thread() -> None:
    where = from_threads(8, lambda: compute(1, threading.get_ident))
    assert len(where) == 8
    assert len(set(where)) == 1
    assert where[0] != threading.get_ident()


def test_compute_sets_the_threads_of_each_call() -> None:
    """More threads than cores, and more than in any earlier call."""
    many = (os.cpu_count() or 1) + 3
    assert [compute(count, in_use) for count in (1, 2, many, 1, many + 1)] == [1, 2, many, 1, many + 1]


def test_compute_passes_arguments_and_errors() -> None:
    assert compute(1, divmod, 7, 2) == (3, 1)
    assert compute(1, sorted, [1, 2], reverse=True) == [2, 1]
    with pytest.raises(ZeroDivisionError):
        compute(1, divmod, 7, 0)
    assert compute(1, divmod, 7, 2) == (3, 1)


SPEAKERS = """
import os, sys, threading, time
from kokoro_tvm import Synthesizer
tts = [Synthesizer(sys.argv[1], threads=2) for _ in range(3)]
def speak():
    for one in tts:
        one.from_phonemes("abc.")
def count():
    return len(os.listdir("/proc/self/task"))
speak()
before = count()
speakers = [threading.Thread(target=speak) for _ in range(6)]
for speaker in speakers:
    speaker.start()
for speaker in speakers:
    speaker.join()
patience = 100
while count() > before and patience:  # a thread that was joined may not have left yet
    time.sleep(0.05)
    patience -= 1
assert count() == before, (before, count())
"""

FORK = """
import os, sys
import numpy as np
from kokoro_tvm import Synthesizer
tts = Synthesizer(sys.argv[1], threads=2)
audio = tts.from_phonemes("abc.").audio
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(tts.from_phonemes("abc.").audio, audio) else 1)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(tts.from_phonemes("abc.").audio, audio)
"""

BUSY = """
import os, signal, sys, threading, time
import numpy as np
from kokoro_tvm import Synthesizer
tts = Synthesizer(sys.argv[1], threads=2)
audio = tts.from_phonemes("abc.").audio
within = threading.Event()
def slow(function, name, before, result, *arguments):
    if name == "normal_noise" and before:
        within.set()
        time.sleep(1)
    return 0
tts.runner.instrument(lambda component: slow)
speaker = threading.Thread(target=tts.from_phonemes, args=("abc.",))
speaker.start()
within.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # should it wait for a thread that it does not have
    tts.runner.instrument(None)
    os._exit(0 if np.array_equal(tts.from_phonemes("abc.").audio, audio) else 1)
speaker.join()
assert os.waitpid(child, 0)[1] == 0
tts.runner.instrument(None)
assert np.array_equal(tts.from_phonemes("abc.").audio, audio)
"""


@LINUX
@pytest.mark.parametrize(
    "code",
    [SPEAKERS, FORK, BUSY],
    ids=["many speakers, one pool", "a forked child has its own", "a child forked while others compute"],
)
def test_compute_works_after_a_fork(compiled: Callable[[str], Path], code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, str(compiled("exact"))], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@LINUX
def test_idle_workers_do_not_spin(compiled: Callable[[str], Path]) -> None:
    """Spinning workers would consume CPU time in an idle process."""
    code = """
import resource, sys, time
from kokoro_tvm import Synthesizer
tts = Synthesizer(sys.argv[1], threads=2)
tts.from_phonemes("abc.")
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
before = used()
time.sleep(0.3)
print(used() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(compiled("exact"))], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 0.05
