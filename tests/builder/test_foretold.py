"""Predictions of status, plan and explain after an edit, compared with the build."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from edited import Edited, functions_in
from toys import copy_repository, doit

import kokoro_tvm

PACKAGE = Path(kokoro_tvm.__file__).parent
pytestmark = pytest.mark.slow("builds stages of the toy after each of several edits")


class Repository:
    """Repository in which the toy is built, with a copy of the package."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.edited = Edited(root / "kokoro_tvm", {})

    def say(self, *words: str) -> Any:
        """Return the JSON that a command prints."""
        code = "import sys; from kokoro_tvm.cli import main; main(sys.argv[1:])"
        command = [sys.executable, "-c", code, *words, "--json"]
        process = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return json.loads(process.stdout)

    def build(self, recipe: str) -> dict[str, str]:
        """Build, and return "done" or "restored" for each stage that ran."""
        process = doit(self.root, recipe)
        assert process.returncode == 0, process.stdout + process.stderr
        return dict(re.findall(r"\] +(\S+) +(done|restored) in ", process.stdout))

    def judge(self, recipe: str = "toy") -> tuple[dict[str, Any], dict[str, str]]:
        """Check that the predictions agree with the build, and return both."""
        plan = {step["stage"]: step for step in self.say("plan", recipe)}
        states = {row["name"]: row for row in self.say("status", recipe)[recipe]}
        explained = {reason["stage"]: reason for reason in self.say("explain", recipe)["reasons"]}
        did = self.build(recipe)
        for name, step in plan.items():
            allowed = {
                "nothing": {None},
                "restore": {"restored"},
                "run": {"done", "restored"} if step["because"] else {"done"},
                "perhaps": {None, "done", "restored"},
            }
            assert did.get(name) in allowed[step["action"]], (name, step, did)
        assert did.keys() <= plan.keys()
        assert {*explained} == {name for name, step in plan.items() if step["state"] != "current"}
        stale = {stage for row in states.values() for stage in row["stages"]}
        assert stale <= {name for name, step in plan.items() if step["action"] != "nothing"}
        assert bool(stale) is any(step["state"] != "current" for step in plan.values())
        assert {row["state"] for row in self.say("status", recipe)[recipe]} == {"current"}
        assert {step["action"] for step in self.say("plan", recipe)} == {"nothing"}
        return plan, did


@pytest.fixture(scope="module")
def repository(toy_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    root = copy_repository(toy_root, tmp_path_factory.mktemp("foretold") / "repository")
    shutil.copytree(PACKAGE, root / "kokoro_tvm", ignore=shutil.ignore_patterns("__pycache__"))
    return Repository(root)


def actions(plan: dict[str, Any], *wanted: str) -> set[str]:
    return {name for name, step in plan.items() if step["action"] in wanted}


@pytest.mark.parametrize(
    ("file", "function", "runs"),
    [
        ("runtime/text/frontend/normalization/emoji.py", "names", set()),
        ("native/libtvm/wasm.py", "compile_wasm", set()),
        # What it writes is what it was, and nothing after it runs.
        ("model/patches/f0n.py", "_f0n_train", {"toy.export.f0n-130"}),
        ("kernels/normal_noise.py", "_build_cpu_kernel", {"toy.lower.decoder-130"}),
    ],
)
def test_plan_predicts_what_runs(repository: Repository, file: str, function: str, runs: set[str]) -> None:
    (edited,) = [f for f in functions_in(repository.edited.package, file) if f.name == function]
    with repository.edited.edit_function(edited):
        plan, did = repository.judge()
        assert actions(plan, "run") == did.keys() == runs
        assert {*did.values()} <= {"done"}
    plan, did = repository.judge()
    assert actions(plan, "restore") == did.keys() == runs
    assert actions(plan, "run", "perhaps") == set()


def test_plan_predicts_what_is_restored(repository: Repository) -> None:
    """This includes later stages, whose inputs are known before they are restored."""
    with repository.edited.edit(
        "native/toolchains/gnu.py", '[self.command, "-shared"', '[self.command, "-s", "-shared"'
    ):
        plan, did = repository.judge()
        linked = {name for name in plan if name.startswith("toy.compile.")}
        assert actions(plan, "run") == linked
        assert linked < did.keys() <= linked | actions(plan, "perhaps")
    plan, back = repository.judge()
    assert actions(plan, "restore") == back.keys() == did.keys()


def test_plan_predicts_edits_of_recipes(repository: Repository) -> None:
    recipes = repository.root / "recipes"

    def rewrite(name: str, change: Callable[[Any], Any], new: str | None = None) -> None:
        recipe = yaml.safe_load((recipes / f"{name}.yaml").read_text(encoding="utf-8"))
        (recipes / f"{new or name}.yaml").write_text(yaml.safe_dump(change(recipe)), encoding="utf-8")

    def stricter(recipe: Any) -> Any:
        recipe["gates"]["f0n"]["min_snr_db"] = 109
        return recipe

    rewrite("toy-model", stricter)
    plan, did = repository.judge()
    assert actions(plan, "run") >= {"toy.validate.f0n-130"} == {n for n in did if ".validate." in n}
    rewrite("toy", lambda recipe: recipe, "another")
    plan, did = repository.judge("another")
    assert {"another.machine", "another.lower.decoder-130", "another.pack.bert"} <= actions(plan, "restore")
    assert {name for name, how in did.items() if how == "restored"} >= actions(plan, "restore")
