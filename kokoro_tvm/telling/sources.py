"""Whether the sources of a checkpoint can be had from here, asked without fetching anything."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.recipe.checkpoint import Checkpoint, FileSource, HuggingFaceSource, NpmSource

__all__ = ["Reach", "reach"]


@dataclass(frozen=True)
class Reach:
    """A source, and why it cannot be had (None: it can)."""

    source: str
    problem: str | None


def reach(checkpoint: Checkpoint, root: Path) -> list[Reach]:
    """Every source of a checkpoint, in the order they are tried; root: what paths of files start from."""
    found = []
    for source in checkpoint.sources:
        if isinstance(source, HuggingFaceSource):
            found.append(Reach(f"huggingface {source.repo}", _huggingface()))
        elif isinstance(source, NpmSource):
            package = f"{source.packages[0].name}@{source.packages[0].version}"
            found.append(Reach(f"npm {package}", _npm(package)))
        elif isinstance(source, FileSource):
            there = (root / source.path).is_file()
            found.append(Reach(f"file {source.path}", None if there else f"there is no file {source.path}"))
        else:
            found.append(Reach(source.kind, None))  # made up here
    return found


def _huggingface() -> str | None:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "switched off by HF_HUB_OFFLINE"
    return unreachable(constants.ENDPOINT)


def _npm(package: str) -> str | None:
    """Asks npm, because the registry, and the way to it, are what npm is set to."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    milliseconds = f"{PROBE_TIMEOUT_S * 1000:.0f}"
    command = [npm, "view", package, "version", "--fetch-retries=0", f"--fetch-timeout={milliseconds}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PROBE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"npm does not answer within {2 * PROBE_TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return None
    told = [line.removeprefix("npm error ") for line in done.stderr.splitlines() if line.strip()]
    return f"npm does not find it ({told[0] if told else f'exit status {done.returncode}'})"
