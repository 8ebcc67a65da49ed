"""Figures of a load: throughput, time to first sound, faults, memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from kokoro_tvm.bench.load.drive import Answer
from kokoro_tvm.constants import SAMPLE_RATE

__all__ = ["Load", "summary", "table", "write"]


@dataclass(frozen=True)
class Load:
    """One system under so many clients for so many seconds.

    first_sound: seconds at the median, at 95 and at 99 % of the answers without a problem; rate: seconds of
    audio for a second; problems: how many answers had which; memory: the server's resident bytes before the
    first request and after the last; cpu: seconds that the server computed for each second of audio, on all
    cores together. None where the system does not tell.
    """

    system: str
    clients: int
    seconds: float
    requests: int
    requests_a_minute: float
    rate: float
    first_sound: tuple[float, float, float] | None
    problems: dict[str, int]
    memory: tuple[int | None, int | None]
    cpu: float | None


def summary(
    system: str,
    clients: int,
    seconds: float,
    answers: Sequence[Answer],
    memory: tuple[int | None, int | None],
    cpu: float | None = None,
) -> Load:
    """The figures of some answers; seconds: from the first request to the last byte; cpu: of the server."""
    good = [answer for answer in answers if not answer.problem]
    firsts = [answer.first_sound for answer in good]
    quantiles = [float(value) for value in np.percentile(firsts, (50, 95, 99))] if firsts else None
    audio = sum(answer.size for answer in good) / (2 * SAMPLE_RATE)
    return Load(
        system=system,
        clients=clients,
        seconds=seconds,
        requests=len(answers),
        requests_a_minute=60 * len(good) / seconds,
        rate=audio / seconds,
        first_sound=None if quantiles is None else (quantiles[0], quantiles[1], quantiles[2]),
        problems=dict(Counter(answer.problem for answer in answers if answer.problem)),
        memory=memory,
        cpu=None if cpu is None or not audio else cpu / audio,
    )


def table(loads: Sequence[Load]) -> str:
    """The figures as a table in Markdown."""
    rows = [
        "| system | clients | req/min | audio s/s | CPU s/s | first sound s, 50, 95, 99 % | faults | MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for load in loads:
        firsts = (
            "none" if load.first_sound is None else ", ".join(f"{value:.2f}" for value in load.first_sound)
        )
        faults = ", ".join(f"{count} {what}" for what, count in load.problems.items()) or "none"
        memory = " → ".join("unknown" if size is None else f"{size / 1e6:.0f}" for size in load.memory)
        cpu = "unknown" if load.cpu is None else f"{load.cpu:.2f}"
        figures = f"{load.requests_a_minute:.1f} | {load.rate:.2f} | {cpu}"
        rows.append(f"| {load.system} | {load.clients} | {figures} | {firsts} | {faults} | {memory} |")
    return "\n".join(rows)


def write(path: Path, loads: Sequence[Load]) -> None:
    """Write the figures as JSON."""
    path.write_text(json.dumps([asdict(load) for load in loads], indent=1) + "\n", encoding="utf-8")
