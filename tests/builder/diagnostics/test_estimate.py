"""How long a stage is expected to take: as it did, else as the stage nearest to it did."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kokoro_tvm.builder.diagnostics.estimate import Estimate, estimate
from kokoro_tvm.builder.diagnostics.plan import PlanStep, look_ahead, to_json
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import State
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.cli.develop.plan import summary, table

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".store")


def ran(store: Store, name: str, *seconds: float) -> None:
    """Runs of a stage, the last of them the latest; each wrote something else."""
    for count, each in enumerate(seconds):
        with store.workspace("0" * 64) as folder:
            (folder / "out").write_text(f"{name} {count}")
            record = store.publish(name, {"stage": name, "run": count}, folder, ("out",), each, each)
        store.restore(record, store.root / "visible" / name, name)


def stage(store: Store, name: str) -> Stage:
    folder = store.root / "folders" / name
    return Stage(
        name=name,
        doc="",
        store=store,
        folder=folder,
        work=folder,
        function="kokoro_tvm.common.words:hint",
        outputs=("out",),
    )


def test_its_own_last_runs_count(store: Store) -> None:
    ran(store, "cpu.compile.bert-512", 100.0, 100.0, 3.0, 9.0, 9.5, 4.0, 90.0)
    ran(store, "other.compile.bert-512", 7.0)
    assert estimate(stage(store, "cpu.compile.bert-512")) == Estimate(9.0)


def test_else_those_of_the_same_stage_in_another_recipe(store: Store) -> None:
    ran(store, "cpu.compile.bert-512", 8.0, 9.0, 10.0)
    ran(store, "cpu.lower.bert-512", 1.0)
    ran(store, "cpu.compile.decoder-512", 2.0)
    assert estimate(stage(store, "mine.compile.bert-512")) == Estimate(9.0, "cpu.compile.bert-512")
    assert estimate(stage(store, "mine.pack.bert")) is None


def test_of_several_buckets_the_nearest_counts(store: Store) -> None:
    for bucket in (64, 128, 1024):
        ran(store, f"cpu.compile.f0n-{bucket}", float(bucket))
    assert estimate(stage(store, "mine.compile.f0n-256")) == Estimate(128.0, "cpu.compile.f0n-128")
    assert estimate(stage(store, "cpu.compile.f0n-5120")) == Estimate(1024.0, "cpu.compile.f0n-1024")


def test_of_several_recipes_the_one_that_ran_last_counts(store: Store) -> None:
    for recipe, seconds in {"b": 1.0, "c": 2.0, "a": 3.0}.items():
        ran(store, f"{recipe}.pack.text_encoder", seconds)
        ran(store, f"{recipe}.speak", 10 * seconds)
    assert estimate(stage(store, "mine.pack.text_encoder")) == Estimate(3.0, "a.pack.text_encoder")
    assert estimate(stage(store, "mine.speak")) == Estimate(30.0, "a.speak")


@given(
    name=st.from_regex(r"[a-z0-9-]+\.[a-z]+(\.[a-z_]+(-[0-9]+)?)?", fullmatch=True),
    seconds=st.floats(0, 1e6, allow_nan=False).map(lambda x: round(x, 3)),
)
def test_any_stage_is_like_itself_in_another_recipe(
    tmp_path_factory: pytest.TempPathFactory, name: str, seconds: float
) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    ran(store, name, seconds)
    assert estimate(stage(store, f"mine.{name.partition('.')[2]}")) in (
        Estimate(seconds, name),
        Estimate(seconds),  # of a recipe called `mine`
    )


def test_what_is_shown(store: Store) -> None:
    ran(store, "cpu.compile.bert-512", 40.0)
    ran(store, "mine.compile.f0n-64", 30.0)
    ran(store, "cpu.bundle", 1.0)
    names = ("compile.bert-512", "compile.f0n-64", "compile.f0n-128", "speak", "bundle")
    steps = [
        PlanStep(each, State("missing"), "run", estimate(each))
        for each in (stage(store, f"mine.{name}") for name in names)
    ]
    out = io.StringIO()
    console = Console(file=out, width=100)
    console.print(table(steps))
    for line in summary(steps, 1):
        console.print(line)
    shown = "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
    assert shown == (GOLDEN / "plan-estimates.txt").read_text(encoding="utf-8")


def test_for_programs(store: Store) -> None:
    ran(store, "cpu.compile.bert-512", 40.0)
    (step,) = look_ahead([stage(store, "mine.compile.bert-512")])
    found = to_json(step)
    assert (found["seconds"], found["like"]) == (40.0, "cpu.compile.bert-512")
