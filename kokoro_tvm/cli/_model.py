"""What `kokoro-tvm profile --model` shows: an utterance on more threads, from its kernels on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.lab.critical_path import Row, Step

__all__ = ["by_threads", "measure", "show", "table", "to_json"]

_WIDTH = 132  # where output goes to a file
_SMALL = 0.01  # share of the modelled time below which kernels are shown together


def measure(
    bundle: Path, text: str | None, phonemes: str, voice: str, repeat: int
) -> tuple[float, list[Step]]:
    """Seconds of audio, and the calls of an utterance on one thread: the fastest of `repeat` each."""
    from kokoro_tvm.lab.critical_path import fastest, steps
    from kokoro_tvm.lab.launches import recorded_launches
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.runtime.profiler import recorded
    from kokoro_tvm.runtime.session import Session

    with recorded_launches() as launches:  # before the libraries are loaded
        synthesizer = Synthesizer(bundle, threads=1)
        session = synthesizer.runner
        assert isinstance(session, Session)
        parts = synthesizer.phonemize(text, voice) if text is not None else [phonemes]
        speech = synthesizer.from_phonemes(parts, voice=voice)  # the first maps pages and fills caches
        runs = []
        for _ in range(repeat):
            launches.clear()
            with recorded(session) as calls:
                synthesizer.from_phonemes(parts, voice=voice)
            runs.append(steps(calls, launches))
    return speech.audio.size / speech.sample_rate, fastest(runs)


def by_threads(steps: Sequence[Step], most: int) -> dict[int, float]:
    """Threads -> seconds, for 1, 2, 4 and so on, and `most`."""
    from kokoro_tvm.lab.critical_path import seconds_on

    counts = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return {count: seconds_on(steps, count) for count in (*counts, most)}


def show(bundle: Path, audio: float, steps: Sequence[Step], threads: int) -> None:
    """Prints the times by number of threads, and the kernels that bound the last of them."""
    from rich.console import Console

    from kokoro_tvm.lab.critical_path import rows

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    found = by_threads(steps, threads)
    alone = found[1]
    console.print(f"{bundle}, {audio:.2f} s of speech, by number of threads:", soft_wrap=True)
    for count, seconds in found.items():
        times = f", {alone / seconds:.1f} times as fast" if count > 1 else ", measured"
        speed = f"{seconds * 1e3:.1f} ms (real-time factor {seconds / audio:.3f}){times}"
        console.print(f"  {count:>3}: {speed}", soft_wrap=True)
    console.print(table(rows(steps, threads), threads))
    console.print(
        "Tasks of a loop are taken as equal. What starting threads costs, and memory that they share, "
        "is left out.",
        soft_wrap=True,
    )


def table(rows: Sequence[Row], threads: int) -> Table:
    """A row for each kernel that takes a hundredth of the modelled time, longest first."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("kernel", no_wrap=True)
    for heading in ("calls", "tasks", "ms on 1", f"ms on {threads}", "share", "times as fast"):
        made.add_column(heading, justify="right")
    total = sum(row.shared for row in rows)
    shown = [row for row in rows if row.shared >= _SMALL * total]
    for row in shown:
        tasks = "—" if row.tasks is None else "–".join(map(str, dict.fromkeys(row.tasks)))
        made.add_row(
            f"{row.component} {row.name}", f"{row.calls}", tasks, *_times(row.alone, row.shared, total)
        )
    if others := [row for row in rows if row.shared < _SMALL * total]:
        alone, shared = sum(row.alone for row in others), sum(row.shared for row in others)
        calls = sum(row.calls for row in others)
        made.add_row(f"{len(others)} others", f"{calls}", "", *_times(alone, shared, total))
    return made


def _times(alone: float, shared: float, total: float) -> tuple[str, ...]:
    return f"{alone * 1e3:.2f}", f"{shared * 1e3:.2f}", f"{shared / total:.1%}", f"{alone / shared:.1f}"


def to_json(bundle: Path, audio: float, steps: Sequence[Step], threads: int) -> dict[str, Any]:
    from dataclasses import asdict

    from kokoro_tvm.lab.critical_path import rows

    return {
        "bundle": str(bundle),
        "audio_seconds": audio,
        "seconds_by_threads": {str(n): seconds for n, seconds in by_threads(steps, threads).items()},
        "kernels": [asdict(row) for row in rows(steps, threads)],
    }
