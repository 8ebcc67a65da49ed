"""kokoro-tvm build: the stages that run, and its exit status."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from doit.exceptions import TaskFailed

from kokoro_tvm.builder import tasks
from kokoro_tvm.builder.engine.reporter import LineReporter, make_reporter
from kokoro_tvm.builder.engine.worker import WorkerError
from kokoro_tvm.cli import main
from kokoro_tvm.common.errors import BuildError, KokoroTvmError, RecipeError, ValidationError
from kokoro_tvm.recipe import load_built

RECIPES = Path(__file__).parents[3] / "recipes"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped recipes, as the working directory."""
    (tmp_path / "recipes").mkdir()
    for name in ("cpu", "kokoro-82m"):
        shutil.copy(RECIPES / f"{name}.yaml", tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclass
class FakeBuild:
    """A build that runs no stage: it records their names, and fails those that have an error."""

    stages: list[str] = field(default_factory=list)
    errors: dict[str, KokoroTvmError] = field(default_factory=dict)
    forced: list[str] = field(default_factory=list)

    def task(
        self, stage: Any, reporter: LineReporter, budget: Any, first: Sequence[str] = (), force: bool = False
    ) -> dict[str, Any]:
        def run() -> Any:
            self.stages.append(stage.name)
            self.forced += [stage.name] if force or reporter.always else []
            error = self.errors.get(stage.name)
            if error is None:
                return None
            reporter.record_error(stage.name, error)
            return TaskFailed(str(error))

        deps = [*first, *(s.name for s in stage.after)]
        return {"basename": stage.name, "doc": stage.doc, "actions": [run], "task_dep": deps}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> FakeBuild:
    ran = FakeBuild()
    monkeypatch.setattr(tasks, "_task", ran.task)
    return ran


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["build", *words])
    return int(exit_.value.code or 0)


def test_build_defaults_to_cpu(root: Path, ran: FakeBuild, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert len(ran.stages) == 35
    built, bundle, following = capsys.readouterr().out.splitlines()[-3:]
    assert built.startswith("35 stages built, 0 up to date (")
    assert bundle == "The bundle is artifacts/cpu, and it says hello in artifacts/cpu/hello.wav."
    assert following.startswith("Next: ") and " say --bundle artifacts/cpu " in following


def test_build_with_overrides_writes_another_bundle(
    root: Path, ran: FakeBuild, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("cpu", "--with", "buckets.frames=[512]") == 0
    assert "cpu+buckets-frames-512.compile.decoder-512" in ran.stages
    assert not [stage for stage in ran.stages if stage.startswith("cpu.")]
    first, *_, bundle, _ = capsys.readouterr().out.splitlines()
    assert first == (
        "cpu with buckets.frames=[512] is built as cpu+buckets-frames-512, in "
        "artifacts/cpu+buckets-frames-512. "
        "No recipe has these values: to keep them, write one that extends cpu."
    )
    assert bundle.startswith("The bundle is artifacts/cpu+buckets-frames-512, and ")
    recipe = load_built("cpu+buckets-frames-512", root)  # by which `validate` measures it
    assert recipe.buckets.frames == (512,)
    (root / "artifacts" / ".build" / "cpu+buckets-frames-512" / "try.json").unlink()
    with pytest.raises(RecipeError, match=r"is a try, .* build it again: kokoro-tvm build cpu --with …"):
        load_built("cpu+buckets-frames-512", root)


def test_build_refuses_overrides_of_several_recipes(root: Path, ran: FakeBuild) -> None:
    assert run("cpu", "cpu-bf16", "--with", "timeout_s=7") == 2
    assert run("cpu", "--with", "timeout=7") == 2
    assert ran.stages == []


@pytest.mark.parametrize("words", [["cpu/f0n-5120"], ["cpu.validate.f0n-5120", "-n", "2"]])
def test_build_of_one_artifact(root: Path, ran: FakeBuild, words: list[str]) -> None:
    assert run(*words) == 0
    chain = {f"cpu.{stage}.f0n-5120" for stage in ("export", "lower", "compile", "validate")}
    shared = {"kokoro-82m.checkpoint", "kokoro-82m.reference"}
    assert set(ran.stages) == chain | shared | {"cpu.machine", "cpu.pack.f0n"}


@pytest.mark.parametrize(
    ("variable", "paranoid"),
    [(None, False), ("1", True), ("0", False)],
)
def test_build_is_paranoid_if_the_environment_says_so(
    root: Path, ran: FakeBuild, monkeypatch: pytest.MonkeyPatch, variable: str | None, paranoid: bool
) -> None:
    requests: list[bool] = []
    project = tasks.Project

    def opened(root: Path, paranoid: bool, *others: Any) -> Any:
        requests.append(paranoid)
        return project(root, paranoid, *others)

    monkeypatch.setattr(tasks, "Project", opened)
    if variable is not None:
        monkeypatch.setenv("KOKORO_TVM_PARANOID", variable)
    assert run("cpu.machine") == 0
    assert requests == [paranoid]


def test_build_with_another_root(
    root: Path, ran: FakeBuild, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert run("cpu.machine", "--root", str(root)) == 0
    assert ran.stages == ["cpu.machine"]
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BuildError("It broke."), 3),
        (WorkerError("It crashed."), 3),
        (ValidationError("It missed."), 4),
    ],
)
@pytest.mark.parametrize("parallel", [[], ["-n", "2"]])
def test_build_exits_with_the_status_of_the_error(
    root: Path,
    ran: FakeBuild,
    capsys: pytest.CaptureFixture[str],
    error: KokoroTvmError,
    status: int,
    parallel: list[str],
) -> None:
    ran.errors["cpu.compile.f0n-5120"] = error
    assert run(*parallel) == status
    out, err = capsys.readouterr()
    assert err == f"\ncpu.compile.f0n-5120: {error}\n"
    assert "1 failed, 4 not built because of that." in out
    assert "cpu.validate.decoder-5120" in ran.stages


