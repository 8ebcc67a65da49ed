"""A page that speaks by itself: the page and a bundle for WebAssembly, as a folder for any host."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.errors import BundleError, InputError
from kokoro_tvm.javascript import WEB, page_files
from kokoro_tvm.platforms import Platform, platform_of
from kokoro_tvm.project.distribution import bundle_files, verified_bundle

__all__ = ["write_site"]

BUNDLE = "bundle"
"""The bundle's folder in a site, where bundle_synthesizer.js looks for it."""

_SERVER, _BUNDLE = (f'data-synthesizer="./{name}_synthesizer.js"' for name in ("http", "bundle"))


def write_site(path: Path, out: Path) -> list[Path]:
    """Write the page and the bundle at `path` into the folder `out`, which is made new or replaced.

    Returns the site's files. Raises BundleError for a bundle of another kind, without a front end or damaged;
    InputError where `out` holds something else than a site.
    """
    bundle = verified_bundle(path)
    if platform_of(str(bundle.target.get("mtriple", ""))) != Platform("wasm32", ""):
        raise BundleError(
            f"{path} is no bundle for WebAssembly, and a page runs nothing else. Build one: `doit wasm`."
        )
    if bundle.front_end is None:
        raise BundleError(f"{path} has no front end, so a page could not read text with it.")
    if out.exists() and not (out / BUNDLE / "bundle.json").is_file() and any(out.iterdir()):
        raise InputError(f"{out} holds other files. Give a new or an empty folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as work:
        made = Path(work, "site")
        for file in page_files():
            _copy(file, made / file.relative_to(WEB))
        index = made / "index.html"
        text = index.read_text(encoding="utf-8")
        index.write_text(text.replace(_SERVER, _BUNDLE), encoding="utf-8")
        for file in bundle_files(bundle):
            _copy(file, made / BUNDLE / file.name)
        if out.exists():
            out.rename(Path(work, "replaced"))
        made.rename(out)
    return sorted(file for file in out.rglob("*") if file.is_file())


def _copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
