"""Describes the machine of a measurement."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kokoro_tvm.runtime.threads import usable_cores


class MachineInfo(BaseModel):
    """A machine: processor, cores that this process may use, memory (None: unknown), kernel and Python."""

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
    """Describe the machine that this process runs on."""
    has_sysconf = hasattr(os, "sysconf")  # not on Windows
    return MachineInfo(
        cpu=_read_cpu(cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""),
        cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if has_sysconf else None,
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=platform.python_version(),
    )


def _read_cpu(cpuinfo: str) -> str:
    """Return the CPU's name with family and model, because hypervisors shorten names to "AMD EPYC"."""
    lines = (line.partition(":") for line in cpuinfo.split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields and "model" in fields:
        name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name
