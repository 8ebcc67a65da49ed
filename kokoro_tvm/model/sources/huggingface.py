"""Weights, configuration and voices from a repository of the Hugging Face hub, at one commit."""

from __future__ import annotations

import json
import time
from pathlib import Path

from kokoro_tvm.errors import BuildError
from kokoro_tvm.model._digest import check_sha256
from kokoro_tvm.model._state import read_state
from kokoro_tvm.model.kokoro import expected_shapes
from kokoro_tvm.model.sources._material import Log, Material, SourceUnavailableError
from kokoro_tvm.model.voices import read_voices
from kokoro_tvm.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.recipe.checkpoint import HuggingFaceSource

__all__ = ["load_huggingface"]


def load_huggingface(source: HuggingFaceSource, work: Path, log: Log) -> Material:
    """Downloads the pinned files and every voice of the commit into `work`, verifies and reads them."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceUnavailableError("the hub is switched off (HF_HUB_OFFLINE is set)")
    # The hub's own client keeps retrying for 23 s where there is no network; one short question is kinder.
    if (reason := unreachable(constants.ENDPOINT)) is not None:
        raise SourceUnavailableError(reason)
    config = _download(source, source.config.file, work, log)
    check_sha256(config, source.config.sha256, source.config.file)
    weights = _download(source, source.checkpoint.file, work, log)
    check_sha256(weights, source.checkpoint.sha256, source.checkpoint.file)
    for name in _voice_files(source):
        _download(source, name, work, log)
    config_bytes = config.read_bytes()
    log("reading the weights")
    state = read_state(weights, expected_shapes(json.loads(config_bytes)))
    voices = read_voices(work / source.voices)
    return Material(state=state, voices=voices, config=config_bytes, sha256=source.checkpoint.sha256)


def _voice_files(source: HuggingFaceSource) -> list[str]:
    from huggingface_hub import list_repo_files

    try:
        files = list_repo_files(source.repo, revision=source.revision)
    except OSError as error:  # Every error of the hub's client is one.
        raise SourceUnavailableError(f"its files cannot be listed: {_first_line(error)}") from error
    folder = source.voices.rstrip("/") + "/"
    names = sorted(name for name in files if name.startswith(folder) and name.endswith(".pt"))
    if not names:
        raise BuildError(f"expected voices {folder}NAME.pt in {source.repo}@{source.revision}, got none")
    return names


def _download(source: HuggingFaceSource, name: str, work: Path, log: Log) -> Path:
    from huggingface_hub import hf_hub_download

    start = time.monotonic()
    try:
        got = hf_hub_download(
            source.repo, name, revision=source.revision, local_dir=work, etag_timeout=PROBE_TIMEOUT_S
        )
    except OSError as error:
        raise SourceUnavailableError(f"{name} cannot be downloaded: {_first_line(error)}") from error
    path = Path(str(got))
    log(f"downloaded {name}: {path.stat().st_size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return path


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
