"""Stage `runtime`: copy the TVM runtime of this machine, or fetch another platform's from pinned wheels."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.memory import process_memory
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TVM, versions
from kokoro_tvm.builder.stages.base import Place, log, write_json
from kokoro_tvm.targets import PinnedLibrary, RuntimeLibrary

_YIELD = "runtime.json"


def declare(place: Place, libraries: Mapping[str, RuntimeLibrary], artifact: str = "") -> Stage:
    """Declare the stage.

    Args:
        place: Folders.
        libraries: Libraries of the TVM runtime for the target, by their role; each is an output.
        artifact: Suffix of the stage's name, if the libraries are not for the bundle.
    """
    pinned = [library for library in libraries.values() if isinstance(library, PinnedLibrary)]
    installed = [library for library in libraries.values() if isinstance(library, Path)]
    if pinned:
        return place.stage(
            "runtime",
            artifact,
            doc="fetch the TVM runtime of the target's platform",
            outputs=(*(library.name for library in pinned), _YIELD),
            settings=lambda: {"pinned": [asdict(library) for library in pinned]},
            yields=({library.name: library.sha256 for library in pinned},),
        )
    return place.stage(
        "runtime",
        artifact,
        doc="copy the TVM runtime",
        outputs=tuple(library.name for library in installed),
        settings=lambda: {"installed": [str(library) for library in installed]},
        facts=lambda: {
            "libraries": [process_memory().sha256(library) for library in installed],
            "versions": versions(*TVM),
        },
    )


def libraries_of(stage: Stage) -> list[tuple[Stage, str]]:
    """Return the libraries of a stage, in their order, as inputs of other stages."""
    return [(stage, output) for output in stage.outputs if output != _YIELD]


def run(
    out: Path, inputs: Inputs, *, installed: list[str] | None = None, pinned: list[Any] | None = None
) -> None:
    """Copy installed libraries, or fetch pinned ones.

    Raises:
        BuildError: The package index has another file.
    """
    for path in map(Path, installed or ()):
        shutil.copyfile(path, out / path.name)
    if pinned:
        libraries = [PinnedLibrary(**fields | {"platforms": tuple(fields["platforms"])}) for fields in pinned]
        for number, library in enumerate(libraries):
            work = out / f".wheel-{number}"
            work.mkdir()
            _fetch(library, out, work)
            shutil.rmtree(work)
        write_json(out / _YIELD, {library.name: library.sha256 for library in libraries})


def _fetch(library: PinnedLibrary, out: Path, work: Path) -> None:
    """Download a wheel into `work`, and extract the library to `out`.

    Raises BuildError for another digest.
    """
    from kokoro_tvm.model.pins import check_sha256
    from kokoro_tvm.model.sources.wheel import download_wheel, extract

    what = f"{library.package}=={library.version}"
    wheel = download_wheel(library.package, library.version, work, log, library.platforms, library.python)
    check_sha256(wheel, library.wheel, f"the wheel of {what}")
    extract(wheel, str(Path(library.member).parent), [library.name], out)
    check_sha256(out / library.name, library.sha256, f"{library.name} of {what}")
