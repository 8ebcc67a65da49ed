"""What a night leaves to others: of every recipe that passed, its bundle, with digests and provenance."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm import __version__
from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.publish.attestation import statements
from kokoro_tvm.publish.distribution import write_package
from kokoro_tvm.runtime.bundle.manifest import read_bundle

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

__all__ = ["RELEASE", "SUMS", "Release", "write_release"]

RELEASE, SUMS = "release.json", "SHA256SUMS"
"""What is in a release: recipe to files and where they come from; and what `sha256sum --check` reads."""


@dataclass(frozen=True)
class Release:
    """files: of the folder, by name; bundles: recipe -> the folder of its bundle; left_out: recipe -> the
    first of its stages that is not current."""

    files: tuple[Path, ...]
    bundles: dict[str, Path]
    left_out: dict[str, str]


def write_release(
    graphs: Iterable[RecipeGraph], out: Path, signer: Signer | None = None, packages: bool = True
) -> Release:
    """Write into a folder, of every recipe whose stages are all current, so that its gates are met: its
    report if there is one, its provenance and bill of materials, and their signatures; then RELEASE and SUMS.

    Args:
        signer: what signs; None: nothing is signed.
        packages: also write what `write_package` writes, which is twice the size of the bundles.

    Raises:
        BundleError: a bundle is not what its manifest says.
    """
    out.mkdir(parents=True, exist_ok=True)
    recipes: dict[str, Any] = {}
    bundles: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    for graph in graphs:
        name = graph.recipe.name
        behind = next((stage.name for stage in graph.stages() if not stage.is_current()), None)
        if behind is not None:
            left_out[name] = behind
            continue
        files = write_package(graph.bundle_folder, out) if packages else []
        page = graph.report.path("report.html")
        if page.is_file():
            files.append(Path(shutil.copyfile(page, out / f"{name}.{page.name}")))
        for file, content in statements(read_bundle(graph.bundle_folder), signer).items():
            durable.write(out / f"{name}.{file}", content)
            files.append(out / f"{name}.{file}")
        bundles[name] = graph.bundle_folder
        recipes[name] = {"key": graph.bundle.key(), "files": {path.name: _described(path) for path in files}}
    release = {"version": __version__, "recipes": recipes, "left_out": left_out}
    durable.write(out / RELEASE, (json.dumps(release, indent=1) + "\n").encode())
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != SUMS)
    lines = (f"{file_sha256(path)}  {path.name}\n" for path in files)
    durable.write(out / SUMS, "".join(lines).encode())
    return Release((*files, out / SUMS), bundles, left_out)


def _described(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
