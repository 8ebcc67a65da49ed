"""An utterance on more threads than there are, by the tasks of its loops."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.lab.critical_path import Loop, Step, fastest, rows, seconds_on, steps
from kokoro_tvm.lab.launches import Launch
from kokoro_tvm.runtime.profiler import Call

times = st.floats(1e-6, 10)
loops = st.builds(Loop, times, st.integers(1, 200))
some_steps = st.lists(
    st.builds(Step, st.just("decoder"), st.sampled_from("ab"), times, st.lists(loops).map(tuple)), min_size=1
)


@given(some_steps, st.integers(1, 64))
def test_more_threads_take_no_longer_and_never_less_than_their_share(found: list[Step], threads: int) -> None:
    alone, shared = seconds_on(found, 1), seconds_on(found, threads)
    assert alone == pytest.approx(sum(s.serial + sum(loop.seconds for loop in s.loops) for s in found))
    assert alone / threads <= shared * (1 + 1e-9)
    assert seconds_on(found, threads + 1) <= shared * (1 + 1e-9)
    assert sum(row.shared for row in rows(found, threads)) == pytest.approx(shared)


@given(st.lists(times, min_size=1, max_size=40), st.integers(1, 16))
def test_equal_tasks_are_scheduled_as_a_list_is(tasks: list[float], threads: int) -> None:
    """Against a simulation: a thread that is free takes the next task."""
    each = tasks[0]
    free = [0.0] * threads
    for _ in tasks:
        first = min(range(threads), key=free.__getitem__)
        free[first] += each
    assert Loop(each * len(tasks), len(tasks)).seconds_on(threads) == pytest.approx(max(free))


def test_loops_belong_to_the_call_they_began_in() -> None:
    calls = [
        Call("bert", "bert_a", 0.0, 1.0, 0, 1),
        Call("bert", "bert_b", 1.0, 2.0, 0, 1),
        Call("bert", "bert_c", 3.0, 0.5, 0, 1),
    ]
    launches = [Launch(0.1, 0.6, 0.5, 4), Launch(1.2, 0.6, 0.6, None), Launch(2.0, 1.0, 0.9, 2)]
    found = steps(calls, launches)
    assert [step.loops for step in found] == [(Loop(0.5, 4),), (Loop(0.6, 1), Loop(0.9, 2)), ()]
    assert [step.serial for step in found] == pytest.approx([0.4, 0.4, 0.5])


def test_the_fastest_of_every_part_counts() -> None:
    runs = [[Step("f0n", "a", 0.3, (Loop(1.0, 8),))], [Step("f0n", "a", 0.2, (Loop(2.0, 8),))]]
    assert fastest(runs) == [Step("f0n", "a", 0.2, (Loop(1.0, 8),))]
    with pytest.raises(ValueError, match="zip"):
        fastest([runs[0], []])


def test_the_loops_of_a_bundle_have_the_tasks_that_their_kernels_cut_them_into(
    toy: Path, tmp_path: Path
) -> None:
    """In a process of its own: its libraries run on one thread ever after."""
    file, phonemes = tmp_path / "model.json", "həlˈO wˈɜɹld."
    words = ["profile", "--model", "--threads", "16", "--repeat", "2", "--bundle", str(toy)]
    words += ["--phonemes", phonemes, "--json", str(file)]
    code = "from kokoro_tvm.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "by number of threads:" in done.stdout
    found = json.loads(file.read_text(encoding="utf-8"))
    by_threads = found["seconds_by_threads"]
    assert list(by_threads) == ["1", "2", "4", "8", "16"]
    assert sorted(by_threads.values(), reverse=True) == list(by_threads.values())
    tasks = {f"{row['component']} {row['name']}": row["tasks"] for row in found["kernels"]}
    tokens = len(phonemes) + 2
    assert {tuple(n) for name, n in tasks.items() if name.startswith("bert gelu")} == {(tokens, tokens)}
    assert {tuple(n) for name, n in tasks.items() if " lstm" in name} == {(2, 2)}
    assert tasks["bert vm.builtin.alloc_tensor"] is None
