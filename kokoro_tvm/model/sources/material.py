"""What every source provides, how one that does not answer says so, and the next is tried."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe.checkpoint import HuggingFaceSource, NpmSource, Source

__all__ = ["Log", "Material", "SourceUnavailableError", "describe", "first_that_answers"]

Log = Callable[[str], None]
_S = TypeVar("_S")


class SourceUnavailableError(BuildError):
    """A source does not answer (no network, no npm, no such file): the next one may be tried."""


@dataclass(frozen=True)
class Material:
    """Files as a source has them, not verified yet: one of weights, a folder of voices, and the configuration
    where that is not shipped."""

    weights: Path
    voices: Path
    config: Path | None = None


def describe(source: Source) -> str:
    """A source in one short phrase, for errors and logs."""
    if isinstance(source, HuggingFaceSource):
        return f"huggingface {source.repo}@{source.revision[:12]} {source.weights.file}"
    if isinstance(source, NpmSource):
        return "npm " + " ".join(f"{package.name}@{package.version}" for package in source.packages)
    if source.kind == "file":
        return f"file {source.path}"
    return f"synthetic {source.size} seed {source.seed}"


def first_that_answers(
    what: str,
    sources: Iterable[tuple[str, _S]],
    obtain: Callable[[_S, Path], None],
    work: Path,
    log: Log,
    advice: str,
) -> str:
    """Obtains `what` from the first source that answers; its label.

    sources: each with its label; obtain: brings what a source has and verifies it, with the folder `work`,
    which is there meanwhile, for downloads. Raises BuildError when no source answers (each is listed with its
    reason, and `advice` behind them), or when what one has is refused; those behind it are not tried.
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
