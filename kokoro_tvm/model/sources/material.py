"""Files of sources, and the loop that tries sources in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe.checkpoint import HuggingFaceSource, NpmSource, Source

Log = Callable[[str], None]
_S = TypeVar("_S")


class SourceUnavailableError(BuildError):
    """A source does not answer (no network, no npm, no such file); the next one may be tried."""


@dataclass(frozen=True)
class Material:
    """Files of a source, not verified yet.

    Attributes:
        weights: File of weights.
        voices: Folder of voices.
        config: Configuration, or None if this package ships it.
    """

    weights: Path
    voices: Path
    config: Path | None = None


def describe(source: Source) -> str:
    """Return a source in one short phrase, for errors and logs."""
    if isinstance(source, HuggingFaceSource):
        return f"huggingface {source.repo}@{source.revision[:12]} {source.weights.file}"
    if isinstance(source, NpmSource):
        return "npm " + " ".join(f"{package.name}@{package.version}" for package in source.packages)
    if source.kind == "file":
        return f"file {source.path}"
    return f"synthetic {source.size} seed {source.seed}"


def try_sources(
    what: str,
    sources: Iterable[tuple[str, _S]],
    obtain: Callable[[_S, Path], None],
    work: Path,
    log: Log,
    advice: str,
) -> str:
    """Obtain files from the first source that answers, and return its label.

    Args:
        what: Name of the files, for errors.
        sources: Sources with their labels.
        obtain: Downloads and verifies the files of a source, in the folder `work`.
        work: Folder that exists while `obtain` runs.
        log: Called with lines of progress.
        advice: What to do if no source answers.

    Raises:
        BuildError: No source answers, or the files of one are refused; later sources are not tried then.
    """
    failures: list[str] = []
    for label, source in sources:
        log(f"trying {label}")
        work.mkdir()
        try:
            obtain(source, work)
            return label
        except SourceUnavailableError as error:
            failures.append(f"{label}: {str(error).rstrip('.')}")
            log(f"{label} does not answer: {error}")
        except BuildError as error:
            message = f"{what} from {label} is refused: {error}"
            raise BuildError(message.replace(f"{work}{os.sep}", "")) from error
        finally:
            shutil.rmtree(work)
    reasons = "; ".join(f"({number}) {failure}" for number, failure in enumerate(failures, start=1))
    raise BuildError(f"no source of {what} answers. Tried: {reasons}. {advice}.")
