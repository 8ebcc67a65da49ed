"""Weights from a file that the user supplies, with a folder of voices."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.model.sources.material import Material, SourceUnavailableError
from kokoro_tvm.recipe.checkpoint import FileSource


def find(source: FileSource, config: str | None, root: Path) -> Material:
    """Return the file, its voices, and the configuration beside it; relative paths start from `root`.

    Raises SourceUnavailableError if one of them is missing.
    """
    path = root / source.path
    if not path.is_file():
        raise SourceUnavailableError(f"there is no file {source.path}")
    folder = root / source.voices if source.voices is not None else path.parent / "voices"
    if not folder.is_dir():
        raise SourceUnavailableError(
            f"there is no folder of voices {folder}; put their files there, or say where they are with "
            "`voices:`"
        )
    if config is not None and not path.with_name(config).is_file():
        raise SourceUnavailableError(
            f"there is no configuration {path.with_name(config)}; put it beside the weights"
        )
    return Material(path, folder, None if config is None else path.with_name(config))
