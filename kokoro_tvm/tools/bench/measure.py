"""The whole measurement: systems, their rounds, the peak of the machine in between, cold starts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.runtime import Bundle, Voices
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.tools.bench.child import Child, MeasuredProcessError, python_module
from kokoro_tvm.tools.bench.cold import cold_command, cold_start, first_line, import_command
from kokoro_tvm.tools.bench.contender import Contender
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.quiet import Watch
from kokoro_tvm.tools.bench.results import Isa, Result, SystemResult, TextInfo, compare
from kokoro_tvm.tools.bench.systems import System
from kokoro_tvm.tools.bench.texts import VOICE, Text

__all__ = ["BenchPlan", "measure", "rotated", "utterances_of"]

METER = "kokoro_tvm.tools.bench.peak"  # the module that measures the machine's peak

Log = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class BenchPlan:
    """What to measure, how often: `rounds` warm calls, `cold` cold starts; `threads` for every system.

    `systems`: a result is that of one that cannot run; `spoken` is every text's utterances, `hello` the short
    one's, which cold starts speak; `isa`: what peers among the systems are held to.
    """

    systems: tuple[System | SystemResult, ...]
    spoken: dict[str, tuple[BenchUtterance, ...]]
    hello: BenchUtterance
    threads: int
    rounds: int
    cold: int
    isa: Isa | None = None


def utterances_of(text: Text, bundle: Bundle) -> tuple[BenchUtterance, ...]:
    """Tokens and the voice's rows for a text; raises InputError where the bundle lacks the voice."""
    table = Voices.open(bundle).table(VOICE)
    return tuple(
        BenchUtterance(
            tuple(encode(phonemes, bundle.vocabulary)),
            tuple(float(value) for value in style_of(table, phonemes)),
        )
        for phonemes in text.utterances
    )


def measure(
    plan: BenchPlan, log: Log = lambda line: None, keep: Callable[[Result], None] = lambda result: None
) -> Result:
    """Runs the plan. What a system fails at stands in its result; nothing is raised for it.

    keep: gets the result so far after every round but the first calls, and after every round of cold starts.
    """
    watch, measured = Watch(), _Measured(plan)
    with TemporaryDirectory(prefix="kokoro-tvm-bench-") as folder:
        _rounds(measured, Path(folder), log, keep)
        _cold_starts(measured, Path(folder), log, keep)
    ended = {"complete": True, "others_cores": watch.others_cores()}
    return measured.result().model_copy(update=ended)


@dataclass
class _Measured:
    """What was measured of a plan so far: the contenders by system, the best peak of the machine by
    precision."""

    plan: BenchPlan
    contenders: dict[str, Contender] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def result(self) -> Result:
        """As a result that is not complete."""
        plan = self.plan
        texts = tuple(
            TextInfo(name=name, tokens=tuple(len(u.tokens) for u in utterances))
            for name, utterances in plan.spoken.items()
        )
        systems = tuple(
            self.contenders[system.name].result(texts, self.peaks) if isinstance(system, System) else system
            for system in plan.systems
        )
        return Result(
            date=datetime.date.today().isoformat(),
            machine=describe_machine(),
            threads=plan.threads,
            rounds=plan.rounds,
            complete=False,
            isa=plan.isa,
            voice=VOICE,
            others_cores=None,
            peak_flops_per_s=dict(self.peaks),
            texts=texts,
            systems=systems,
            comparisons=compare(systems, list(plan.spoken)),
        )


def _rounds(measured: _Measured, folder: Path, log: Log, keep: Callable[[Result], None]) -> None:
    """A round of first calls, then `rounds` more: each text by all systems one right after the other.

    What disturbs the machine for a while hurts all alike so, and the system that begins is another one each
    round. Before each round the machine's peak is measured. Raises ChildError where it cannot be: shares of
    it would be missing for no fault of the systems.
    """
    plan, peaks = measured.plan, measured.peaks
    with ExitStack() as processes:
        meter = Child(python_module(METER), plan.threads, folder / "peak.log")
        processes.callback(meter.close)
        meter.ask({"threads": plan.threads})
        for system in plan.systems:
            if isinstance(system, System):
                log(f"opening {system.title}")
                contender = Contender.start(system, folder)
                processes.callback(contender.child.close)
                contender.open()
                measured.contenders[system.name] = contender
        for number in range(plan.rounds + 1):
            for precision, flops in meter.ask({}).items():
                peaks[precision] = max(flops, peaks.get(precision, 0.0))
            for name, utterances in plan.spoken.items():
                log(f"round {number} of {plan.rounds}: {name}" if number else f"first calls: {name}")
                for contender in rotated(list(measured.contenders.values()), number):
                    contender.speak(name, utterances)
            if number:
                keep(measured.result())


def _cold_starts(measured: _Measured, folder: Path, log: Log, keep: Callable[[Result], None]) -> None:
    """Starts every system anew, so many times; they take turns here too."""
    plan, wav = measured.plan, folder / "hello.wav"
    # Bytecode of all modules, as `pip install` writes it: a start before the first that counts makes it.
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    for number in range(plan.cold + 1 if plan.cold else 0):
        log(f"cold starts, {number} of {plan.cold}")
        for contender in rotated(list(measured.contenders.values()), number):
            if contender.problem:
                continue
            command = cold_command(contender.system, plan.hello, folder, wav)
            variables = {**contender.system.variables, **bytecode}
            log_file, imports = folder / "cold.log", import_command(contender.system)
            try:
                seconds = cold_start(command, plan.threads, wav, log_file, variables)
                importing = first_line(imports, plan.threads, log_file, variables)
            except MeasuredProcessError as error:
                contender.problem = f"failed: {error}"
                continue
            if number > 0:
                contender.cold_starts.append(seconds)
                contender.imports.append(importing)
        keep(measured.result())


def rotated(items: Sequence[T], by: int) -> list[T]:
    """The items with the `by`-th in front, around the end."""
    start = by % len(items) if items else 0
    return [*items[start:], *items[:start]]
