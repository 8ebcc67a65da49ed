"""kokoro-tvm profile: its tables and files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import kokoro_tvm.runtime
from kokoro_tvm.cli.develop import profile
from kokoro_tvm.common.errors import InputError, ValidationError
from kokoro_tvm.runtime.session.profiler import Call, Kernel
from kokoro_tvm.tools.lab.regressions import KernelComparison, KernelGroup, Regressions

BY_KERNEL = """\
component, kernel   calls       ms   share   GFLOP/s   GB/s
───────────────────────────────────────────────────────────
decoder                 3   180.00   90.0%     320.0    9.6
  conv1d_44             2   100.00   50.0%     576.0    1.2
  snake_9               1    80.00   40.0%         —   20.0
bert                    4    20.00   10.0%     450.0    2.1
  linear_1              1    18.50    9.2%     486.5    2.2
  vm                    1     1.20    0.6%         —      —
  2 others              2     0.30    0.1%
"""
BY_OPERATION = """\
operation   calls       ms   share   GFLOP/s   GB/s
───────────────────────────────────────────────────
conv1d          2   100.00   50.0%     576.0    1.2
snake           1    80.00   40.0%         —   20.0
linear          1    18.50    9.2%     486.5    2.2
vm              1     1.20    0.6%         —      —
2 others        2     0.30    0.1%
"""
HEADING = "artifacts/cpu, 2 threads: 2.00 s of speech in 200.0 ms (real-time factor 0.100)\n"
CLOSING = "Means of 2: 200.0 ms in compiled code. Recording changes the time of an utterance by +2.0%.\n"


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command("profile")(profile.profile)
    return app


def fake_profile() -> profile.Profile:
    """Return two equal runs: decoder 180 ms, bert 20 ms, with kernels below the smallest share."""
    run = [
        Call("bert", "bert_linear_1", 0.0, 0.0185, 40_000_000, 100),
        Call("bert", "vm.builtin.alloc_tensor", 0.0, 0.0012, 0, 1),
        Call("bert", "bert_take", 0.0, 0.0001, 500_000, 100),
        Call("bert", "bert_gelu_7", 0.0, 0.0002, 500_000, 100),
        Call("decoder", "decoder_conv1d_44", 0.0, 0.05, 60_000_000, 24_000),
        Call("decoder", "decoder_conv1d_44", 0.0, 0.05, 60_000_000, 24_000),
        Call("decoder", "decoder_snake_9", 0.0, 0.08, 1_600_000_000, 24_000),
    ]
    kernels = {
        ("bert", "bert_linear_1"): Kernel("linear", 9e7),
        ("decoder", "decoder_conv1d_44"): Kernel("conv1d", 1.2e6),
        ("decoder", "decoder_snake_9"): Kernel("snake"),
    }
    return profile.Profile("artifacts/cpu", 2, 2.0, 0.2, 0.204, 2, run * 2, kernels)


def printed(table: Table) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=100).print(table)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(("by", "expected"), [("kernel", BY_KERNEL), ("operation", BY_OPERATION)])
def test_table_by_kernel_and_operation(by: str, expected: str) -> None:
    assert printed(profile.table(fake_profile(), by)) == expected.splitlines()


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Replace the measurement by one that records its arguments."""
    requests: dict[str, object] = {}

    class FakeSynthesizer:
        def __init__(self, path: Path, threads: int | None) -> None:
            requests.update(bundle=path, threads=threads)

        def phonemize(self, text: str, voice: str) -> list[str]:
            return [f"phonemes of {text}"]

    def measure(synthesizer: object, parts: list[str], voice: str, repeat: int) -> profile.Profile:
        requests.update(parts=parts, voice=voice, repeat=repeat)
        return fake_profile()

    monkeypatch.setattr(kokoro_tvm.runtime, "Synthesizer", FakeSynthesizer)
    monkeypatch.setattr(profile, "_measure", measure)
    return requests


def test_profile_defaults(app: typer.Typer, requests: dict[str, object]) -> None:
    result = CliRunner().invoke(app, ["profile"], catch_exceptions=False)
    assert result.stdout.startswith(HEADING)
    assert "  conv1d_44 " in result.stdout
    assert result.stdout.endswith(CLOSING)
    assert requests.pop("parts") == [profile._SENTENCE]
    assert requests == {"bundle": Path("artifacts/cpu"), "threads": None, "voice": None, "repeat": 3}


def test_profile_options(app: typer.Typer, requests: dict[str, object], tmp_path: Path) -> None:
    words = ["profile", "--text", "Hi.", "--bundle", "elsewhere", "--threads", "1", "--voice", "am_adam"]
    words += ["--repeat", "5", "--by", "operation"]
    words += ["--json-file", str(tmp_path / "p.json"), "--trace", str(tmp_path / "t.json")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.stdout.splitlines()[1].startswith("operation ")
    assert requests == {
        "bundle": Path("elsewhere"),
        "threads": 1,
        "parts": ["phonemes of Hi."],
        "voice": "am_adam",
        "repeat": 5,
    }
    outcome = json.loads((tmp_path / "p.json").read_text())
    assert (outcome["bundle"], outcome["threads"], outcome["repeat"], outcome["plain_seconds"]) == (
        "artifacts/cpu",
        2,
        2,
        0.2,
    )
    assert [row["name"] for row in outcome["component"]] == ["decoder", "bert"]
    assert len(outcome["kernel"]) == 6
    assert outcome["kernel"][0]["gflops_per_second"] == pytest.approx(576)
    assert sum(row["share"] for row in outcome["kernel"]) == pytest.approx(1)
    assert len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]) == 14


def test_profile_refuses_text_with_phonemes(requests: dict[str, object]) -> None:
    with pytest.raises(InputError, match="Give one of them"):
        profile.profile(text="a", phonemes="a")
    assert requests == {}


BESIDE = """\
kernels          kFLOP a step   ms before      now   ratio   minima   share
───────────────────────────────────────────────────────────────────────────
decoder conv1d          1,442      100.00   120.00    1.20     1.10   75.0%
f0n lstm                    —       20.00    10.00    0.50     0.50   25.0%
"""
CONV, LSTM = KernelGroup("decoder", "conv1d", 1441792.0), KernelGroup("f0n", "lstm", 0.0)
COMPARISONS = (
    KernelComparison(CONV, 0.1, 0.12, 0.1, 0.11, 0.75),
    KernelComparison(LSTM, 0.02, 0.01, 0.02, 0.01, 0.25),
)


def test_comparison_table() -> None:
    assert printed(profile.comparison_table(COMPARISONS)) == BESIDE.splitlines()


def test_regressions_name_slower_kernels() -> None:
    named = r"last/cpu take: decoder conv1d, 1,441,792 FLOP a step: 1\.20\. Medians"
    with pytest.raises(ValidationError, match=named):
        Regressions(COMPARISONS, ()).require(Path("last/cpu"))
    Regressions(COMPARISONS[1:], ()).require(Path("last/cpu"))


def test_profile_against_the_same_bundle(toy: Path, tmp_path: Path, app: typer.Typer) -> None:
    words = ["profile", "--bundle", str(toy), "--against", str(toy), "--repeat", "2"]
    words += ["--phonemes", "hˈaɪ.", "--voice", "af_heart", "--json-file", str(tmp_path / "p.json")]
    CliRunner().invoke(app, words)
    numbers = json.loads((tmp_path / "p.json").read_text())
    assert numbers["alone"] == []
    assert any(kernel["kind"]["operation"] == "conv1d" for kernel in numbers["kernels"])
