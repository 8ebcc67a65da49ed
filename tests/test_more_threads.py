"""An utterance on more threads than there are, by the tasks of its loops."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from more_threads import PHONEMES, Launch, Step, fastest, seconds_on, steps

from kokoro_tvm.runtime.session.profiler import Call

times = st.floats(1e-6, 10)
loops = st.builds(Launch, times, times, times, st.integers(1, 200))
some_steps = st.lists(st.builds(Step, st.sampled_from("ab"), times, st.lists(loops).map(tuple)), min_size=1)


@given(some_steps, st.integers(1, 64))
def test_more_threads_take_no_longer_and_never_less_than_their_share(found: list[Step], threads: int) -> None:
    alone, shared = seconds_on(found, 1), seconds_on(found, threads)
    assert alone == pytest.approx(sum(s.serial + sum(loop.seconds for loop in s.loops) for s in found))
    assert alone / threads <= shared * (1 + 1e-9)
    assert seconds_on(found, threads + 1) <= shared * (1 + 1e-9)


@given(st.lists(times, min_size=1, max_size=40), st.integers(1, 16))
def test_equal_tasks_are_scheduled_as_a_list_is(tasks: list[float], threads: int) -> None:
    """Against a simulation: a thread that is free takes the next task."""
    each = tasks[0]
    free = [0.0] * threads
    for _ in tasks:
        first = min(range(threads), key=free.__getitem__)
        free[first] += each
    assert Launch(0, 0, each * len(tasks), len(tasks)).seconds_on(threads) == pytest.approx(max(free))


def test_loops_belong_to_the_call_they_began_in() -> None:
    calls = [
        Call("bert", "bert_a", 0.0, 1.0, 0, 1),
        Call("bert", "bert_b", 1.0, 2.0, 0, 1),
        Call("bert", "bert_c", 3.0, 0.5, 0, 1),
    ]
    launches = [Launch(0.1, 0.6, 0.5, 4), Launch(1.2, 0.6, 0.6, 1), Launch(2.0, 1.0, 0.9, 2)]
    found = steps(calls, launches)
    assert [step.kernel for step in found] == ["bert a", "bert b", "bert c"]
    assert [step.loops for step in found] == [(launches[0],), tuple(launches[1:]), ()]
    assert [step.serial for step in found] == pytest.approx([0.4, 0.4, 0.5])


def test_the_fastest_of_every_part_counts() -> None:
    short, long = Launch(3.0, 1.1, 1.0, 8), Launch(4.0, 2.1, 2.0, 8)
    runs = [[Step("f0n a", 0.3, (short,))], [Step("f0n a", 0.2, (long,))]]
    assert fastest(runs) == [Step("f0n a", 0.2, (short,))]
    with pytest.raises(ValueError, match="zip"):
        fastest([runs[0], []])


@pytest.mark.slow("times a bundle on one to sixteen threads, as a page of the docs has them")
def test_the_loops_of_a_bundle_have_the_tasks_that_their_kernels_cut_them_into(toy: Path) -> None:
    """In a process of its own: its libraries run on one thread ever after."""
    script = Path(__file__).parents[1] / "docs/more_threads.py"
    done = subprocess.run([sys.executable, script, toy, "16"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seconds = dict(re.findall(r"^ *(\d+) threads: ([\d.]+) ms", done.stdout, re.MULTILINE))
    assert list(seconds) == ["1", "2", "4", "8", "16"]
    times = [float(number) for number in seconds.values()]
    assert sorted(times, reverse=True) == times
    tasks = dict(re.findall(r"^(\w+ \S+) +\d+ +([\d–]+|none) ", done.stdout, re.MULTILINE))
    tokens = len(PHONEMES) + 2
    assert {n for name, n in tasks.items() if name.startswith("bert gelu")} <= {f"{tokens}"}
    assert {n for name, n in tasks.items() if " lstm" in name} == {"2"}
