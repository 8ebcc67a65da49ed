"""Weights and voices from a repository of the Hugging Face hub, at one commit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.model.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.model.sources.material import Log, Material, SourceUnavailableError
from kokoro_tvm.recipe.checkpoint import HuggingFaceSource


def download(
    source: HuggingFaceSource, voices: Sequence[str], config: str | None, work: Path, log: Log
) -> Material:
    """Download weights, voices and the configuration, if it has a name, into `work`.

    Raises SourceUnavailableError if the hub does not answer or lacks a file.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceUnavailableError("the hub is switched off (HF_HUB_OFFLINE is set)")
    # Without a network, the hub's own client retries for 23 s; a probe takes 5 s at most.
    if (reason := unreachable(constants.ENDPOINT)) is not None:
        raise SourceUnavailableError(reason)
    weights = _download(source, source.weights.file, work, log)
    for name in voices:
        _download(source, f"{source.voices}/{name}.pt", work, log)
    config_path = None if config is None else _download(source, config, work, log)
    return Material(weights, work / source.voices, config_path)


def _download(source: HuggingFaceSource, name: str, work: Path, log: Log) -> Path:
    """Download a file of a repository into `work`. Raises SourceUnavailableError if that fails."""
    from huggingface_hub import hf_hub_download

    start = time.monotonic()
    try:
        downloaded = hf_hub_download(
            source.repo, name, revision=source.revision, local_dir=work, etag_timeout=PROBE_TIMEOUT_S
        )
    except Exception as error:  # of the hub's client and of the libraries below it
        reason = str(error).strip().partition("\n")[0]
        raise SourceUnavailableError(
            f"{name} cannot be downloaded: {type(error).__name__}: {reason}"
        ) from error
    path = Path(str(downloaded))
    log(f"downloaded {name}: {path.stat().st_size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return path
