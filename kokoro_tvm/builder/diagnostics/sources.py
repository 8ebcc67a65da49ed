"""Checks whether the sources of a checkpoint can be reached, without fetching anything."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from kokoro_tvm.model.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.recipe.checkpoint import Checkpoint, FileSource, HuggingFaceSource, NpmSource, Source


def check_sources(checkpoint: Checkpoint, root: Path) -> dict[str, str | None]:
    """Return why each source cannot be reached (None: it can), in the order in which a build tries them.

    Args:
        checkpoint: Of a model's recipe.
        root: Folder of the relative paths of sources.
    """
    return dict(_check(source, root) for source in checkpoint.sources)


def _check(source: Source, root: Path) -> tuple[str, str | None]:
    """Return the name of a source, and why it cannot be reached or None."""
    match source:
        case HuggingFaceSource():
            return f"huggingface {source.repo}", _check_hub()
        case NpmSource():
            package = f"{source.packages[0].name}@{source.packages[0].version}"
            return f"npm {package}", _check_npm(package)
        case FileSource():
            is_there = (root / source.path).is_file()
            return f"file {source.path}", None if is_there else f"there is no file {source.path}"
    return source.kind, None  # synthetic: nothing to reach


def _check_hub() -> str | None:
    """Return why the hub cannot be reached, or None."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "switched off by HF_HUB_OFFLINE"
    return unreachable(constants.ENDPOINT)


def _check_npm(package: str) -> str | None:
    """Return why npm does not find a package, or None."""
    # npm itself is run, because its settings decide about the registry and the proxy.
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    timeout = f"--fetch-timeout={PROBE_TIMEOUT_S * 1000:.0f}"
    command = [npm, "view", package, "version", "--fetch-retries=0", timeout]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PROBE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"npm does not answer within {2 * PROBE_TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return None
    reason = next(iter(done.stderr.splitlines()), f"exit status {done.returncode}")
    return f"npm does not find it ({reason.removeprefix('npm error ')})"
