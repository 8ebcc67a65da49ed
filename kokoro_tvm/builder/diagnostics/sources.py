"""Whether the sources of a checkpoint can be reached from here, without fetching anything."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.model.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.recipe.checkpoint import Checkpoint, FileSource, HuggingFaceSource, NpmSource

__all__ = ["Reach", "reach"]


@dataclass(frozen=True)
class Reach:
    """A source, and why it cannot be reached (None: it can)."""

    source: str
    problem: str | None


def reach(checkpoint: Checkpoint, root: Path) -> list[Reach]:
    """Every source of a checkpoint, in the order they are tried; root: folder of relative paths."""
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
            found.append(Reach(source.kind, None))  # synthetic: nothing to reach
    return found


def _huggingface() -> str | None:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "switched off by HF_HUB_OFFLINE"
    return unreachable(constants.ENDPOINT)


def _npm(package: str) -> str | None:
    """Runs npm, because npm's settings decide about the registry and the way to it."""
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
    errors = [line.removeprefix("npm error ") for line in done.stderr.splitlines() if line.strip()]
    return f"npm does not find it ({errors[0] if errors else f'exit status {done.returncode}'})"
