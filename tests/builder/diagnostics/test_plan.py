"""What a build would do, and for how long."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.builder.diagnostics.estimate import Estimate
from kokoro_tvm.builder.diagnostics.plan import PlanStep, look_ahead, to_json, together
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import State
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import BuildError


@dataclass
class Chain:
    """Stages a -> b -> c, each made of a word and of what the one before it wrote."""

    root: Path
    words: dict[str, str] = field(default_factory=lambda: dict.fromkeys("abc", "first"))
    problems: dict[str, str] = field(default_factory=dict)
    cache: Cache | None = None

    def stages(self) -> list[Stage]:
        store, made = Store(self.root / ".store", cache=self.cache), []
        for name in self.words:
            made.append(self._stage(store, name, tuple(made[-1:])))
        return made

    def _stage(self, store: Store, name: str, after: tuple[Stage, ...]) -> Stage:
        return Stage(
            name=f"cpu.{name}",
            doc=name,
            store=store,
            folder=self.root / name,
            work=self.root / name,
            function="kokoro_tvm.common.words:hint",
            outputs=(f"{name}.json",),
            inputs={each.name: (each, each.outputs[0]) for each in after},
            parameters={"word": self.words[name]},
            facts=lambda: self._facts(name),
        )

    def _facts(self, name: str) -> dict[str, Any]:
        if name in self.problems:
            raise BuildError(self.problems[name])
        return {}

    def build(self, seconds: float = 2.0, **contents: str) -> None:
        """Every stage that is not current writes its name, or what is given."""
        for stage in self.stages():
            name = stage.outputs[0][0]
            if stage.state().kind == "current":
                continue
            with stage.store.workspace(stage.key()) as out:
                (out / stage.outputs[0]).write_text(json.dumps(contents.get(name, name)), encoding="utf-8")
                derivation = stage.derivation() | {"code": {}, "files": {}}
                record = stage.store.publish(stage.name, derivation, out, stage.outputs, seconds, seconds)
            stage.store.restore(record, stage.folder, stage.name)

    def actions(self) -> list[str]:
        return [step.action for step in look_ahead(self.stages())]


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path)


def test_nothing_was_built(chain: Chain) -> None:
    steps = look_ahead(chain.stages())
    assert [(s.action, s.state.kind, s.seconds) for s in steps] == [("run", "missing", None)] * 3


def test_nothing_to_do(chain: Chain) -> None:
    chain.build()
    assert chain.actions() == ["nothing"] * 3


def test_what_comes_after_runs_only_perhaps(chain: Chain) -> None:
    chain.build()
    chain.words["a"] = "second"
    assert chain.actions() == ["run", "perhaps", "perhaps"]
    assert look_ahead(chain.stages())[1].because == ("cpu.a",)
    chain.build()  # writes what it wrote
    assert chain.actions() == ["nothing"] * 3


def test_back_again_costs_nothing(chain: Chain) -> None:
    chain.build()
    chain.words["c"] = "second"
    chain.build()
    chain.words["c"] = "first"
    assert chain.actions() == ["nothing", "nothing", "restore"]
    chain.words["b"] = "second"
    chain.build(b="another")
    chain.words["b"] = "first"
    assert chain.actions() == ["nothing", "restore", "restore"]
    chain.words["b"] = "second"
    chain.words["a"] = "second"
    chain.build(b="another")
    chain.words["a"] = "first"  # which wrote the same
    assert chain.actions() == ["restore", "nothing", "nothing"]
    chain.words["a"], chain.words["c"] = "third", "second"  # what c is made of may change
    assert chain.actions() == ["run", "perhaps", "run"]


def test_nothing_follows_from_damage(chain: Chain) -> None:
    chain.build()
    (chain.root / "a" / "a.json").unlink()
    assert chain.actions() == ["restore", "nothing", "nothing"]


def test_what_cannot_be_judged_runs(chain: Chain) -> None:
    chain.build()
    (chain.root / ".store" / "stages" / "cpu.b").unlink()
    assert chain.actions() == ["nothing", "restore", "nothing"]
    shutil.rmtree(chain.root / ".store" / "records")
    chain.build()
    (chain.root / ".store" / "stages" / "cpu.b").unlink()
    shutil.rmtree(chain.root / ".store" / "objects")
    (chain.root / "b" / "b.json").unlink()
    assert chain.actions() == ["nothing", "run", "run"]
    assert look_ahead(chain.stages())[2].state.waiting == ("cpu.b",)


def test_looking_ahead_leaves_the_store_as_it_was(chain: Chain) -> None:
    chain.build()
    shutil.rmtree(chain.root / ".store" / "stages")
    stages = chain.stages()
    assert [step.action for step in look_ahead(stages)] == ["restore"] * 3
    assert [stage.previous() for stage in stages] == [None] * 3


def test_what_a_shared_cache_has_is_restored(chain: Chain, tmp_path: Path) -> None:
    """All of it, though nothing was ever built here; not what it has lost a file of."""
    chain.cache = Cache(str(tmp_path / "cache"), "read-write", pytest.fail)
    chain.build()
    other = Chain(tmp_path / "other", cache=chain.cache)
    assert other.actions() == ["restore"] * 3
    assert not (tmp_path / "other").exists(), "looking leaves nothing behind"
    lost = chain.stages()[1].record().outputs[0].sha256
    (tmp_path / "cache" / "objects" / lost[:2] / lost).unlink()
    assert other.actions() == ["restore", "run", "run"]


def test_what_lacks_a_tool_fails(chain: Chain) -> None:
    chain.build()
    chain.problems["b"] = "no working gcc: install it"
    assert chain.actions() == ["nothing", "fail", "perhaps"]
    assert look_ahead(chain.stages())[1].state.problem == "no working gcc: install it."


def test_a_stage_that_recipes_share_is_one_step(chain: Chain) -> None:
    assert len(look_ahead(chain.stages() + chain.stages())) == 3


def test_for_programs(chain: Chain) -> None:
    chain.build()
    chain.words["a"] = "second"
    assert to_json(look_ahead(chain.stages())[1]) == {
        "stage": "cpu.b",
        "state": "current",
        "action": "perhaps",
        "seconds": 2.0,
        "like": None,
        "because": ["cpu.a"],
    }


@st.composite
def plans(draw: st.DrawFn) -> list[PlanStep]:
    """Steps of whole seconds, some unknown, after any of those before them."""
    made: list[PlanStep] = []
    for index in range(draw(st.integers(1, 10))):
        after = draw(st.lists(st.sampled_from(made), max_size=3, unique_by=id)) if made else []
        stage: Any = Stage(
            name=f"cpu.{index}",
            doc="",
            store=Store(Path("/nowhere")),
            folder=Path(),
            work=Path(),
            function="kokoro_tvm.common.words:hint",
            outputs=("out",),
            waits=tuple(s.stage for s in after),
        )
        expected = draw(st.one_of(st.none(), st.integers(0, 50).map(float).map(Estimate)))
        made.append(PlanStep(stage, State("missing"), "run", expected))
    return made


@given(plans())
def test_side_by_side(steps: list[PlanStep]) -> None:
    """One at a time takes the sum, any number the longest way, and what is between is between."""
    longest: dict[str, float] = {}
    for step in steps:
        before = max((longest[s.name] for s in step.stage.after), default=0.0)
        longest[step.stage.name] = before + (step.seconds or 0.0)
    total, way = sum(s.seconds or 0.0 for s in steps), max(longest.values())
    assert together(steps, 1) == total
    assert together(steps, 100) == way
    assert way <= together(steps, 2) <= total
