"""Prints what an utterance would take on more threads than there are, from its kernels on one.

    .venv/bin/python docs/more_threads.py [BUNDLE [THREADS]]

The utterance is spoken on one thread, and every kernel's parallel loops are timed and their tasks counted:
blocks of time, or of columns, which threads take one by one. A thread takes the next task whenever it is
free; what is outside of loops is not shared. Left out is what starting threads costs, that they share caches
and memory, and that each of them transforms the input of a block whose columns they share, which one thread
does once: so this is less than the division into tasks allows. Of three utterances, the fastest of every part
counts.

A library calls the runtime's TVMBackendParallelLaunch by a pointer, which TVM sets when it loads the library.
Here it is set to a function of this script, which runs a loop on the calling thread alone. Kernels hand out
their tasks by a counter (`ops.cpu.kernel.Kernel.threads`): what it has at the end of a loop says how many
there were.
"""

from __future__ import annotations

import ctypes
import math
import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.session.profiler import Call, recorded
from kokoro_tvm.runtime.session.tvm_runtime import load_tvm_ffi

# "The morning train crosses the green valley slowly, and every window is full of light."
PHONEMES = "ðə mˈɔɹnɪŋ tɹˈAn kɹˈɔsᵻz ðə ɡɹˈin vˈæli slˈOli, ænd ˈɛvəɹi wˈɪndO ɪz fˈʊl ʌv lˈIt."
VOICE = "af_heart"
RUNS = 3
_MOST_THREADS = 64  # that share a loop: as many find no task at its end
_CLOSURE = 64  # words of a loop's captured variables that are looked at
_FRAME = 1 << 16  # bytes of the stack around them, in which the counter lies
_SMALL = 0.01  # share of the modelled time below which a kernel has no row


@dataclass(frozen=True)
class Launch:
    """A parallel loop on one thread.

    `start` is time.perf_counter()'s, `elapsed` the wall time until its recording has ended; `seconds`: the
    thread's CPU time in the loop, which other processes hardly change; `tasks`: what threads can share of it,
    one where that is not known.
    """

    start: float
    elapsed: float
    seconds: float
    tasks: int

    def seconds_on(self, threads: int) -> float:
        """Of equal tasks, by list scheduling."""
        return math.ceil(self.tasks / threads) * self.seconds / self.tasks


@dataclass(frozen=True)
class Step:
    """One call of a kernel: `serial` are the seconds outside of its loops."""

    kernel: str
    serial: float
    loops: tuple[Launch, ...]

    def seconds_on(self, threads: int) -> float:
        return self.serial + sum(loop.seconds_on(threads) for loop in self.loops)


def steps(calls: Iterable[Call], launches: Sequence[Launch]) -> list[Step]:
    """The calls of an utterance with the loops that began within each, without what recording took."""
    starts = [launch.start for launch in launches]
    found = []
    for call in calls:
        inside = launches[bisect_left(starts, call.start) : bisect_left(starts, call.start + call.seconds)]
        serial = call.seconds - sum(launch.elapsed for launch in inside)
        kernel = f"{call.component} {call.name.removeprefix(f'{call.component}_')}"
        found.append(Step(kernel, max(0.0, serial), tuple(inside)))
    return found


def fastest(runs: Sequence[Sequence[Step]]) -> list[Step]:
    """Of several equal utterances, the shortest time of every part: what disturbs a run makes it longer."""
    return [
        Step(
            same[0].kernel,
            min(step.serial for step in same),
            tuple(
                min(each, key=lambda loop: loop.seconds)
                for each in zip(*(step.loops for step in same), strict=True)
            ),
        )
        for same in zip(*runs, strict=True)
    ]


def seconds_on(steps: Iterable[Step], threads: int) -> float:
    """An utterance: its calls one after the other, each shared by `threads` threads."""
    return sum(step.seconds_on(threads) for step in steps)


