"""The whole measurement with systems that only pretend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.bench.support import absent, fake_system

from kokoro_tvm.tools.bench import contender
from kokoro_tvm.tools.bench import measure as measuring
from kokoro_tvm.tools.bench.child import MeasuredProcessError
from kokoro_tvm.tools.bench.cold import cold_command, cold_start
from kokoro_tvm.tools.bench.contender import Contender, SpeechTiming
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.measure import BenchPlan, measure, rotated
from kokoro_tvm.tools.bench.results import Result, SystemResult, TextInfo
from kokoro_tvm.tools.bench.systems import HELD_BY, System
from kokoro_tvm.validation.measure.flops import component_flops

HELLO = BenchUtterance((0, 1, 2, 0), (0.25,) * 256)
LONG = BenchUtterance((0, *range(1, 30), 0), (0.25,) * 256)


@pytest.fixture(autouse=True)
def _fake_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "METER", "benchmarking.fake_meter")


def run(*systems: System | SystemResult, cold: int = 0) -> Result:
    spoken = {"short": (HELLO,), "minute": (LONG, LONG)}
    return measure(BenchPlan(systems, spoken, HELLO, threads=2, rounds=2, cold=cold))


def only(result: Result) -> SystemResult:
    (system,) = result.systems
    return system


def test_what_is_measured() -> None:
    result = run(fake_system("cpu", ours=True), cold=0)
    system = only(result)
    assert (result.threads, result.rounds, result.peak_flops_per_s) == (2, 2, {"float32": 1e12})
    assert [(text.name, text.tokens) for text in result.texts] == [("short", (4,)), ("minute", (31, 31))]
    assert (system.problem, system.details, system.disk_bytes) == (None, "fake, 2 threads", 1000)
    assert (system.cold_starts_s, system.cold_start_s) == ((), None)
    short, minute = system.texts
    assert (short.audio_s, minute.audio_s) == (2.5, 5.0)
    assert len(short.seconds_s) == 2
    assert short.minimum_s == min(short.seconds_s) <= short.median_s
    assert short.rtf == short.median_s / 2.5
    (decoder,) = minute.components
    assert decoder.flops == 2 * component_flops("decoder", 31, 100)
    assert decoder.flops_per_s == decoder.flops / 0.01
    assert decoder.share_of_peak == decoder.flops_per_s / 1e12


def test_only_the_decoder_is_held_against_a_peak_below_float32() -> None:
    """All other components compute in float32, whatever the bundle's precision."""
    text = TextInfo(name="short", tokens=(4,))
    answer = SpeechTiming(1.0, [60_000], {"bert": 0.1, "decoder": 0.2}, None)
    peaks = {"float32": 1e12, "bfloat16": 2e12}
    shares = {
        each.component: each.share_of_peak / each.flops_per_s
        for each in contender._components(text, [answer], "bfloat16", peaks)
        if each.share_of_peak is not None
    }
    assert shares == {"bert": pytest.approx(1 / 1e12), "decoder": pytest.approx(1 / 2e12)}


def test_a_precision_without_a_peak_has_no_share() -> None:
    short, _ = only(run(fake_system("cpu-bf16", precision="bfloat16"))).texts
    assert short.components[0].share_of_peak is None


def test_one_that_fails_leaves_the_others_alone() -> None:
    missing = absent("openvino", "not run: it is not there")
    result = run(
        fake_system("good"), fake_system("bad", "crash"), fake_system("shy", "refuse"), missing, cold=1
    )
    good, bad, shy, last = result.systems
    assert good.problem is None and len(good.texts) == 2 and len(good.cold_starts_s) == 1
    assert good.import_s is not None and good.import_s > 0
    assert shy.import_s is None
    assert bad.problem == "failed on the text short: ended by signal SIGSEGV: its log is empty."
    assert str(shy.problem).startswith("failed to open: ended with exit status 1")
    assert last is missing
    assert [system.texts for system in (bad, shy)] == [(), ()]
    assert [system.name for system in result.systems] == ["good", "bad", "shy", "openvino"]


