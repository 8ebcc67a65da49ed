"""Plans as files, saved and spoken by the command."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile
import typer
from toy_bundle import FakeRunner
from typer.testing import CliRunner

import kokoro_tvm.runtime
from kokoro_tvm.cli.speak import say
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Plan, Synthesizer


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer(pretty_exceptions_enable=False)
    made.command("say")(say.say)
    made.callback()(lambda: None)
    return made


def test_say_speaks_an_edited_plan(
    app: typer.Typer, roomy: tuple[Synthesizer, FakeRunner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts, _ = roomy
    monkeypatch.setattr(kokoro_tvm.runtime, "Synthesizer", lambda *_, **__: tts)
    saved, output = tmp_path / "plan.json", tmp_path / "a.wav"
    words = ["say", "ab. cd.", "--phonemes", "--voice", "bf_emma", "--save-plan", str(saved)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    plan = Plan.from_json(saved.read_text())
    assert len(plan.pieces) == 1
    assert result.stdout == f"{saved}: a plan of {plan.seconds:.2f} s in 1 piece\n"
    assert plan == tts.plan_phonemes("ab. cd.", voice="bf_emma")
    edited = plan.with_durations(0, 0, [3, 3])
    saved.write_text(edited.to_json())
    CliRunner().invoke(app, ["say", "-i", str(saved), "-o", str(output)], catch_exceptions=False)
    assert soundfile.info(output).frames == edited.samples != plan.samples


def test_say_save_plan_plays_nothing(app: typer.Typer, tmp_path: Path) -> None:
    words = ["say", "Hello.", "--save-plan", str(tmp_path / "plan.json"), "--play"]
    with pytest.raises(InputError, match="--save-plan speaks nothing"):
        CliRunner().invoke(app, words, catch_exceptions=False)
