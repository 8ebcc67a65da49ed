"""kokoro-tvm profile: the table it prints, the files it writes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))
from toy_bundle import compile_into, refresh, write_bundle  # noqa: E402

from kokoro_tvm.cli import profile  # noqa: E402
from kokoro_tvm.errors import InputError  # noqa: E402
from kokoro_tvm.runtime.kernels import Kernel  # noqa: E402
from kokoro_tvm.runtime.profiler import Call  # noqa: E402

BY_KERNEL = """\
artifacts/cpu, 2 threads: 2.00 s of speech in 200.0 ms (real-time factor 0.100)
"""


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer(pretty_exceptions_enable=False)
    made.callback()(lambda: None)
    profile.register(made)
    return made


def made_up() -> profile.Profile:
    """Two equal runs: decoder 180 ms, bert 20 ms, with a kernel too short to be told of."""
    one = [
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
    return profile.Profile("artifacts/cpu", 2, 2.0, 0.2, 0.204, 2, one * 2, kernels)


def printed(by: str) -> str:
    stream = io.StringIO()
    Console(file=stream, width=100).print(profile.table(made_up(), by))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_by_kernel() -> None:
    assert printed("kernel") == (
        "component, kernel   calls       ms   share   GFLOP/s   GB/s\n"
        "────────────────────────────────────────────────────────────\n"
    )


def test_by_operation() -> None:
    assert printed("operation") == ""


def test_around_the_table() -> None:
    assert profile._heading(made_up()) == (
        "artifacts/cpu, 2 threads: 2.00 s of speech in 200.0 ms (real-time factor 0.100)"
    )
    assert profile._closing(made_up()) == (
        "Means of 2: 200.0 ms in compiled code. Being recorded changes an utterance's time by +2.0%."
    )


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bundle = write_bundle(tmp_path_factory.mktemp("profile") / "toy")
    compile_into(bundle, "exact")
    refresh(bundle)
    return bundle


def test_files(app: typer.Typer, toy: Path, tmp_path: Path) -> None:
    words = ["profile", "--bundle", str(toy), "--phonemes", "abc.", "--repeat", "2", "--threads", "1"]
    words += ["--json", str(tmp_path / "p.json"), "--trace", str(tmp_path / "t.json")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    for component in ("bert", "duration", "text_encoder", "f0n", "decoder"):
        assert f"\n{component} " in result.stdout
    told = json.loads((tmp_path / "p.json").read_text())
    assert (told["bundle"], told["threads"], told["repeat"]) == (str(toy), 1, 2)
    assert sum(row["share"] for row in told["kernel"]) == pytest.approx(1)
    assert {row["component"] for row in told["component"]} == {row["component"] for row in told["kernel"]}
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert len(events) == 2 * sum(row["calls"] for row in told["kernel"])


def test_text_and_phonemes_at_once(toy: Path) -> None:
    with pytest.raises(InputError, match="give one of them"):
        profile.profile(text="a", phonemes="a", bundle=toy)
