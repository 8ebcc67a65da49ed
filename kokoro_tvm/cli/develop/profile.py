"""kokoro-tvm profile: measures the time of every kernel in an utterance."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kokoro_tvm.cli import _output
from kokoro_tvm.cli._output import JsonFileOption, JsonOption, check_file, write_json
from kokoro_tvm.cli._speech import (
    BUNDLE,
    BundleOption,
    ThreadsOption,
    VoiceOption,
    print_notices,
    without_blas_threads,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.session.profiler import Call, Kernel, Usage
    from kokoro_tvm.tools.lab.regressions import KernelComparison


# "The morning train crosses the green valley slowly, and every window is full of light."
_SENTENCE = "ðə mˈɔɹnɪŋ tɹˈAn kɹˈɔsᵻz ðə ɡɹˈin vˈæli slˈOli, ænd ˈɛvəɹi wˈɪndO ɪz fˈʊl ʌv lˈIt."
_SMALL = 0.002  # share of the time below which kernels are summed up in one row
_COLUMNS = ("calls", "ms", "share", "GFLOP/s", "GB/s")


@dataclass(frozen=True)
class Profile:
    """Measurements of one utterance.

    Attributes:
        bundle: Folder of the bundle.
        threads: Number of threads.
        audio_seconds: Duration of the speech.
        plain_seconds: Median wall time without recording.
        recorded_seconds: Median wall time with recording.
        repeat: Number of recorded runs.
        calls: Calls of all recorded runs.
        kernels: By component and name.
    """

    bundle: str
    threads: int
    audio_seconds: float
    plain_seconds: float
    recorded_seconds: float
    repeat: int
    calls: list[Call]
    kernels: dict[tuple[str, str], Kernel]

    def by(self, what: str) -> list[Usage]:
        """Return the time of an utterance by "kernel", "operation" or "component", longest first."""
        from kokoro_tvm.runtime.session.profiler import summarize

        return summarize(self.calls, self.kernels, what, self.repeat)


def profile(
    text: Annotated[
        str | None, typer.Option("--text", help="Text to speak.", show_default="a sentence of 5 s")
    ] = None,
    phonemes: Annotated[str | None, typer.Option("--phonemes", help="Phonemes to speak.")] = None,
    voice: VoiceOption = None,
    bundle: BundleOption = BUNDLE,
    threads: ThreadsOption = None,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="Number of recorded utterances. The table shows means.")
    ] = 3,
    by: Annotated[
        Literal["kernel", "operation"],
        typer.Option(
            "--by",
            help="`kernel`: a row per kernel, below the sum of its component. `operation`: a row per "
            "operation over all components.",
        ),
    ] = "kernel",
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write every call to this file, for `chrome://tracing` or ui.perfetto.dev.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="DIR",
            help="Measure this earlier bundle in turns, and show every kernel of both. The exit status is 4 "
            "if one is now slower by more than 5 % (median and minimum).",
        ),
    ] = None,
) -> None:
    """Measure calls, time, share, GFLOP/s and GB/s of every kernel."""
    without_blas_threads()
    check_file(json_file, trace)
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.session.profiler import trace_events

    if text is not None and phonemes is not None:
        raise InputError("--text and --phonemes exclude each other. Give one of them.")
    with print_notices():
        synthesizer = Synthesizer(bundle, threads=threads)
        parts = synthesizer.phonemize(text, voice) if text is not None else [phonemes or _SENTENCE]
        if against is not None:
            before = Synthesizer(against, threads=threads)
            _compare(before, synthesizer, parts, voice, repeat, json, json_file)
            return
        measured = _measure(synthesizer, parts, voice, repeat)
    _show(measured, by, _output.console(json=json))
    write_json(json_file, _to_json(measured), json)
    write_json(trace, trace_events(measured.calls))


def _compare(
    before: Synthesizer,
    now: Synthesizer,
    parts: list[str],
    voice: str | None,
    repeat: int,
    json: bool,
    json_file: Path | None,
) -> None:
    """Print the kernels of a bundle beside those of an earlier one, and those that only one of them has."""
    from kokoro_tvm.tools.lab import regressions

    result, against = regressions.measure(before, now, parts, voice, repeat), before.bundle.root
    console = _output.console(json=json)
    console.print(f"{now.bundle.root} beside {against}, {repeat} utterances each, in turns:", soft_wrap=True)
    console.print(comparison_table(result.kernels))
    if result.alone:
        console.print(f"Only one of them has: {'; '.join(map(str, result.alone))}.", soft_wrap=True)
    kernels = [asdict(row) | {"ratio": row.ratio, "slower": row.slower} for row in result.kernels]
    write_json(json_file, {"kernels": kernels, "alone": [asdict(kind) for kind in result.alone]}, json)
    result.require(against)


def comparison_table(comparisons: Sequence[KernelComparison]) -> Table:
    """Return a table with a row for each kind of kernel."""
    rows = _output.table("kernels", ("kFLOP a step", "ms before", "now", "ratio", "minima", "share"))
    for row in comparisons:
        rows.add_row(
            f"{row.kind.component} {row.kind.operation}",
            f"{row.kind.flops_per_step / 1e3:,.0f}" if row.kind.flops_per_step else "—",
            f"{row.before_s * 1e3:.2f}",
            f"{row.now_s * 1e3:.2f}",
            f"{row.ratio:.2f}",
            f"{row.least_now_s / row.least_before_s:.2f}",
            f"{row.share:.1%}",
            style="bold" if row.slower else None,
        )
    return rows


def _measure(synthesizer: Synthesizer, parts: list[str], voice: str | None, repeat: int) -> Profile:
    """Measure with and without recording in turn, so that a change of the machine's speed affects both."""
    from kokoro_tvm.runtime.session.profiler import kernels_of, record_calls
    from kokoro_tvm.runtime.session.session import Session

    session = synthesizer.runner
    assert isinstance(session, Session)
    speech = synthesizer.from_phonemes(parts, voice=voice)  # the first maps pages and fills caches

    def speak() -> float:
        start = time.perf_counter()
        synthesizer.from_phonemes(parts, voice=voice)
        return time.perf_counter() - start

    calls: list[Call] = []
    plain_times, recorded_times = [], []
    for _ in range(repeat):
        plain_times.append(speak())
        with record_calls(session) as run:
            recorded_times.append(speak())
        calls += run
    return Profile(
        bundle=str(synthesizer.bundle.root),
        threads=session.threads,
        audio_seconds=speech.audio.size / speech.sample_rate,
        plain_seconds=statistics.median(plain_times),
        recorded_seconds=statistics.median(recorded_times),
        repeat=repeat,
        calls=calls,
        kernels=kernels_of(session),
    )


