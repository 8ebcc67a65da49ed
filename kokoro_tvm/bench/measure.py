"""The whole measurement: systems, their rounds, the peak of the machine in between, cold starts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.bench.child import Child, ChildError, python_module
from kokoro_tvm.bench.cold import cold_command, cold_start
from kokoro_tvm.bench.contender import Contender
from kokoro_tvm.bench.digest import absent_result, system_result
from kokoro_tvm.bench.engine import Utterance
from kokoro_tvm.bench.machine import describe_machine
from kokoro_tvm.bench.quiet import Watch
from kokoro_tvm.bench.results import Result, TextInfo, compare
from kokoro_tvm.bench.rounds import rotated, run_rounds
from kokoro_tvm.bench.systems import Absent, System
from kokoro_tvm.bench.texts import TEXTS, VOICE, Text
from kokoro_tvm.runtime import Bundle, Voices
from kokoro_tvm.runtime.phonemes import encode
from kokoro_tvm.runtime.voices import style_of

__all__ = ["Plan", "measure", "utterances_of"]

METER = "kokoro_tvm.bench.peak"  # the module that measures the machine's peak

Log = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to measure, how often: `rounds` warm calls, `cold` cold starts; `threads` for every system.

    `spoken` is every text's utterances, `hello` the short one's, which cold starts speak.
    """

    systems: tuple[System | Absent, ...]
    spoken: dict[str, tuple[Utterance, ...]]
    hello: Utterance
    threads: int
    rounds: int
    cold: int

    @classmethod
    def of(
        cls,
        systems: Sequence[System | Absent],
        texts: Sequence[Text],
        bundle: Bundle,
        threads: int,
        rounds: int,
        cold: int,
    ) -> Plan:
        """A plan with tokens and styles from the vocabulary and the voices of a bundle."""
        spoken = {text.name: utterances_of(text, bundle) for text in texts}
        (hello,) = utterances_of(TEXTS[0], bundle)
        return cls(tuple(systems), spoken, hello, threads, rounds, cold)


def utterances_of(text: Text, bundle: Bundle) -> tuple[Utterance, ...]:
    """Tokens and the voice's rows for a text; raises InputError where the bundle lacks the voice."""
    table = Voices.open(bundle).table(VOICE)
    return tuple(
        Utterance(
            tuple(encode(phonemes, bundle.vocabulary)),
            tuple(float(value) for value in style_of(table, phonemes)),
        )
        for phonemes in text.utterances
    )


def measure(plan: Plan, log: Log = lambda line: None) -> Result:
    """Runs the plan. What a system fails at stands in its result; nothing is raised for it."""
    watch = Watch()
    with TemporaryDirectory(prefix="kokoro-tvm-bench-") as folder:
        contenders, peaks = _rounds(plan, Path(folder), log)
        cold, problems = _cold_starts(plan, contenders, Path(folder), log)
    texts = [
        TextInfo(name=name, tokens=tuple(len(u.tokens) for u in utterances))
        for name, utterances in plan.spoken.items()
    ]
    systems = tuple(
        absent_result(system)
        if isinstance(system, Absent)
        else system_result(
            contenders[system.name], texts, cold[system.name], peaks, problems.get(system.name)
        )
        for system in plan.systems
    )
    return Result(
        date=datetime.date.today().isoformat(),
        machine=describe_machine(),
        threads=plan.threads,
        rounds=plan.rounds,
        voice=VOICE,
        others_cores=watch.others_cores(),
        peak_flops_per_s=peaks,
        texts=tuple(texts),
        systems=systems,
        comparisons=compare(systems, list(plan.spoken)),
    )


def _rounds(plan: Plan, folder: Path, log: Log) -> tuple[dict[str, Contender], dict[str, float]]:
    """All contenders after their rounds, and the best peak of the machine that was seen between them.

    Raises ChildError where the peak cannot be measured: shares of it would be missing for no fault of theirs.
    """
    peaks: dict[str, float] = {}
    with ExitStack() as processes:
        meter = processes.enter_context(Child(python_module(METER), plan.threads, folder / "peak.log"))
        meter.ask({"threads": plan.threads})

        def measure_peak(number: int) -> None:
            for precision, flops in meter.ask({}).items():
                peaks[precision] = max(flops, peaks.get(precision, 0.0))

        contenders = {}
        for system in plan.systems:
            if isinstance(system, System):
                log(f"opening {system.title}")
                contender = Contender.start(system, folder)
                processes.enter_context(contender.child)
                contender.open()
                contenders[system.name] = contender
        run_rounds(list(contenders.values()), plan.spoken, plan.rounds, measure_peak, log)
    return contenders, peaks


def _cold_starts(
    plan: Plan, contenders: dict[str, Contender], folder: Path, log: Log
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Seconds of each cold start by system, and what went wrong with whose; systems take turns here too."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    problems: dict[str, str] = {}
    wav = folder / "hello.wav"
    for number in range(plan.cold):
        log(f"cold starts, {number + 1} of {plan.cold}")
        for name, contender in rotated(list(contenders.items()), number):
            if contender.problem or name in problems:
                continue
            command = cold_command(contender.system, plan.hello, folder, wav)
            try:
                found[name].append(cold_start(command, plan.threads, wav, folder / "cold.log"))
            except ChildError as error:
                problems[name] = f"failed: {error}"
    return found, problems