def test_a_recipe_that_cannot_be_read(root: Path, ran: FakeBuild, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "recipes" / "mine.yaml").write_text(
        "model: kokoro-82m\nbuckets: {tokens: [0]}\n", encoding="utf-8"
    )
    assert run("mine") == 2
    assert capsys.readouterr().err.startswith("\nrecipes/mine.yaml:")
    assert run("cpu.machine") == 0


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["cpo"], "there is no task `cpo`; did you mean `cpu`?"),
        (["cpu.machina"], "there is no task `cpu.machina`; did you mean `cpu.machine`?"),
        (["cpu/f0n-512"], "the recipe cpu has no artifact `f0n-512`; did you mean `f0n-5120`?"),
        (["cpo/f0n-5120"], "recipes: there is no recipe `cpo`; did you mean `cpu`?"),
        (["--dump-ir", "ir"], "--dump-ir takes one artifact"),
        (["--dump-ir", "ir", "f0n-5120", "bert-512"], "--dump-ir takes one artifact"),
        (["--dump-ir", "ir", "cpu/f0n-1"], "the recipe cpu has no artifact `f0n-1`"),
        (["cpu", "--root", "nowhere"], "nowhere/recipes: there is no such folder of recipes"),
    ],
)
def test_build_refuses_unknown_names(
    root: Path, ran: FakeBuild, words: list[str], result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert err.startswith(result)
    assert "Traceback" not in out + err
    assert not ran.stages
    assert [p.name for p in root.iterdir()] == ["recipes"]


def test_build_forces_the_named_stages_alone(
    root: Path, ran: FakeBuild, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--force", "cpu.machine") == 0
    assert (ran.stages[-1], ran.forced) == ("cpu.machine", ["cpu.machine"])
    assert run("cpu", "--force", "cpu.machine", "--force", "cpu.export.bert-512") == 0
    assert {*ran.forced} == {"cpu.machine", "cpu.export.bert-512"}
    assert run("--force", "cpu.machin") == 2
    assert "`cpu.machin`; did you mean `cpu.machine`?" in capsys.readouterr().err
    assert run("cpu", "--force", "cpu") == 2
    assert run("--force", "cpu.machine", "--with", "length=masked", "cpu") == 2


def test_doit_always_execute_forces_stages(root: Path, ran: FakeBuild) -> None:
    from doit.cmd_base import ModuleTaskLoader
    from doit.doit_cmd import DoitMain

    reporter = make_reporter()
    loader = ModuleTaskLoader(
        {
            "DOIT_CONFIG": tasks.doit_config(reporter),
            "task_recipes": lambda: tasks.recipe_tasks(root, reporter),
        }
    )
    for options, forced in (([], []), (["-a"], ["cpu.machine"])):
        command = {"COMMAND": {"run": "kokoro_tvm.builder.commands:Run"}}
        main = DoitMain(loader, config_filenames=(), extra_config=command)
        assert main.run(["run", *options, "cpu.machine"]) == 0
        assert ran.forced == forced
