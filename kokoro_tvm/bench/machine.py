"""What was measured on, in words and numbers; read from Linux."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kokoro_tvm.runtime.threads import usable_cores

__all__ = ["MachineInfo", "describe_machine"]


class MachineInfo(BaseModel):
    """A machine: its processor's name, cores this process may use, memory, kernel and Python."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu: str
    cores: int
    memory_bytes: int
    system: str
    python: str

    def __str__(self) -> str:
        memory = f"{self.memory_bytes / 2**30:.0f} GiB"
        return f"{self.cpu}, {self.cores} cores, {memory}, {self.system}, Python {self.python}"


def describe_machine(cpuinfo: Path = Path("/proc/cpuinfo")) -> MachineInfo:
    """The machine this runs on."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return MachineInfo(
        cpu=_cpu(cpuinfo.read_text(encoding="utf-8")),
        cores=usable_cores(),
        memory_bytes=pages * size,
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=platform.python_version(),
    )


def _cpu(told: str) -> str:
    """The name, with family and model: hypervisors shorten names to "AMD EPYC"."""
    lines = (line.partition(":") for line in told.split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    name = fields.get("model name", platform.machine())
    if "cpu family" in fields and "model" in fields:
        name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name
