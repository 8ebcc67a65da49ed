"""The result of a measurement, as in its JSON file: seconds (`_s`), bytes, FLOP/s, shares of 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.tools.bench.record import BenchRecord

__all__ = [
    "ComponentResult",
    "Isa",
    "PeerComparison",
    "Result",
    "SystemResult",
    "TextInfo",
    "TextResult",
    "compare",
]

Isa: TypeAlias = Literal["avx2"]
"""Instruction sets that peers can be held to, as on an older CPU."""


class TextInfo(BenchRecord):
    """A text: its name and the tokens of each of its utterances."""

    name: str
    tokens: tuple[int, ...]


class ComponentResult(BenchRecord):
    """A component of ours on one text: median seconds, FLOPs, and the share of the measured peak.

    The peak is that of the precision it computes in: the decoder's is the bundle's, where this machine has a
    peak of it, all others' float32.
    """

    component: str
    seconds_s: float
    flops: int
    flops_per_s: float
    share_of_peak: float | None


class TextResult(BenchRecord):
    """A system on one text. `rtf` is the median over the seconds of audio this system made of it."""

    text: str
    audio_s: float
    first_s: float
    seconds_s: tuple[float, ...]
    median_s: float
    minimum_s: float
    rtf: float
    peak_rss_bytes: int | None
    components: tuple[ComponentResult, ...]


class SystemResult(BenchRecord):
    """A system: what it is, what it measured, if anything, and its `problem` where it did not run or failed.

    `variables`: of its process's environment, which held it to an instruction set; `import_s`: what of the
    cold start it takes to import its modules, measured alone.
    """

    name: str
    title: str
    ours: bool
    precision: str
    details: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    variables: dict[str, str] = Field(default_factory=dict)
    disk_bytes: int | None = None
    cold_starts_s: tuple[float, ...] = ()
    cold_start_s: float | None = None
    import_s: float | None = None
    texts: tuple[TextResult, ...] = ()
    problem: str | None = None

    def on(self, text: str) -> TextResult | None:
        """What it measured on a text, if it did."""
        return next((found for found in self.texts if found.text == text), None)


class PeerComparison(BenchRecord):
    """The time of a bundle of ours relative to a peer's (`of`), on one text: medians, below 1 is faster.

    `against` says which peer that is: "pytorch", "best float32 peer" or "best peer".
    """

    name: str
    text: str
    against: str
    of: str
    ratio: float


class Result(BenchRecord):
    """One run of the benchmark.

    `rounds`: how many were planned; `complete`: whether the run came to its end; `isa`: the instruction set
    that peers were held to, None: whatever they choose; `others_cores`: how many cores other
    processes kept busy, on the mean, None where the system does not tell or the run did not come to its end.
    """

    command: ClassVar[str] = "kokoro-tvm bench"
    schema_version: int = 1
    date: str
    machine: MachineInfo
    threads: int
    rounds: int
    complete: bool = True
    isa: Isa | None = None
    voice: str
    others_cores: float | None
    peak_flops_per_s: dict[str, float]
    texts: tuple[TextInfo, ...]
    systems: tuple[SystemResult, ...]
    comparisons: tuple[PeerComparison, ...]


def compare(systems: Sequence[SystemResult], texts: Sequence[str]) -> tuple[PeerComparison, ...]:
    """Every bundle of ours with the stock model, the best float32 peer and the best peer, text by text."""
    peers = [system for system in systems if not system.ours]
    groups: Mapping[str, list[SystemResult]] = {
        "pytorch": [system for system in peers if system.name == "pytorch"],
        "best float32 peer": [system for system in peers if system.precision == "float32"],
        "best peer": peers,
    }
    found = []
    for text in texts:
        for ours in (system for system in systems if system.ours):
            for against, group in groups.items():
                times = {peer.name: timed.median_s for peer in group if (timed := peer.on(text))}
                timing = ours.on(text)
                if timing is not None and times:
                    best = min(times, key=times.__getitem__)
                    ratio = timing.median_s / times[best]
                    found.append(
                        PeerComparison(name=ours.name, text=text, against=against, of=best, ratio=ratio)
                    )
    return tuple(found)
