"""Budget of memory and cores."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.builder.engine.resources import Budget, Needs, usable_memory_gb

NEEDS = st.tuples(st.integers(1, 12), st.integers(0, 6))


@given(st.lists(NEEDS, min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_budget_is_never_exceeded(needs: list[tuple[int, int]]) -> None:
    budget, lock, running, seen = Budget(Needs(8, 4)), threading.Lock(), [], []

    def work(need: tuple[int, int]) -> None:
        with budget.take(Needs(*need)):
            with lock:
                running.append(need)
                seen.append(list(running))
            with lock:
                running.remove(need)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, needs))
    assert len(seen) == len(needs)
    for together in seen:
        fits = sum(m for m, _ in together) <= 8 and sum(c for _, c in together) <= 4
        assert fits or len(together) == 1, together


def test_budget_admits_what_fits() -> None:
    budget, both = Budget(Needs(8, 4)), threading.Barrier(2, timeout=20)

    def work() -> None:
        with budget.take(Needs(4, 2)):
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work), pool.submit(work)]:
            done.result()


def test_budget_is_released_after_an_error() -> None:
    budget = Budget(Needs(8, 4))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), budget.take(Needs(8, 4)):
            raise ZeroDivisionError


def test_usable_memory_respects_the_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's memory is known without /proc."""
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 500_000, "SC_PAGE_SIZE": 4096}.__getitem__)
    limit = tmp_path / "memory.max"
    assert usable_memory_gb((limit,)) == 2.048
    limit.write_text("1500000000\n")
    assert usable_memory_gb((limit,)) == 1.5
    limit.write_text("max\n")
    assert usable_memory_gb((limit,)) == 2.048


@pytest.mark.skipif(not Path("/proc/meminfo").is_file(), reason="needs /proc/meminfo, to compare with")
def test_usable_memory_is_the_machine_s_without_limits() -> None:
    kilobytes = int(Path("/proc/meminfo").read_text(encoding="ascii").split()[1])
    assert usable_memory_gb(()) == kilobytes * 1024 / 1e9


def test_usable_memory_is_infinite_if_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert usable_memory_gb(()) == float("inf")