def test_systems_take_turns_on_every_text_and_another_begins_each_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken: list[str] = []

    def speak(self: Contender, text: str, utterances: object) -> None:
        spoken.append(f"{self.system.name} {text}")

    monkeypatch.setattr(Contender, "speak", speak)
    lines: list[str] = []
    plan = BenchPlan(
        tuple(map(fake_system, "abc")),
        {"short": (HELLO,), "minute": (LONG,)},
        HELLO,
        threads=2,
        rounds=1,
        cold=0,
    )
    measure(plan, lines.append)
    assert spoken == [
        *("a short", "b short", "c short", "a minute", "b minute", "c minute"),
        *("b short", "c short", "a short", "b minute", "c minute", "a minute"),
    ]
    assert lines[3:] == [
        *("first calls: short", "first calls: minute"),
        *("round 1 of 1: short", "round 1 of 1: minute"),
    ]


@given(st.lists(st.integers()), st.integers(0, 100))
def test_rotated(items: list[int], by: int) -> None:
    turned = rotated(items, by)
    assert sorted(turned) == sorted(items)
    assert rotated(turned, -by) == items
    if items:
        assert turned[0] == items[by % len(items)]


def test_what_is_finished_is_kept_round_by_round() -> None:
    kept: list[Result] = []
    plan = BenchPlan(
        (fake_system("cpu", ours=True),), {"short": (HELLO,)}, HELLO, threads=2, rounds=3, cold=0
    )
    last = measure(plan, keep=kept.append)
    assert [len(only(result).texts[0].seconds_s) for result in kept] == [1, 2, 3]
    assert [result.complete for result in (*kept, last)] == [False, False, False, True]
    assert kept[-1].model_copy(update={"complete": True, "others_cores": last.others_cores}) == last


def test_what_is_finished_is_kept_when_the_run_is_interrupted() -> None:
    kept: list[Result] = []

    def log(line: str) -> None:
        if line.startswith("round 2"):
            raise KeyboardInterrupt

    plan = BenchPlan(
        (fake_system("cpu", ours=True),), {"short": (HELLO,)}, HELLO, threads=2, rounds=3, cold=1
    )
    with pytest.raises(KeyboardInterrupt):
        measure(plan, log, kept.append)
    (result,) = kept
    assert len(only(result).texts[0].seconds_s) == 1
    assert not result.complete


def test_a_peer_is_held_by_its_environment_and_ours_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    held = replace(fake_system("pytorch", "environment"), variables=HELD_BY["avx2"])
    systems = (fake_system("cpu", "environment", ours=True), held)
    result = measure(BenchPlan(systems, {"short": (HELLO,)}, HELLO, threads=2, rounds=1, cold=0, isa="avx2"))
    assert [system.details for system in result.systems] == ["ONEDNN_MAX_CPU_ISA=", "ONEDNN_MAX_CPU_ISA=AVX2"]
    assert [system.variables for system in result.systems] == [{}, HELD_BY["avx2"]]
    assert result.isa == "avx2"


def test_comparisons_are_of_medians() -> None:
    result = run(fake_system("cpu", ours=True), fake_system("pytorch"), fake_system("int", precision="int8"))
    assert {(c.text, c.against) for c in result.comparisons} == {
        (text, against)
        for text in ("short", "minute")
        for against in ("pytorch", "best float32 peer", "best peer")
    }
    ours, stock, _ = (system.texts[0] for system in result.systems)
    ratio = next(c.ratio for c in result.comparisons if (c.text, c.against) == ("short", "pytorch"))
    assert ratio == ours.median_s / stock.median_s


def test_cold_start_of_a_peer_writes_a_wav(tmp_path: Path) -> None:
    wav = tmp_path / "hello.wav"
    command = cold_command(fake_system("one", "chatty"), HELLO, tmp_path, wav)
    assert cold_start(command, 2, wav, tmp_path / "log") > 0
    assert wav.stat().st_size == 44 + 2 * 60000


def test_cold_start_of_ours_is_the_command_people_use(tmp_path: Path) -> None:
    command = cold_command(fake_system("cpu", "a/bundle", ours=True), HELLO, tmp_path, tmp_path / "h.wav")
    assert command[3:] == [
        *("say", "--phonemes", "həlˈO wˈɜɹld.", "--bundle", "a/bundle", "--voice", "af_heart", "-o"),
        str(tmp_path / "h.wav"),
    ]
    with pytest.raises(
        MeasuredProcessError, match=r"the cold start ended with exit status 5: .*no bundle at a/bundle"
    ):
        cold_start(command, 2, tmp_path / "h.wav", tmp_path / "log")
