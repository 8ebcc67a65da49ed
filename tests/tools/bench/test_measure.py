"""A whole measurement with fake systems."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.bench.fake_engine import sine
from tools.bench.support import absent, fake_system

from kokoro_tvm.tools.bench import contender
from kokoro_tvm.tools.bench import measure as measuring
from kokoro_tvm.tools.bench.contender import Contender, SpeechTiming, cold_command
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.fidelity import Truth
from kokoro_tvm.tools.bench.measure import BenchPlan, measure, rotate
from kokoro_tvm.tools.bench.results import Result, SystemResult, TextInfo
from kokoro_tvm.tools.bench.systems import ISA_VARIABLES, System
from kokoro_tvm.validation.measure.flops import component_flops

HELLO = BenchUtterance((0, 1, 2, 0), (0.25,) * 256)
LONG = BenchUtterance((0, *range(1, 30), 0), (0.25,) * 256)


@pytest.fixture(autouse=True)
def _fake_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "METER", "tools.bench.fake_meter")


def run(*systems: System | SystemResult, cold: int = 0) -> Result:
    utterances = {"short": (HELLO,), "minute": (LONG, LONG)}
    return measure(BenchPlan(systems, utterances, HELLO, threads=2, rounds=2, cold=cold))


def test_speech_without_noise_is_compared_with_the_truth() -> None:
    systems = (fake_system("cpu", ours=True), fake_system("quiet", "mute"), fake_system("bad", "crash"))
    truth = Truth(HELLO, 3.0 * sine(60000))
    result = measure(BenchPlan(systems, {"short": (HELLO,)}, HELLO, 2, rounds=1, cold=0, truth=truth))
    cpu, quiet, bad = result.systems
    assert cpu.fidelity == pytest.approx(1.0)
    assert (quiet.fidelity, bad.fidelity) == (None, None)
    assert str(quiet.problem).startswith("failed without noise: ended by signal SIGSEGV")
    assert len(quiet.texts) == 1


def only(result: Result) -> SystemResult:
    (system,) = result.systems
    return system


def test_measure_fills_the_result() -> None:
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


def test_only_the_decoder_has_a_peak_below_float32() -> None:
    text = TextInfo(name="short", tokens=(4,))
    timing = SpeechTiming(1.0, [60_000], {"bert": 0.1, "decoder": 0.2}, None)
    peaks = {"float32": 1e12, "bfloat16": 2e12}
    shares = {
        result.component: result.share_of_peak / result.flops_per_s
        for result in contender._summarize_components(text, [timing], "bfloat16", peaks)
        if result.share_of_peak is not None
    }
    assert shares == {"bert": pytest.approx(1 / 1e12), "decoder": pytest.approx(1 / 2e12)}


def test_share_of_peak_is_none_without_a_peak() -> None:
    short, _ = only(run(fake_system("cpu-bf16", precision="bfloat16"))).texts
    assert short.components[0].share_of_peak is None


def test_failing_system_does_not_affect_others() -> None:
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


def test_systems_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    def speak(self: Contender, text: str, utterances: object) -> None:
        calls.append(f"{self.system.name} {text}")

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
    assert calls == [
        *("a short", "b short", "c short", "a minute", "b minute", "c minute"),
        *("b short", "c short", "a short", "b minute", "c minute", "a minute"),
    ]
    assert lines[3:] == [
        *("first calls: short", "first calls: minute"),
        *("round 1 of 1: short", "round 1 of 1: minute"),
    ]


@given(st.lists(st.integers()), st.integers(0, 100))
def test_rotate(items: list[int], by: int) -> None:
    result = rotate(items, by)
    assert sorted(result) == sorted(items)
    assert rotate(result, -by) == items
    if items:
        assert result[0] == items[by % len(items)]


def test_measure_keeps_every_round() -> None:
    results: list[Result] = []
    plan = BenchPlan(
        (fake_system("cpu", ours=True),), {"short": (HELLO,)}, HELLO, threads=2, rounds=3, cold=0
    )
    last = measure(plan, keep=results.append)
    assert [len(only(result).texts[0].seconds_s) for result in results] == [1, 2, 3]
    assert [result.complete for result in (*results, last)] == [False, False, False, True]
    assert results[-1].model_copy(update={"complete": True, "others_cores": last.others_cores}) == last


def test_measure_keeps_finished_rounds_of_an_interrupted_run() -> None:
    results: list[Result] = []

    def log(line: str) -> None:
        if line.startswith("round 2"):
            raise KeyboardInterrupt

    plan = BenchPlan(
        (fake_system("cpu", ours=True),), {"short": (HELLO,)}, HELLO, threads=2, rounds=3, cold=1
    )
    with pytest.raises(KeyboardInterrupt):
        measure(plan, log, results.append)
    (result,) = results
    assert len(only(result).texts[0].seconds_s) == 1
    assert not result.complete


def test_isa_restricts_peers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    restricted = replace(fake_system("pytorch", "environment"), variables=ISA_VARIABLES["avx2"])
    systems = (fake_system("cpu", "environment", ours=True), restricted)
    result = measure(BenchPlan(systems, {"short": (HELLO,)}, HELLO, threads=2, rounds=1, cold=0, isa="avx2"))
    assert [system.details for system in result.systems] == ["ONEDNN_MAX_CPU_ISA=", "ONEDNN_MAX_CPU_ISA=AVX2"]
    assert [system.variables for system in result.systems] == [{}, ISA_VARIABLES["avx2"]]
    assert result.isa == "avx2"


def test_comparisons_use_medians() -> None:
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
    contender = Contender.start(fake_system("one", "chatty"), tmp_path)
    with closing(contender.child):
        contender.start_cold(HELLO, is_warmup=False)
    assert contender.problem is None
    assert contender.cold_starts[0] > 0 and contender.imports[0] > 0
    assert (tmp_path / "hello.wav").stat().st_size == 44 + 2 * 60000


def test_cold_start_of_a_bundle_is_the_command_say(tmp_path: Path) -> None:
    system = fake_system("cpu", "a/bundle", ours=True)
    assert cold_command(system, tmp_path / "hello.wav")[3:] == [
        *("say", "--phonemes", "həlˈO wˈɜɹld.", "--bundle", "a/bundle", "--voice", "af_heart", "-o"),
        str(tmp_path / "hello.wav"),
    ]
    contender = Contender.start(system, tmp_path)
    with closing(contender.child):
        contender.start_cold(HELLO, is_warmup=False)
    assert re.match(
        r"failed: the cold start ended with exit status 5: .*no bundle at a/bundle", str(contender.problem)
    )
    assert contender.cold_starts == []
