"""Predictions of what a build does, and how long it takes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.builder.diagnostics.plan import plan_build
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import BuildError


@dataclass
class Chain:
    """Stages a -> b -> c. The content of each follows from a word and from the stage before it."""

    root: Path
    words: dict[str, str] = field(default_factory=lambda: dict.fromkeys("abc", "first"))
    problems: dict[str, str] = field(default_factory=dict)
    cache: Cache | None = None

    def stages(self) -> list[Stage]:
        store, stages = Store(self.root / ".store", cache=self.cache), []
        for name in self.words:
            stages.append(self._stage(store, name, tuple(stages[-1:])))
        return stages

    def _stage(self, store: Store, name: str, after: tuple[Stage, ...]) -> Stage:
        return Stage(
            name=f"cpu.{name}",
            doc=name,
            store=store,
            folder=self.root / name,
            work=self.root / name,
            function="kokoro_tvm.common.words:hint",
            outputs=(f"{name}.json",),
            inputs={before.name: (before, before.outputs[0]) for before in after},
            parameters={"word": self.words[name]},
            facts=lambda: self._facts(name),
        )

    def _facts(self, name: str) -> dict[str, Any]:
        if name in self.problems:
            raise BuildError(self.problems[name])
        return {}

    def build(self, seconds: float = 2.0, **contents: str) -> None:
        """Publish an output of every stage that is not current: its name, or its argument."""
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
        return [step.action for step in plan_build(self.stages())]


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path)


def test_plan_runs_every_stage_of_an_empty_store(chain: Chain) -> None:
    steps = plan_build(chain.stages())
    assert [(s.action, s.state.kind, s.seconds) for s in steps] == [("run", "missing", None)] * 3


def test_plan_runs_downstream_stages_perhaps(chain: Chain) -> None:
    chain.build()
    assert chain.actions() == ["nothing"] * 3
    chain.words["a"] = "second"
    assert chain.actions() == ["run", "perhaps", "perhaps"]
    assert plan_build(chain.stages())[1].because == ("cpu.a",)
    chain.build()  # writes the same bytes
    assert chain.actions() == ["nothing"] * 3


def test_plan_restores_earlier_builds(chain: Chain) -> None:
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
    chain.words["a"] = "first"  # its output is the same
    assert chain.actions() == ["restore", "nothing", "nothing"]
    chain.words["a"], chain.words["c"] = "third", "second"  # the input of c may change
    assert chain.actions() == ["run", "perhaps", "run"]


def test_plan_repairs_damage_and_runs_nothing_after_it(chain: Chain) -> None:
    chain.build()
    (chain.root / "a" / "a.json").unlink()
    assert chain.actions() == ["restore", "nothing", "nothing"]


def test_plan_runs_stages_of_unknown_state(chain: Chain) -> None:
    chain.build()
    (chain.root / ".store" / "stages" / "cpu.b").unlink()
    assert chain.actions() == ["nothing", "restore", "nothing"]
    shutil.rmtree(chain.root / ".store" / "records")
    chain.build()
    (chain.root / ".store" / "stages" / "cpu.b").unlink()
    shutil.rmtree(chain.root / ".store" / "objects")
    (chain.root / "b" / "b.json").unlink()
    assert chain.actions() == ["nothing", "run", "run"]
    assert plan_build(chain.stages())[2].state.waiting == ("cpu.b",)


def test_plan_leaves_the_store_unchanged(chain: Chain) -> None:
    chain.build()
    shutil.rmtree(chain.root / ".store" / "stages")
    stages = chain.stages()
    assert [step.action for step in plan_build(stages)] == ["restore"] * 3
    assert [stage.previous() for stage in stages] == [None] * 3


def test_plan_restores_from_a_shared_cache_only_whole_records(chain: Chain, tmp_path: Path) -> None:
    chain.cache = Cache(str(tmp_path / "cache"), "read-write", pytest.fail)
    chain.build()
    other = Chain(tmp_path / "other", cache=chain.cache)
    assert other.actions() == ["restore"] * 3
    assert not (tmp_path / "other").exists()
    lost = chain.stages()[1].record().outputs[0].sha256
    (tmp_path / "cache" / "objects" / lost[:2] / lost).unlink()
    assert other.actions() == ["restore", "run", "run"]


def test_plan_fails_a_stage_without_its_tool(chain: Chain) -> None:
    chain.build()
    chain.problems["b"] = "no working gcc: install it"
    assert chain.actions() == ["nothing", "fail", "perhaps"]
    assert plan_build(chain.stages())[1].state.problem == "no working gcc: install it."


def test_plan_has_a_shared_stage_once(chain: Chain) -> None:
    assert len(plan_build(chain.stages() + chain.stages())) == 3


def test_step_to_json(chain: Chain) -> None:
    chain.build()
    chain.words["a"] = "second"
    assert plan_build(chain.stages())[1].to_json() == {
        "stage": "cpu.b",
        "state": "current",
        "action": "perhaps",
        "seconds": 2.0,
        "because": ["cpu.a"],
    }


def test_step_takes_the_median_of_its_last_five_runs(chain: Chain) -> None:
    for number, seconds in enumerate((100.0, 100.0, 3.0, 9.0, 9.5, 4.0, 90.0)):
        chain.words["c"] = f"word {number}"
        chain.build(seconds)
    chain.words["c"] = "another"
    assert plan_build(chain.stages())[2].seconds == 9.0