def table(profile: Profile, by: str) -> Table:
    """Return the profile by "kernel", below the sum of each component, or by "operation" over all of them."""
    is_flat = by == "operation"
    rows = _output.table("operation" if is_flat else "component, kernel", _COLUMNS)
    for component in [None] if is_flat else profile.by("component"):
        usages = profile.by(by)
        if component is not None:
            rows.add_row(component.name, *_cells(component), style="bold")
            usages = [usage for usage in usages if usage.component == component.name]
        indent = "" if is_flat else "  "
        for usage in usages:
            if usage.share >= _SMALL:
                rows.add_row(indent + usage.name, *_cells(usage))
        if small := [usage for usage in usages if usage.share < _SMALL]:
            calls, ms = sum(usage.calls for usage in small), sum(usage.seconds for usage in small) * 1e3
            cells = (f"{calls}", f"{ms:.2f}", f"{sum(usage.share for usage in small):.1%}")
            rows.add_row(f"{indent}{len(small)} others", *cells)
    return rows


def _cells(usage: Usage) -> tuple[str, ...]:
    rate = usage.gflops_per_second
    return (
        f"{usage.calls}",
        f"{usage.seconds * 1e3:.2f}",
        f"{usage.share:.1%}",
        "—" if rate is None else f"{rate:.1f}",
        f"{usage.gigabytes_per_second:.1f}" if usage.bytes else "—",
    )


def _show(profile: Profile, by: str, console: Console) -> None:
    """Print the real-time factor, the table, and the cost of recording."""
    speed = profile.plain_seconds / profile.audio_seconds
    compiled = sum(call.seconds for call in profile.calls) / profile.repeat
    slower = profile.recorded_seconds / profile.plain_seconds - 1
    console.print(
        f"{profile.bundle}, {profile.threads} thread{'s' if profile.threads > 1 else ''}: "
        f"{profile.audio_seconds:.2f} s of speech in {profile.plain_seconds * 1e3:.1f} ms "
        f"(real-time factor {speed:.3f})",
        soft_wrap=True,
    )
    console.print(table(profile, by))
    console.print(
        f"Means of {profile.repeat}: {compiled * 1e3:.1f} ms in compiled code. "
        f"Recording changes the time of an utterance by {slower:+.1%}.",
        soft_wrap=True,
    )


def _to_json(profile: Profile) -> dict[str, Any]:
    data = {
        key: getattr(profile, key)
        for key in ("bundle", "threads", "audio_seconds", "plain_seconds", "recorded_seconds", "repeat")
    }
    return data | {what: [_row(usage) for usage in profile.by(what)] for what in ("component", "kernel")}


def _row(usage: Usage) -> dict[str, Any]:
    rates = ("gflops_per_second", "gigabytes_per_second")
    return asdict(usage) | {rate: getattr(usage, rate) for rate in rates}
