"""kokoro-tvm bench: arguments, files and exit status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tools.bench.support import complete_result
from tools.bench.test_systems import bundle

from kokoro_tvm.cli import main
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.runtime import Bundle
from kokoro_tvm.tools.bench import chart, measure, systems
from kokoro_tvm.tools.bench.measure import BenchPlan
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.results import Result


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two empty bundles."""
    for name in ("cpu", "cpu-bf16"):
        (tmp_path / "artifacts" / name).mkdir(parents=True)
        (tmp_path / "artifacts" / name / "bundle.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plans(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[BenchPlan]:
    """Plans of measurements, which are not run: the result is always the same."""
    requests: list[BenchPlan] = []

    def measured(plan: BenchPlan, log: object, keep: object) -> Result:
        requests.append(plan)
        return complete_result()

    def opened(folder: Path) -> Bundle:
        return bundle(str(folder), folder.name)

    monkeypatch.setattr("kokoro_tvm.runtime.read_bundle", opened)
    monkeypatch.setattr(measure, "measure", measured)
    monkeypatch.setattr(measure, "build_utterances", lambda text, bundle: ((),))
    monkeypatch.setattr(systems, "peer_system", lambda peer, models, threads, isa: peer)
    monkeypatch.setattr(PeerModels, "truth", lambda models, utterance: write_truth(root))
    return requests


def write_truth(root: Path) -> Path:
    np.save(root / "truth.npy", np.ones(600))
    return root / "truth.npy"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *words])
    return int(ended.value.code or 0)


def test_bench_defaults(plans: list[BenchPlan], root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--threads", "3") == 0
    (plan,) = plans
    assert [system.name for system in plan.systems] == [
        *("cpu", "cpu-bf16", "pytorch", "pytorch-bfloat16", "pytorch-compiled"),
        *("onnxruntime", "onnxruntime-int8", "onnxruntime-static-int8", "openvino", "openvino-default"),
    ]
    assert (plan.threads, plan.rounds, plan.cold) == (3, 5, 3)
    assert plan.truth is not None and plan.truth.audio.size == 600
    assert list(plan.utterances) == ["short", "medium", "long", "minute"]
    assert Result.read(root / "artifacts/bench.json") == complete_result()
    assert (root / "artifacts/bench.png").is_file() == chart.can_draw()
    assert "kokoro-tvm cpu" not in capsys.readouterr().err


def test_bench_options(plans: list[BenchPlan], root: Path) -> None:
    words = ["artifacts/cpu", "--against", "openvino, pytorch", "--text", "long", "--rounds", "2"]
    words += ["--cold", "0", "--json-file", "here.json"]
    assert run(*words) == 0
    (plan,) = plans
    assert [system.name for system in plan.systems] == ["cpu", "pytorch", "openvino"]
    assert (list(plan.utterances), plan.rounds, plan.cold) == (["long"], 2, 0)
    assert (root / "here.json").is_file()
    assert (root / "here.png").is_file() == chart.can_draw()


def test_bench_isa_chooses_bundle_and_files(plans: list[BenchPlan], root: Path) -> None:
    v3 = root / "artifacts/x86-64-v3"
    v3.mkdir()
    (v3 / "bundle.json").write_text("{}")
    assert run("--isa", "avx2") == 0
    (plan,) = plans
    assert (plan.isa, plan.systems[0].name) == ("avx2", "x86-64-v3")
    assert (root / "artifacts/bench-avx2.json").is_file()
    assert (root / "artifacts/bench-avx2.png").is_file() == chart.can_draw()
    assert not (root / "artifacts/bench.json").exists()


def test_bench_shows_the_rounds_before_an_interruption(
    plans: list[BenchPlan], monkeypatch: pytest.MonkeyPatch, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = complete_result().model_copy(update={"complete": False, "others_cores": None})

    def interrupted(plan: BenchPlan, log: object, keep: Callable[[Result], None]) -> Result:
        keep(partial)
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure", interrupted)
    assert run() == 130
    assert Result.read(root / "artifacts/bench.json") == partial
    assert "the run was cut off before its end" in capsys.readouterr().out


def test_bench_keeps_the_last_result_without_a_round(
    plans: list[BenchPlan], monkeypatch: pytest.MonkeyPatch, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0

    def interrupted(plan: BenchPlan, log: object, keep: object) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure", interrupted)
    capsys.readouterr()
    assert run() == 130
    assert Result.read(root / "artifacts/bench.json") == complete_result()
    assert capsys.readouterr().out == ""


def test_bench_notes_that_there_is_no_truth(
    plans: list[BenchPlan], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(models: PeerModels, utterance: object) -> Path:
        raise BuildError("There is no checkpoint")

    monkeypatch.setattr(PeerModels, "truth", missing)
    assert run() == 0
    assert plans[0].truth is None
    assert "note: fidelity is not measured: There is no checkpoint" in capsys.readouterr().err


def test_bench_against_none(plans: list[BenchPlan]) -> None:
    assert run("--against", "none") == 0
    assert [system.name for system in plans[0].systems] == ["cpu", "cpu-bf16"]


def test_bench_notes_that_matplotlib_is_missing(
    plans: list[BenchPlan], root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chart, "can_draw", lambda: False)
    assert run() == 0
    assert "note: artifacts/bench.png will not be drawn without matplotlib" in capsys.readouterr().err
    assert not (root / "artifacts/bench.png").exists()


def test_bench_fails_after_printing_if_a_bundle_failed(
    plans: list[BenchPlan], monkeypatch: pytest.MonkeyPatch, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = complete_result()
    ours = result.systems[0].model_copy(update={"problem": "failed to open: ended by signal SIGILL"})
    failed = result.model_copy(update={"systems": (ours, *result.systems[1:])})
    monkeypatch.setattr(measure, "measure", lambda plan, log, keep: failed)
    assert run() == 5
    assert "Not every bundle could be measured: cpu failed to open" in capsys.readouterr().err
    assert (root / "artifacts/bench.json").is_file()


@pytest.mark.parametrize(
    "words, status, outcome",
    [
        (
            ["--against", "torch"],
            2,
            "There is no peer 'torch'. There are: pytorch, pytorch-bfloat16, pytorch-compiled",
        ),
        (["--text", "short,longer"], 2, "There is no text 'longer' to measure. There are: short, medium"),
        (["--rounds", "0"], 2, ""),
        (["artifacts/mine"], 5, "There is no bundle at artifacts/mine"),
    ],
)
def test_bench_refuses_wrong_arguments(
    root: Path, words: list[str], status: int, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == status
    assert outcome in capsys.readouterr().err


def test_bench_fails_without_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run() == 5
    assert "There is no bundle at artifacts/cpu" in capsys.readouterr().err


def test_bench_refuses_outputs_without_a_folder(
    plans: list[BenchPlan], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--json-file", "missing/bench.json") == 2
    assert "The folder missing for bench.json does not exist" in capsys.readouterr().err
    assert plans == []
