"""Figures of a load: throughput, time to first sound, faults, memory; as a table and as a JSON file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.load.drive import ClientResponse
from kokoro_tvm.tools.bench.record import BenchRecord

__all__ = ["Load", "LoadResult", "Turn", "rows", "summary", "table"]


@dataclass(frozen=True)
class Turn:
    """One server in one round.

    seconds: from the first request to the last byte; memory: the server's resident bytes before and after;
    cpu: seconds that it computed, on all cores together. None where the system does not tell.
    """

    answers: Sequence[ClientResponse]
    seconds: float
    memory: tuple[int | None, int | None]
    cpu: float | None

    @property
    def good(self) -> list[ClientResponse]:
        """The answers without a problem."""
        return [answer for answer in self.answers if not answer.problem]

    @property
    def requests_a_minute(self) -> float:
        """Of the answers without a problem."""
        return 60 * len(self.good) / self.seconds


class Load(BenchRecord):
    """One server under so many clients, all rounds together.

    hostile: how many hostile clients there were besides; seconds: of all rounds; rounds: requests a minute of
    each; first_sound: seconds at the median, at 95 and at 99 % of the answers without a problem; rate:
    seconds of audio for a second; problems: how many answers had which; memory: the server's resident bytes
    before the first request and after the last; cpu: seconds that the server computed for each second of
    audio, on all cores together. None: unknown.
    """

    system: str
    ours: bool
    clients: int
    hostile: int
    seconds: float
    requests: int
    requests_a_minute: float
    rounds: tuple[float, ...]
    rate: float
    first_sound: tuple[float, float, float] | None
    problems: dict[str, int]
    memory: tuple[int | None, int | None]
    cpu: float | None


class LoadResult(BenchRecord):
    """One run: each server for `seconds` in each of so many rounds, under each number of clients.

    complete: whether the run came to its end; sentences, pages: the texts that were chosen from;
    others_cores: how many cores other processes kept busy, on the mean, None where the system does not tell
    or the run did not come to its end.
    """

    command: ClassVar[str] = "python -m kokoro_tvm.tools.bench.load"
    schema_version: int = 2
    date: str
    machine: MachineInfo
    threads: int
    rounds: int
    seconds: float
    sentences: int
    pages: int
    complete: bool
    others_cores: float | None
    loads: tuple[Load, ...]


def summary(system: str, ours: bool, clients: int, turns: Sequence[Turn], hostile: int = 0) -> Load:
    """The figures of a server's turns in all rounds so far."""
    answers = [answer for turn in turns for answer in turn.answers]
    good = [answer for turn in turns for answer in turn.good]
    seconds = sum(turn.seconds for turn in turns)
    firsts = [answer.first_sound for answer in good]
    quantiles = [float(value) for value in np.percentile(firsts, (50, 95, 99))] if firsts else None
    audio = sum(answer.size for answer in good) / (2 * SAMPLE_RATE)
    computed = [turn.cpu for turn in turns if turn.cpu is not None]
    return Load(
        system=system,
        ours=ours,
        clients=clients,
        hostile=hostile,
        seconds=seconds,
        requests=len(answers),
        requests_a_minute=60 * len(good) / seconds,
        rounds=tuple(turn.requests_a_minute for turn in turns),
        rate=audio / seconds,
        first_sound=None if quantiles is None else (quantiles[0], quantiles[1], quantiles[2]),
        problems=dict(Counter(answer.problem for answer in answers if answer.problem)),
        memory=(turns[0].memory[0], turns[-1].memory[1]),
        cpu=sum(computed) / audio if len(computed) == len(turns) and audio else None,
    )


def rows(loads: Sequence[Load]) -> Iterator[list[str]]:
    """The cells of a table: its head, then a row for each server under each number of clients."""
    yield [
        "server, clients",
        "requests a minute",
        "audio s/s",
        "CPU s/s",
        "first sound, 50 %",
        "95 %",
        "99 %",
        "faults",
        "memory",
    ]
    for load in sorted(loads, key=lambda load: (load.clients, load.hostile)):
        requests = f"{load.requests_a_minute:.1f}"
        if len(load.rounds) > 1:
            requests += f" ({min(load.rounds):.1f} to {max(load.rounds):.1f})"
        firsts = ("–",) * 3 if load.first_sound is None else (f"{value:.2f} s" for value in load.first_sound)
        yield [
            f"{f'**{load.system}**' if load.ours else load.system}, {load.clients}"
            + (f" + {load.hostile} hostile" if load.hostile else ""),
            requests,
            f"{load.rate:.2f}",
            "–" if load.cpu is None else f"{load.cpu:.2f}",
            *firsts,
            ", ".join(f"{count} {what}" for what, count in load.problems.items()) or "none",
            " → ".join("–" if size is None else f"{size / 1e6:.0f}" for size in load.memory) + " MB",
        ]


def table(loads: Sequence[Load]) -> str:
    """The figures as a table in Markdown."""
    head, *body = rows(loads)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))