@contextmanager
def recorded_launches() -> Iterator[list[Launch]]:
    """Records the loops of libraries that are loaded within the block, as long as it lasts; these libraries
    run on one thread ever after."""
    load_tvm_ffi()
    from tvm_ffi.libinfo import find_libtvm_ffi  # by now torch does not come with it

    class Environment(ctypes.Structure):
        """TVMParallelGroupEnv: of a loop that one thread runs."""

        _fields_ = (("sync_handle", ctypes.c_void_p), ("num_task", ctypes.c_int32))

    loop_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(Environment), ctypes.c_void_p)
    found: list[Launch] = []

    def run(loop: Any, closure: int, _: int) -> int:
        start = time.perf_counter()
        counters = [a for a in _addresses(closure) if ctypes.c_int64.from_address(a).value == 0]
        environment = Environment(None, 1)
        begun = time.thread_time()
        status = loop(0, ctypes.byref(environment), closure)
        seconds = time.thread_time() - begun
        values = {ctypes.c_int64.from_address(address).value for address in counters} - {0}
        tasks = _tasks(*values) if len(values) == 1 else 1
        found.append(Launch(start, time.perf_counter() - start, seconds, tasks))
        return int(status)

    register = ctypes.CDLL(find_libtvm_ffi()).TVMFFIEnvModRegisterContextSymbol
    register.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    backend = ctypes.CFUNCTYPE(ctypes.c_int, loop_type, ctypes.c_void_p, ctypes.c_int)(run)
    if register(b"__TVMBackendParallelLaunch", ctypes.cast(backend, ctypes.c_void_p)):
        raise SystemExit("TVM refuses another function in the place of TVMBackendParallelLaunch.")
    yield found


def _addresses(closure: int) -> set[int]:
    """Of captured variables that lie on the stack of the function that launches the loop."""
    words = (ctypes.c_uint64 * _CLOSURE).from_address(closure)
    return {word for word in words if abs(word - closure) < _FRAME and word % 8 == 0}


def _tasks(counted: int) -> int:
    """Every task was counted, and once more for each of the threads that may share them."""
    return max(counted // 2, counted - _MOST_THREADS)


def main(bundle: str = "artifacts/cpu", threads: str = "16") -> None:
    most = int(threads)
    with recorded_launches() as launches:  # before the libraries are loaded
        synthesizer = Synthesizer(bundle, threads=1)
        speech = synthesizer.from_phonemes(PHONEMES, voice=VOICE)  # the first maps pages and fills caches
        runs = []
        for _ in range(RUNS):
            launches.clear()
            with recorded(synthesizer.runner) as calls:
                synthesizer.from_phonemes(PHONEMES, voice=VOICE)
            runs.append(steps(calls, launches))
    found, audio = fastest(runs), speech.audio.size / speech.sample_rate
    alone, total = seconds_on(found, 1), seconds_on(found, most)
    for count in (*(1 << power for power in range(most.bit_length()) if 1 << power < most), most):
        seconds = seconds_on(found, count)
        rate = f"real-time factor {seconds / audio:.3f}, {alone / seconds:.1f} times as fast as one"
        print(f"{count:>3} threads: {seconds * 1e3:.1f} ms, {rate}")
    print(f"\n{'kernel':<40}{'calls':>6}{'tasks':>10}{'ms on 1':>10}{f'ms on {most}':>10}")
    kernels: dict[str, list[Step]] = {}
    for step in found:
        kernels.setdefault(step.kernel, []).append(step)
    for kernel, same in sorted(kernels.items(), key=lambda item: -seconds_on(item[1], most)):
        if seconds_on(same, most) >= _SMALL * total:
            tasks = [loop.tasks for step in same for loop in step.loops]
            span = "–".join(map(str, dict.fromkeys((min(tasks), max(tasks))))) if tasks else "none"
            times = (f"{1e3 * seconds_on(same, count):>10.2f}" for count in (1, most))
            print(f"{kernel:<40}{len(same):>6}{span:>10}{''.join(times)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
