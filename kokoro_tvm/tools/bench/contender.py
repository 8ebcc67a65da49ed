"""A system in its worker process: its timings or its failure, and the results computed from them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kokoro_tvm.common.constants import SAMPLE_RATE, SAMPLES_PER_FRAME
from kokoro_tvm.tools.bench.child import OURS, Child, MeasuredProcessError, python_module, time_start
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.fidelity import Truth, fidelity
from kokoro_tvm.tools.bench.results import ComponentResult, SystemResult, TextInfo, TextResult
from kokoro_tvm.tools.bench.systems import System
from kokoro_tvm.tools.bench.texts import TEXTS, VOICE
from kokoro_tvm.validation.measure.flops import component_flops

_WORKER = python_module("kokoro_tvm.tools.bench.worker")


@dataclass(frozen=True)
class SpeechTiming:
    """One text spoken once: seconds, samples per utterance, seconds by component, peak memory."""

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
    """A system's worker, its timings by text (the first call first), and its problem once it failed."""

    system: System
    folder: Path
    child: Child
    details: str = ""
    problem: str | None = None
    timings: dict[str, list[SpeechTiming]] = field(default_factory=dict)
    cold_starts: list[float] = field(default_factory=list)
    imports: list[float] = field(default_factory=list)
    fidelity: float | None = None

    @classmethod
    def start(cls, system: System, folder: Path) -> Contender:
        """Start the worker without opening the system; its log goes to the folder."""
        log = folder / f"{system.name.replace('/', '-')}.log"
        return cls(system, folder, Child(_WORKER, system.engine.threads, log, system.variables))

    def open(self) -> None:
        """Load the system in the worker."""
        try:
            self.details = self.child.ask(vars(self.system.engine))["details"]
        except MeasuredProcessError as error:
            self.problem = f"failed to open: {error}"

    def speak(self, text: str, utterances: Sequence[BenchUtterance]) -> None:
        """Speak a text in the worker, unless the system failed before."""
        if self.problem:
            return
        try:
            answer = self.child.ask({"utterances": [vars(utterance) for utterance in utterances]})
        except MeasuredProcessError as error:
            self.problem = f"failed on the text {text}: {error}"
        else:
            self.timings.setdefault(text, []).append(SpeechTiming(**answer))

    def compare(self, truth: Truth) -> None:
        """Speak an utterance without noise and compare it with the truth, unless the system failed before."""
        if self.problem:
            return
        file = self.folder / "fidelity.npy"
        try:
            self.child.ask({"utterances": [vars(truth.utterance)], "npy": str(file)})
        except MeasuredProcessError as error:
            self.problem = f"failed without noise: {error}"
        else:
            self.fidelity = fidelity(np.load(file), truth.audio)

    def start_cold(self, hello: BenchUtterance, is_warmup: bool) -> None:
        """Time a new process from its start to a WAV file, and one that only imports the system's modules.

        Args:
            hello: Utterance of the short text.
            is_warmup: Do not record the times.
        """
        if self.problem:
            return
        wav, log = self.folder / "hello.wav", self.folder / "cold.log"
        wav.unlink(missing_ok=True)
        engine = self.system.engine
        # Bytecode of all modules, as `pip install` writes it: the warm-up writes it.
        bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        variables = {**self.system.variables, **bytecode}
        requests = [] if self.system.ours else [vars(engine), {"utterances": [vars(hello)], "wav": str(wav)}]
        command = cold_command(self.system, wav)
        try:
            seconds = time_start(command, engine.threads, log, variables, requests)
            import_seconds = time_start(self.system.import_command, engine.threads, log, variables)
        except MeasuredProcessError as error:
            self.problem = f"failed: {error}"
            return
        if not wav.is_file():
            self.problem = f"failed: the cold start wrote no {wav.name}"
        elif not is_warmup:
            self.cold_starts.append(seconds)
            self.imports.append(import_seconds)

    def result(self, texts: Sequence[TextInfo], peaks: Mapping[str, float]) -> SystemResult:
        """Return the results so far, without texts that had no warm call.

        Args:
            texts: All texts.
            peaks: The machine's FLOP/s by precision.
        """
        system = self.system
        has_chosen = system.precision == "default" and self.details
        return SystemResult(
            name=system.name,
            title=system.title.replace("default", self.details) if has_chosen else system.title,
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
                _summarize_text(text, self.timings[text.name], system.precision, peaks)
                for text in texts
                if len(self.timings.get(text.name, ())) > 1
            ),
            fidelity=self.fidelity,
            problem=self.problem,
        )


def cold_command(system: System, wav: Path) -> list[str]:
    """Return the command of a cold start: `kokoro-tvm say` for a bundle, the worker for peers."""
    if not system.ours:
        return _WORKER
    options = ["--bundle", system.engine.path, "--voice", VOICE, "-o", str(wav)]
    return [*OURS, "say", "--phonemes", TEXTS[0].utterances[0], *options]


def _summarize_text(
    text: TextInfo, timings: Sequence[SpeechTiming], precision: str, peaks: Mapping[str, float]
) -> TextResult:
    """Summarize the calls of a text: the first one, then the warm ones."""
    first, *warm = timings
    seconds = [timing.seconds for timing in warm]
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
        # Of the first call: texts come in ascending length, so nothing longer has been spoken by then.
        peak_rss_bytes=first.peak_rss_bytes,
        components=tuple(_summarize_components(text, warm, precision, peaks)),
    )


def _summarize_components(
    text: TextInfo, warm: Sequence[SpeechTiming], precision: str, peaks: Mapping[str, float]
) -> Iterator[ComponentResult]:
    """Yield median seconds and FLOP/s of each component, and their share of the machine's peak."""
    for name in warm[0].components:
        # Only the decoder computes below float32; float16 is a storage format.
        peak = peaks.get("bfloat16" if (name, precision) == ("decoder", "bfloat16") else "float32")
        seconds = statistics.median(timing.components[name] for timing in warm)
        lengths = zip(text.tokens, warm[0].frames, strict=True)
        flops = sum(component_flops(name, tokens, frames) for tokens, frames in lengths)
        yield ComponentResult(
            component=name,
            seconds_s=seconds,
            flops=flops,
            flops_per_s=flops / seconds,
            share_of_peak=None if peak is None else flops / seconds / peak,
        )
