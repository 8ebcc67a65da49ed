"""Results of measurements as JSON files: seconds (`_s`), bytes, FLOP/s, shares of 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import write_text

Isa: TypeAlias = Literal["avx2"]
"""Instruction sets that peers can be restricted to."""

R = TypeVar("R", bound="BenchRecord")


class BenchRecord(BaseModel):
    """A result, or a part of one; `command` is the command that writes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: ClassVar[str]

    def write(self, path: Path) -> None:
        """Write the result as JSON, atomically. Raises InputError if that fails."""
        write_text(path, self.model_dump_json(indent=1) + "\n")

    @classmethod
    def read(cls: type[R], path: Path) -> R:
        """Read a result. Raises InputError if there is none, or one of another version."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror or error}. `{cls.command}` writes it."
            ) from error
        except ValidationError as error:
            raise InputError(f"{path} is no result of this version of `{cls.command}`: {error}.") from error


class TextInfo(BenchRecord):
    """A text: its name and the number of tokens of each utterance."""

    name: str
    tokens: tuple[int, ...]


class ComponentResult(BenchRecord):
    """A component of a bundle on one text: median seconds and share of the machine's peak."""

    component: str
    seconds_s: float
    flops: int
    flops_per_s: float
    share_of_peak: float | None
    """Of the peak of the bundle's precision for the decoder, of float32 for the others."""


class TextResult(BenchRecord):
    """A system on one text; `rtf` is the median by the seconds of audio that the system made."""

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
    """A system, its measurements, and its `problem` if it did not run or failed."""

    name: str
    title: str
    ours: bool
    precision: str
    details: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment variables that restricted it to an instruction set."""
    disk_bytes: int | None = None
    cold_starts_s: tuple[float, ...] = ()
    cold_start_s: float | None = None
    import_s: float | None = None
    """Time to import its modules, in a process of its own."""
    texts: tuple[TextResult, ...] = ()
    fidelity: float | None = None
    """Correlation of magnitudes with the stock model in float64, 1 at most; None if there is no truth."""
    problem: str | None = None

    def on(self, text: str) -> TextResult | None:
        """Return the result for a text, or None if there is none."""
        return next((result for result in self.texts if result.text == text), None)


class PeerComparison(BenchRecord):
    """Median time of a bundle by that of the peer `of`, on one text; below 1 the bundle is faster."""

    name: str
    text: str
    against: str
    """"pytorch", "best float32 peer" or "best peer"."""
    of: str
    ratio: float


class Result(BenchRecord):
    """One run of the benchmark."""

    command: ClassVar[str] = "kokoro-tvm bench"
    schema_version: int = 1
    date: str
    machine: MachineInfo
    threads: int
    rounds: int
    """As planned."""
    complete: bool = True
    isa: Isa | None = None
    """Instruction set that peers were restricted to."""
    voice: str
    others_cores: float | None
    """Mean number of cores that other processes kept busy; None if the run was interrupted."""
    peak_flops_per_s: dict[str, float]
    texts: tuple[TextInfo, ...]
    systems: tuple[SystemResult, ...]
    comparisons: tuple[PeerComparison, ...]


def compare(systems: Sequence[SystemResult], texts: Sequence[str]) -> tuple[PeerComparison, ...]:
    """Compare every bundle with the stock model, the best float32 peer and the best peer, on every text."""
    peers = [system for system in systems if not system.ours]
    groups: Mapping[str, list[SystemResult]] = {
        "pytorch": [system for system in peers if system.name == "pytorch"],
        "best float32 peer": [system for system in peers if system.precision == "float32"],
        "best peer": peers,
    }
    comparisons = []
    for text in texts:
        for ours in (system for system in systems if system.ours):
            for against, group in groups.items():
                times = {peer.name: result.median_s for peer in group if (result := peer.on(text))}
                own = ours.on(text)
                if own is not None and times:
                    best = min(times, key=times.__getitem__)
                    ratio = own.median_s / times[best]
                    comparisons.append(
                        PeerComparison(name=ours.name, text=text, against=against, of=best, ratio=ratio)
                    )
    return tuple(comparisons)
