"""A system in its worker process: its answers or its failure, and the results that come of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kokoro_tvm.common.constants import SAMPLE_RATE, SAMPLES_PER_FRAME
from kokoro_tvm.tools.bench.child import Child, MeasuredProcessError, python_module
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.results import ComponentResult, SystemResult, TextInfo, TextResult
from kokoro_tvm.tools.bench.systems import System
from kokoro_tvm.validation.measure.flops import component_flops

__all__ = ["Contender", "SpeechTiming"]


@dataclass(frozen=True)
class SpeechTiming:
    """One text spoken once: seconds of computing, samples per utterance, seconds by component, peak RSS."""

    seconds: float
    samples: list[int]
    components: dict[str, float]
    peak_rss_bytes: int | None

    @property
    def frames(self) -> list[int]:
        """Frames per utterance."""
        return [count // SAMPLES_PER_FRAME for count in self.samples]


@dataclass
class Contender:
    """A system's worker. `answers` by text, the first call first; seconds of `cold_starts`, and of `imports`
    alone; `problem` once it has failed."""

    system: System
    child: Child
    details: str = ""
    problem: str | None = None
    answers: dict[str, list[SpeechTiming]] = field(default_factory=dict)
    cold_starts: list[float] = field(default_factory=list)
    imports: list[float] = field(default_factory=list)

    @classmethod
    def start(cls, system: System, folder: Path) -> Contender:
        """Starts the worker, its log in the folder; nothing is opened yet."""
        log = folder / f"{system.name.replace('/', '-')}.log"
        command = python_module("kokoro_tvm.tools.bench.worker")
        return cls(system, Child(command, system.engine.threads, log, system.variables))

    def open(self) -> None:
        """Has the worker load the system; a failure is kept in `problem`."""
        try:
            self.details = self.child.ask(vars(self.system.engine))["details"]
        except MeasuredProcessError as error:
            self.problem = f"failed to open: {error}"

    def speak(self, text: str, utterances: Sequence[BenchUtterance]) -> None:
        """Has the worker speak, unless it failed before; keeps its answer, or the failure in `problem`."""
        if self.problem:
            return
        try:
            answer = self.child.ask({"utterances": [vars(utterance) for utterance in utterances]})
        except MeasuredProcessError as error:
            self.problem = f"failed on the text {text}: {error}"
        else:
            self.answers.setdefault(text, []).append(SpeechTiming(**answer))

    def result(self, texts: Sequence[TextInfo], peaks: Mapping[str, float]) -> SystemResult:
        """All that it measured so far; texts it did not come to in a warm round are left out.

        `peaks` is the machine's FLOP/s by precision.
        """
        system = self.system
        return SystemResult(
            name=system.name,
            title=system.title,
            ours=system.ours,
            precision=system.precision,
            details=self.details,
            versions=system.versions,
            variables=dict(system.variables),
            disk_bytes=system.disk_bytes,
            cold_starts_s=tuple(self.cold_starts),
            cold_start_s=statistics.median(self.cold_starts) if self.cold_starts else None,
            import_s=statistics.median(self.imports) if self.imports else None,
            texts=tuple(
                _text_result(text, self.answers[text.name], system.precision, peaks)
                for text in texts
                if len(self.answers.get(text.name, ())) > 1
            ),
            problem=self.problem,
        )


def _text_result(
    text: TextInfo, answers: Sequence[SpeechTiming], precision: str, peaks: Mapping[str, float]
) -> TextResult:
    """`answers`: the first call, then the warm ones, of which one at least is there."""
    first, *warm = answers
    seconds = [answer.seconds for answer in warm]
    median = statistics.median(seconds)
    audio = sum(first.samples) / SAMPLE_RATE
    return TextResult(
        text=text.name,
        audio_s=audio,
        first_s=first.seconds,
        seconds_s=tuple(seconds),
        median_s=median,
        minimum_s=min(seconds),
        rtf=median / audio,
        # Of the first call: texts come in rising length, so nothing longer has been spoken by then.
        peak_rss_bytes=first.peak_rss_bytes,
        components=tuple(_components(text, warm, precision, peaks)),
    )


def _components(
    text: TextInfo, warm: Sequence[SpeechTiming], precision: str, peaks: Mapping[str, float]
) -> Iterator[ComponentResult]:
    """Only the decoder computes in a precision below float32, and float16 is one that memory holds."""
    for name in warm[0].components:
        peak = peaks.get("bfloat16" if (name, precision) == ("decoder", "bfloat16") else "float32")
        seconds = statistics.median(answer.components[name] for answer in warm)
        lengths = zip(text.tokens, warm[0].frames, strict=True)
        flops = sum(component_flops(name, tokens, frames) for tokens, frames in lengths)
        yield ComponentResult(
            component=name,
            seconds_s=seconds,
            flops=flops,
            flops_per_s=flops / seconds,
            share_of_peak=None if peak is None else flops / seconds / peak,
        )
