"""The graph of stages, without running them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from schedules import write_schedule

from kokoro_tvm.builder.engine import versions
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.recipe import Schedule, load_recipe

REPOSITORY = Path(__file__).parents[2]
FEATURES = ["avx2", "fma"]
PACKING = '[{"name": "weight", "packing": {"operation": "conv1d"}}]'


class Tree:
    """Folder with recipes and artifacts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0

    def graph(self, recipe: str = "cpu") -> RecipeGraph:
        return RecipeGraph(load_recipe(recipe, self.root / "recipes"), self.root / "artifacts", self.root)

    def build(self, recipe: str = "cpu", edition: str = "") -> set[str]:
        """Publish outputs of this edition for stages that are not current, and return their names."""
        ran = set()
        for stage in self.graph(recipe).stages():
            if stage.is_current():
                continue
            derivation = stage.derivation()
            result = stage.store.record(stage.key())
            if result is None:
                ran.add(stage.name)
                self.count += 1
                out = self.root / str(self.count)
                out.mkdir()
                for output in stage.outputs:
                    known = {
                        "machine.json": json.dumps({"required": FEATURES}),
                        "parameters.json": PACKING,
                    }
                    content = known.get(output, f"{stage.name} {output}")
                    (out / output).write_text(content + "\n" * len(edition), encoding="utf-8")
                result = stage.store.publish(stage.name, derivation, out, stage.outputs, 0, 0)
            assert stage.store.restore(result, stage.folder, stage.name)
        return ran

    def rewrite(self, recipe: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        path = self.root / "recipes" / f"{recipe}.yaml"
        changed = change(yaml.safe_load(path.read_text(encoding="utf-8")))
        path.write_text(yaml.safe_dump(changed, sort_keys=False, allow_unicode=True), encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Return the tree that tests copy."""
    root = tmp_path_factory.mktemp("built")
    (root / "recipes").mkdir()
    for name in ("cpu", "kokoro-82m"):
        shutil.copy(REPOSITORY / "recipes" / f"{name}.yaml", root / "recipes")
    tree = Tree(root)
    tree.build()
    assert tree.build() == set()
    return tree


@pytest.fixture
def tree(built: Tree, tmp_path: Path) -> Tree:
    for folder in ("recipes", "artifacts"):
        shutil.copytree(built.root / folder, tmp_path / folder)
    return Tree(tmp_path)


def names(stages: str, what: str) -> set[str]:
    return {f"cpu.{stage}.{what}" for stage in stages.split()}


END = {"cpu.bundle", "cpu.speech", "cpu.speak"}


def test_stages_are_in_topological_order(tree: Tree) -> None:
    seen: set[str] = set()
    for stage in tree.graph().stages():
        assert {s.name for s in stage.after} <= seen
        assert stage.name not in seen
        seen.add(stage.name)
    outputs = [stage.path(o) for stage in tree.graph().stages() for o in stage.outputs]
    assert len(set(outputs)) == len(outputs)
    keys = [stage.key() for stage in tree.graph().stages()]
    assert len(set(keys)) == len(keys)


def test_removed_bucket_keeps_others_current(tree: Tree) -> None:
    tree.rewrite("cpu", lambda recipe: recipe | {"buckets": {"tokens": [512], "frames": [256, 5120]}})
    tree.build()
    tree.rewrite("cpu", lambda recipe: recipe | {"buckets": {"tokens": [512], "frames": [5120]}})
    assert tree.build() == set(), "it is as it was, and the store still has that"
    assert not (tree.graph().bundle_folder / "f0n-256.so").exists()


def schedule(*features: str, tiles: int = 8) -> Schedule:
    layers = {"conv1d 8->8 k3 d1 float32 8x16": {"outputs": 4, "taps": 3, "tiles": tiles}}
    result = {"features": features, "measured_on": "a CPU", "components": {"decoder": layers}}
    return Schedule.model_validate(result)


def test_schedule_makes_its_component_stale(tree: Tree) -> None:
    path = write_schedule(tree.root / "recipes", "here", schedule(*FEATURES))
    lowered = names("lower compile validate", "decoder-5120")
    assert tree.build(edition="x") == lowered | {"cpu.pack.decoder", "cpu.throughput"} | END
    path.write_text(path.read_text(encoding="utf-8").replace("\n", "\n\n"), encoding="utf-8")
    assert tree.build() == set(), "the same choices in other words"
    path.unlink()
    assert tree.build(edition="xx") == set(), "it is as it was, and the store still has that"


@pytest.mark.parametrize("features", [["avx2"], ["avx2", "fma", "avx512f"], ["neon"]])
def test_schedule_for_other_features_is_ignored(tree: Tree, features: list[str]) -> None:
    write_schedule(tree.root / "recipes", "elsewhere", schedule(*features))
    assert tree.build() == set()
    lowering = next(s for s in tree.graph().stages() if s.name == "cpu.lower.decoder-5120")
    assert lowering.settings()["schedule"] == {}, "such a CPU goes by the rules"


def test_schedule_ignores_the_order_of_features(tree: Tree) -> None:
    write_schedule(tree.root / "recipes", "any-name", schedule(*reversed(FEATURES), tiles=5))
    lowering = next(s for s in tree.graph().stages() if s.name == "cpu.lower.decoder-5120")
    assert [choice["tiles"] for choice in lowering.settings()["schedule"].values()] == [5]


def test_recipes_share_stages_of_their_model(tree: Tree) -> None:
    (tree.root / "recipes" / "mine.yaml").write_text(
        "model: kokoro-82m\ntarget: {kind: llvm, mcpu: znver4}\nlength: masked\ntimeout_s: 7\n"
        "buckets: {tokens: [64], frames: [128, 512]}\npatches: {bert: []}\ngates: {f0n: {min_snr_db: 10}}\n",
        encoding="utf-8",
    )
    one, other = ({s.name: s for s in tree.graph(name).stages()} for name in ("cpu", "mine"))
    shared = one.keys() & other.keys()
    assert shared == {"kokoro-82m.checkpoint", "kokoro-82m.reference", "kokoro-82m.front_end"}
    for name in shared:
        assert one[name].derivation() == other[name].derivation()
        assert one[name].settings() == other[name].settings()
        for attribute in ("doc", "folder", "work", "function", "outputs", "timeout_s", "cache"):
            assert getattr(one[name], attribute) == getattr(other[name], attribute)
    assert tree.build("mine").isdisjoint(shared)
    assert tree.build("cpu") == set()


def test_recipe_sets_the_timeout_of_stages(tree: Tree) -> None:
    tree.rewrite("cpu", lambda recipe: recipe | {"timeout_s": 7})
    for stage in tree.graph().stages():
        assert (stage.timeout_s == 7) == stage.name.startswith("cpu."), stage.name
    assert tree.build() == set()


def test_derivations_contain_no_path(built: Tree, tree: Tree) -> None:
    ours, theirs = ({s.name: s for s in t.graph().stages()} for t in (built, tree))
    assert built.root != tree.root
    for name, stage in ours.items():
        assert stage.key() == theirs[name].key()
        derivation = json.dumps(stage.derivation())
        assert str(tree.root) not in derivation
        assert str(Path.home()) not in derivation
        assert sys.prefix not in derivation


def test_llvm_version_reads_the_installed_tvm() -> None:
    assert re.match(r"\d+\.\d+\.\d+", versions.llvm_version())
