"""Weights and voices from a repository of the Hugging Face hub, at one commit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.model.network import PROBE_TIMEOUT_S, unreachable
from kokoro_tvm.model.sources.material import Log, Material, SourceUnavailableError
from kokoro_tvm.recipe.checkpoint import HuggingFaceSource

__all__ = ["download"]


def download(
    source: HuggingFaceSource, voices: Sequence[str], config: str | None, work: Path, log: Log
) -> Material:
    """Downloads the weights, the named voices and the configuration, if it is named, into `work`.

    Raises SourceUnavailableError when the hub does not answer or lacks a file.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceUnavailableError("the hub is switched off (HF_HUB_OFFLINE is set)")
    # The hub's own client keeps retrying for 23 s where there is no network; one short question is kinder.
    if (reason := unreachable(constants.ENDPOINT)) is not None:
        raise SourceUnavailableError(reason)
    weights = _download(source, source.weights.file, work, log)
    for name in voices:
        _download(source, f"{source.voices}/{name}.pt", work, log)
    found = None if config is None else _download(source, config, work, log)
    return Material(weights, work / source.voices, found)


def _download(source: HuggingFaceSource, name: str, work: Path, log: Log) -> Path:
    from huggingface_hub import hf_hub_download

    start = time.monotonic()
    try:
        got = hf_hub_download(
            source.repo, name, revision=source.revision, local_dir=work, etag_timeout=PROBE_TIMEOUT_S
        )
    except Exception as error:  # whatever the hub's client raises, and what it is made of
        raise SourceUnavailableError(f"{name} cannot be downloaded: {_first_line(error)}") from error
    path = Path(str(got))
    log(f"downloaded {name}: {path.stat().st_size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return path


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
