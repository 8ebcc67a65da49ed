"""Writes a release: the packages or wheels of every recipe that passed, with digests and provenance."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm import __version__
from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.publish.attestation import build_statements
from kokoro_tvm.publish.distribution import open_verified_bundle, write_package, write_wheel
from kokoro_tvm.runtime.bundle.manifest import read_bundle

if TYPE_CHECKING:
    from securesystemslib.signer import Signer

RELEASE = "release.json"  # the files of each recipe, and the recipes that are left out
SUMS = "SHA256SUMS"  # of every other file, for `sha256sum --check`


@dataclass(frozen=True)
class Release:
    """A release.

    Attributes:
        files: Files of its folder, by name.
        bundles: Recipe -> folder of its bundle.
        left_out: Recipe -> the first of its stages that is not current.
    """

    files: tuple[Path, ...]
    bundles: dict[str, Path]
    left_out: dict[str, str]


def write_release(
    graphs: Iterable[RecipeGraph],
    out: Path,
    signer: Signer | None = None,
    wheels: Collection[str] | None = None,
) -> Release:
    """Write the release of the recipes whose stages are all current, which means that they met their gates.

    Each has its report if there is one, its provenance and bill of materials, and their signatures.

    Args:
        graphs: The recipes.
        out: Folder to write to. Files that it has already count as parts of the release.
        signer: Signs provenance and bill of materials; None: nothing is signed.
        wheels: Names of recipes whose wheels are written; None: write everything that `write_package` writes,
            of every recipe. That takes twice the size of the bundles.

    Raises:
        BundleError: A bundle differs from its manifest, or a recipe of `wheels` has no wheel.
    """
    out.mkdir(parents=True, exist_ok=True)
    recipes: dict[str, Any] = {}
    bundles: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    for graph in graphs:
        name, bundle = graph.recipe.name, graph.bundle_folder
        stale = next((stage.name for stage in graph.stages() if not stage.is_current()), None)
        if stale is not None:
            left_out[name] = stale
            continue
        files: list[Path] = []
        if wheels is None:
            files += write_package(bundle, out)
        elif name in wheels:
            files.append(write_wheel(open_verified_bundle(bundle), out))
        page = graph.report.path("report.html")
        if page.is_file():
            files.append(Path(shutil.copyfile(page, out / f"{name}.{page.name}")))
        for file, content in build_statements(read_bundle(bundle), signer).items():
            durable.write(out / f"{name}.{file}", content)
            files.append(out / f"{name}.{file}")
        bundles[name] = bundle
        described = {path.name: {"bytes": path.stat().st_size, "sha256": file_sha256(path)} for path in files}
        recipes[name] = {"key": graph.bundle.key(), "files": described}
    release = {"version": __version__, "recipes": recipes, "left_out": left_out}
    durable.write(out / RELEASE, (json.dumps(release, indent=1) + "\n").encode())
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != SUMS)
    lines = (f"{file_sha256(path)}  {path.name}\n" for path in files)
    durable.write(out / SUMS, "".join(lines).encode())
    return Release((*files, out / SUMS), bundles, left_out)
