"""Describes the machine of a measurement."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kokoro_tvm.runtime.threads import usable_cores

__all__ = ["MachineInfo", "describe_machine"]


class MachineInfo(BaseModel):
    """A machine: processor, cores this process may use, memory (None: unknown), kernel and Python."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu: str
    cores: int
    memory_bytes: int | None
    system: str
    python: str

    def __str__(self) -> str:
        memory = "unknown memory" if self.memory_bytes is None else f"{self.memory_bytes / 2**30:.0f} GiB"
        return f"{self.cpu}, {self.cores} cores, {memory}, {self.system}, Python {self.python}"


def describe_machine(cpuinfo: Path = Path("/proc/cpuinfo")) -> MachineInfo:
    """The machine this runs on; beyond Linux, its processor's name is the one that Python knows."""
    listed = cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""
    return MachineInfo(
        cpu=_cpu(listed),
        cores=usable_cores(),
        memory_bytes=_memory_bytes(),
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=platform.python_version(),
    )


def _memory_bytes() -> int | None:
    if not hasattr(os, "sysconf"):  # Windows
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _cpu(listed: str) -> str:
    """The name, with family and model: hypervisors shorten names to "AMD EPYC"."""
    lines = (line.partition(":") for line in listed.split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields and "model" in fields:
        name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name
