"""Run a benchmark: all systems in turns, the machine's peak in between, then cold starts."""

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
from kokoro_tvm.tools.bench.child import Child, python_module
from kokoro_tvm.tools.bench.contender import Contender
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.fidelity import Truth
from kokoro_tvm.tools.bench.quiet import CpuWatch
from kokoro_tvm.tools.bench.results import Isa, Result, SystemResult, TextInfo, compare
from kokoro_tvm.tools.bench.systems import System
from kokoro_tvm.tools.bench.texts import VOICE, Text

METER = "kokoro_tvm.tools.bench.peak"

Log = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class BenchPlan:
    """What to measure.

    Attributes:
        systems: Systems, or results of those that cannot run.
        utterances: Utterances by text, in ascending length.
        hello: Utterance of the short text, for cold starts.
        threads: Number of threads of every system.
        rounds: Number of warm calls.
        cold: Number of cold starts.
        isa: Instruction set that the peers are restricted to.
        truth: What the systems' speech is compared with, if anything.
    """

    systems: tuple[System | SystemResult, ...]
    utterances: dict[str, tuple[BenchUtterance, ...]]
    hello: BenchUtterance
    threads: int
    rounds: int
    cold: int
    isa: Isa | None = None
    truth: Truth | None = None


def build_utterances(text: Text, bundle: Bundle) -> tuple[BenchUtterance, ...]:
    """Build the tokens and style vectors of a text. Raises InputError if the bundle lacks the voice."""
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
    """Run the plan. The failure of a system becomes its result.

    Args:
        plan: What to measure.
        log: Called with a line of text before every step.
        keep: Called with the result so far after every warm round and every round of cold starts.
    """
    watch, run = CpuWatch(), _Run(plan, log, keep)
    with TemporaryDirectory(prefix="kokoro-tvm-bench-") as folder:
        run.speak(Path(folder))
        run.start_cold()
    return run.result().model_copy(update={"complete": True, "others_cores": watch.others_cores()})


@dataclass
class _Run:
    """State of a run: contenders by system, and the best peak of the machine by precision."""

    plan: BenchPlan
    log: Log
    keep: Callable[[Result], None]
    contenders: dict[str, Contender] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def result(self) -> Result:
        """Return the incomplete result so far."""
        plan = self.plan
        texts = tuple(
            TextInfo(name=name, tokens=tuple(len(u.tokens) for u in utterances))
            for name, utterances in plan.utterances.items()
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
            comparisons=compare(systems, list(plan.utterances)),
        )

    def speak(self, folder: Path) -> None:
        """Run a round of first calls and the warm rounds; raises MeasuredProcessError without a peak."""
        # Systems speak each text one right after the other, so that a disturbance affects all of them.
        plan = self.plan
        with ExitStack() as processes:
            meter = Child(python_module(METER), plan.threads, folder / "peak.log")
            processes.callback(meter.close)
            meter.ask({"threads": plan.threads})
            for system in plan.systems:
                if isinstance(system, System):
                    self.log(f"opening {system.title}")
                    contender = Contender.start(system, folder)
                    processes.callback(contender.child.close)
                    contender.open()
                    self.contenders[system.name] = contender
            for number in range(plan.rounds + 1):
                for precision, flops in meter.ask({}).items():
                    self.peaks[precision] = max(flops, self.peaks.get(precision, 0.0))
                for text, utterances in plan.utterances.items():
                    self.log(f"round {number} of {plan.rounds}: {text}" if number else f"first calls: {text}")
                    for contender in rotate(list(self.contenders.values()), number):
                        contender.speak(text, utterances)
                if number:
                    self.keep(self.result())
            if plan.truth is not None:
                for contender in self.contenders.values():
                    self.log(f"fidelity of {contender.system.title}")
                    contender.compare(plan.truth)
                self.keep(self.result())

    def start_cold(self) -> None:
        """Start every system anew, in turns; the first round is a warm-up."""
        for number in range(self.plan.cold + 1 if self.plan.cold else 0):
            self.log(f"cold starts, {number} of {self.plan.cold}")
            for contender in rotate(list(self.contenders.values()), number):
                contender.start_cold(self.plan.hello, is_warmup=number == 0)
            self.keep(self.result())


def rotate(items: Sequence[T], by: int) -> list[T]:
    """Return the items with the `by`-th first."""
    start = by % len(items) if items else 0
    return [*items[start:], *items[:start]]
