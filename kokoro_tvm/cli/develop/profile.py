"""kokoro-tvm profile: the time of every kernel in an utterance."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kokoro_tvm.cli import _output
from kokoro_tvm.cli._output import JsonFileOption, check_file, write_json
from kokoro_tvm.cli._speech import (
    BUNDLE,
    BundleOption,
    ThreadsOption,
    VoiceOption,
    noted,
    without_blas_threads,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.session.profiler import Call, Kernel, Usage
    from kokoro_tvm.tools.lab.regressions import KernelComparison

__all__ = ["Profile", "beside_table", "profile", "table"]

# "The morning train crosses the green valley slowly, and every window is full of light."
_SENTENCE = "ðə mˈɔɹnɪŋ tɹˈAn kɹˈɔsᵻz ðə ɡɹˈin vˈæli slˈOli, ænd ˈɛvəɹi wˈɪndO ɪz fˈʊl ʌv lˈIt."
_SMALL = 0.002  # share below which kernels are shown together


@dataclass(frozen=True)
class Profile:
    """Measurements of one utterance. Medians of wall times in seconds, with and without recording.

    `calls` are those of all `repeat` recorded runs.
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
        """What an utterance takes by "kernel", "operation" or "component", longest first."""
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
            help="Speak with this bundle, the one before, in turns, and show every kernel beside its own. "
            "Where one is now slower by more than 5 % (median and minimum), the exit status is 4.",
        ),
    ] = None,
) -> None:
    """Show calls, time, share, GFLOP/s and GB/s of every kernel."""
    without_blas_threads()
    check_file(json_file, trace)
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.session.profiler import trace_events

    if text is not None and phonemes is not None:
        raise InputError("--text and --phonemes exclude each other. Give one of them.")
    with noted():
        synthesizer = Synthesizer(bundle, threads=threads)
        parts = synthesizer.phonemize(text, voice) if text is not None else [phonemes or _SENTENCE]
        if against is not None:
            before = Synthesizer(against, threads=threads)
            _compare(before, synthesizer, parts, voice, repeat, json_file)
            return
        measured = _measure(synthesizer, parts, voice, repeat)
    console = _output.console()
    console.print(_heading(measured), soft_wrap=True)
    console.print(table(measured, by))
    console.print(_closing(measured), soft_wrap=True)
    write_json(json_file, _to_json(measured))
    write_json(trace, trace_events(measured.calls))


def _compare(
    before: Synthesizer,
    now: Synthesizer,
    parts: list[str],
    voice: str | None,
    repeat: int,
    json_file: Path | None,
) -> None:
    """Shows the kernels of a bundle beside those of the one before, and those that only one of them has."""
    from kokoro_tvm.tools.lab import regressions

    found, against = regressions.measure(before, now, parts, voice, repeat), before.bundle.root
    console = _output.console()
    console.print(f"{now.bundle.root} beside {against}, {repeat} utterances each, in turns:", soft_wrap=True)
    console.print(beside_table(found.kernels))
    if found.alone:
        console.print(f"Only one of them has: {'; '.join(map(str, found.alone))}.", soft_wrap=True)
    kernels = [asdict(each) | {"ratio": each.ratio, "slower": each.slower} for each in found.kernels]
    write_json(json_file, {"kernels": kernels, "alone": [asdict(kind) for kind in found.alone]})
    found.require(against)


def beside_table(comparisons: Sequence[KernelComparison]) -> Table:
    """A row for each kind of kernel, in the order given."""
    made = _output.table("kernels", ("kFLOP a step", "ms before", "now", "ratio", "minima", "share"))
    for each in comparisons:
        made.add_row(
            f"{each.kind.component} {each.kind.operation}",
            f"{each.kind.flops_per_step / 1e3:,.0f}" if each.kind.flops_per_step else "—",
            f"{each.before_s * 1e3:.2f}",
            f"{each.now_s * 1e3:.2f}",
            f"{each.ratio:.2f}",
            f"{each.least_now_s / each.least_before_s:.2f}",
            f"{each.share:.1%}",
            style="bold" if each.slower else None,
        )
    return made


def _measure(synthesizer: Synthesizer, parts: list[str], voice: str | None, repeat: int) -> Profile:
    """Speaks with and without recording in turn, so that a change of the machine's speed affects both."""
    from kokoro_tvm.runtime.session.profiler import kernels_of, record_calls
    from kokoro_tvm.runtime.session.session import Session

    session = synthesizer.runner
    assert isinstance(session, Session)
    speech = synthesizer.from_phonemes(parts, voice=voice)  # the first maps pages and fills caches
    calls: list[Call] = []
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        start = time.perf_counter()
        synthesizer.from_phonemes(parts, voice=voice)
        times[0].append(time.perf_counter() - start)
        with record_calls(session) as found:
            start = time.perf_counter()
            synthesizer.from_phonemes(parts, voice=voice)
            times[1].append(time.perf_counter() - start)
        calls += found
    return Profile(
        bundle=str(synthesizer.bundle.root),
        threads=session.threads,
        audio_seconds=speech.audio.size / speech.sample_rate,
        plain_seconds=statistics.median(times[0]),
        recorded_seconds=statistics.median(times[1]),
        repeat=repeat,
        calls=calls,
        kernels=kernels_of(session),
    )


def table(profile: Profile, by: str) -> Table:
    """The profile by "kernel", below the sum of each component, or by "operation" over all components."""
    first = "operation" if by == "operation" else "component, kernel"
    made = _output.table(first, ("calls", "ms", "share", "GFLOP/s", "GB/s"))
    rows = profile.by(by)
    if by == "operation":
        _add(made, rows, "")
        return made
    for component in profile.by("component"):
        made.add_row(*_cells(component, component.name), style="bold")
        _add(made, [row for row in rows if row.component == component.name], "  ")
    return made


def _add(made: Table, rows: list[Usage], indent: str) -> None:
    for row in rows:
        if row.share >= _SMALL:
            made.add_row(*_cells(row, indent + row.name))
    small = [row for row in rows if row.share < _SMALL]
    if small:
        seconds, share = sum(row.seconds for row in small), sum(row.share for row in small)
        calls = sum(row.calls for row in small)
        made.add_row(f"{indent}{len(small)} others", f"{calls}", f"{seconds * 1e3:.2f}", f"{share:.1%}")


def _cells(usage: Usage, name: str) -> tuple[str, ...]:
    rate = usage.gflops_per_second
    return (
        name,
        f"{usage.calls}",
        f"{usage.seconds * 1e3:.2f}",
        f"{usage.share:.1%}",
        "—" if rate is None else f"{rate:.1f}",
        f"{usage.gigabytes_per_second:.1f}" if usage.bytes else "—",
    )


def _heading(profile: Profile) -> str:
    speed = profile.plain_seconds / profile.audio_seconds
    return (
        f"{profile.bundle}, {profile.threads} thread{'s' if profile.threads > 1 else ''}: "
        f"{profile.audio_seconds:.2f} s of speech in {profile.plain_seconds * 1e3:.1f} ms "
        f"(real-time factor {speed:.3f})"
    )


def _closing(profile: Profile) -> str:
    inside = sum(call.seconds for call in profile.calls) / profile.repeat
    slower = profile.recorded_seconds / profile.plain_seconds - 1
    return (
        f"Means of {profile.repeat}: {inside * 1e3:.1f} ms in compiled code. "
        f"Recording changes the time of an utterance by {slower:+.1%}."
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
