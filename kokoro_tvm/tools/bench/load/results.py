"""Results of servers under load, as a table and as a JSON file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.load.drive import ClientResponse
from kokoro_tvm.tools.bench.results import BenchRecord


@dataclass(frozen=True)
class Turn:
    """One server in one round.

    Attributes:
        responses: Responses to all clients.
        seconds: From the first request to the last byte.
        memory: Resident bytes of the server before and after.
        cpu: CPU seconds of the server.
    """

    responses: Sequence[ClientResponse]
    seconds: float
    memory: tuple[int, int]
    cpu: float

    @property
    def good(self) -> list[ClientResponse]:
        """Responses without a problem."""
        return [response for response in self.responses if not response.problem]

    @property
    def requests_a_minute(self) -> float:
        """Rate of the responses without a problem."""
        return 60 * len(self.good) / self.seconds


class Load(BenchRecord):
    """One server under a number of clients, in all rounds together."""

    system: str
    ours: bool
    clients: int
    hostile: int
    """Hostile clients besides."""
    seconds: float
    requests: int
    requests_a_minute: float
    rounds: tuple[float, ...]
    """Requests a minute of each round."""
    rate: float
    """Seconds of audio a second."""
    first_sound: tuple[float, float, float] | None
    """Seconds at the 50th, 95th and 99th percentile of the responses without a problem."""
    problems: dict[str, int]
    memory: tuple[int, int]
    """Resident bytes of the server before the first request and after the last."""
    cpu: float | None
    """CPU seconds a second of audio; None without any audio."""


class LoadResult(BenchRecord):
    """One run: every server for `seconds` in each round, under every number of clients."""

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
    """Mean number of cores that other processes kept busy; None if the run was interrupted."""
    loads: tuple[Load, ...]


def summarize_turns(system: str, ours: bool, clients: int, turns: Sequence[Turn], hostile: int = 0) -> Load:
    """Summarize a server's turns in all rounds so far."""
    responses = [response for turn in turns for response in turn.responses]
    good = [response for turn in turns for response in turn.good]
    seconds = sum(turn.seconds for turn in turns)
    firsts = [response.first_sound for response in good]
    audio = sum(response.size for response in good) / (2 * SAMPLE_RATE)
    return Load(
        system=system,
        ours=ours,
        clients=clients,
        hostile=hostile,
        seconds=seconds,
        requests=len(responses),
        requests_a_minute=60 * len(good) / seconds,
        rounds=tuple(turn.requests_a_minute for turn in turns),
        rate=audio / seconds,
        first_sound=tuple(np.percentile(firsts, (50, 95, 99)).tolist()) if firsts else None,
        problems=dict(Counter(response.problem for response in responses if response.problem)),
        memory=(turns[0].memory[0], turns[-1].memory[1]),
        cpu=sum(turn.cpu for turn in turns) / audio if audio else None,
    )


def rows(loads: Sequence[Load]) -> Iterator[list[str]]:
    """Yield the head of a table, then a row for each server under each number of clients."""
    head = "server, clients|requests a minute|audio s/s|CPU s/s|first sound, 50 %|95 %|99 %|faults|memory"
    yield head.split("|")
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
            ", ".join(f"{count} {problem}" for problem, count in load.problems.items()) or "none",
            " → ".join(f"{size / 1e6:.0f}" for size in load.memory) + " MB",
        ]


def table(loads: Sequence[Load]) -> str:
    """Format the rows as a Markdown table."""
    head, *body = rows(loads)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))
