"""Writes a page that speaks in the browser: the page and a bundle for WebAssembly, for any web server.

A second bundle is for WebGPU. The page uses it if the browser's GPU computes the golden utterance correctly.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.common.cpu_features import RELAXED
from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.common.platforms import WEB as WEB_ASSEMBLY
from kokoro_tvm.common.platforms import parse_triple
from kokoro_tvm.publish.distribution import open_verified_bundle
from kokoro_tvm.publish.mp3 import MODULE
from kokoro_tvm.publish.pieces import FOLDER, INDEX, write_pieces
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.web import OFFLINE, WEB, page_files

# Folders of bundles in a site.
BUNDLE = "bundle"  # for bundle_synthesizer.js
_ON_GPU = "bundle-gpu"  # for gpu_synthesizer.js
_RELAXED = "bundle-relaxed"  # for browsers with relaxed SIMD; the index of the first bundle names it

_MANIFEST = "bundle.json"
_WORKER = "service_worker.js"
_MP3 = "mp3"
_SERVER, _BUNDLE, _GPU = (f'data-synthesizer="./{name}_synthesizer.js"' for name in ("http", "bundle", "gpu"))
_HEAD = """\
<link rel="manifest" href="./manifest.webmanifest">
<link rel="apple-touch-icon" href="./icon-192.png">
<script type="module" src="./register.js"></script>
</head>"""


def write_site(
    path: Path, out: Path, gpu: Path | None = None, relaxed: Path | None = None, encoder: Path | None = None
) -> list[Path]:
    """Write a site, and return its files. Equal pieces of bundles are written once.

    Args:
        path: A bundle for WebAssembly.
        out: Folder of the site. A site in it is deleted.
        gpu: A bundle for WebGPU.
        relaxed: A bundle with relaxed SIMD, which browsers use instead of the first if they can.
        encoder: Folder from `fetch_encoder`; None: the page does not save MP3.

    Raises:
        BundleError: A bundle is of another kind, damaged or without front end, or the models differ.
        InputError: `out` has other files than a site.
    """
    bundles = {BUNDLE: _open_bundle(path)}
    if bundles[BUNDLE].gpu is not None:
        raise BundleError(f"{path} needs a GPU, which not every browser has. Name it with --gpu.")
    if gpu is not None:
        bundles[_ON_GPU] = _open_bundle(gpu)
        if bundles[_ON_GPU].gpu != "webgpu":
            raise BundleError(f"{gpu} is no bundle for WebGPU. Build one: `doit webgpu`.")
        if bundles[_ON_GPU].golden is None:
            raise BundleError(
                f"{gpu} has no utterance to compare a GPU with: its gates were not run. Build it again."
            )
        _check_pair(path, bundles[BUNDLE], gpu, bundles[_ON_GPU])
    if relaxed is not None:
        bundles[_RELAXED] = _open_bundle(relaxed)
        if RELAXED not in bundles[_RELAXED].cpu_features:
            raise BundleError(f"{relaxed} does not use relaxed SIMD. Build one: `doit wasm-relaxed`.")
        _check_pair(path, bundles[BUNDLE], relaxed, bundles[_RELAXED])
    if out.exists() and not (out / BUNDLE / _MANIFEST).is_file() and any(out.iterdir()):
        raise InputError(f"{out} holds other files. Give a new or an empty folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as work:
        site = Path(work, "site")
        for file in page_files():
            _copy_file(file, site / file.relative_to(WEB))
        for file in OFFLINE.iterdir():
            _copy_file(file, site / file.name)
        index = site / "index.html"
        synthesizer = _BUNDLE if gpu is None else _GPU
        text = index.read_text(encoding="utf-8").replace(_SERVER, synthesizer)
        if encoder:
            shutil.copytree(encoder, site / _MP3)
            text = text.replace(synthesizer, f'{synthesizer} data-mp3="./{_MP3}/{MODULE}"')
        index.write_text(text.replace("</head>", _HEAD), encoding="utf-8")
        for folder, bundle in bundles.items():
            for name in (_MANIFEST, PROVENANCE):
                _copy_file(bundle.root / name, site / folder / name)
            write_pieces(
                _list_in_load_order(bundle),
                site,
                site / folder / INDEX,
                apart=bundle.voices.path,
                relaxed=f"../{_RELAXED}/" if folder == BUNDLE and relaxed else None,
            )
        _write_worker(site)
        if out.exists():
            out.rename(Path(work, "replaced"))
        site.rename(out)
    return sorted(file for file in out.rglob("*") if file.is_file())


def _open_bundle(path: Path) -> Bundle:
    """Open a bundle that a page can run.

    Raises:
        BundleError: It is damaged, not for WebAssembly, or without front end.
    """
    bundle = open_verified_bundle(path)
    if parse_triple(str(bundle.target.get("mtriple", ""))) != WEB_ASSEMBLY:
        raise BundleError(
            f"{path} is no bundle for WebAssembly, and a page runs nothing else. Build one: `doit wasm`."
        )
    if bundle.front_end is None or bundle.text is None:
        raise BundleError(f"{path} has no front end, so a page could not read text with it.")
    return bundle


def _check_pair(path: Path, bundle: Bundle, beside: Path, other: Bundle) -> None:
    """Raise BundleError if the second bundle has another model, front end or other voices."""
    first, second = (
        (b.model, *(file and file.sha256 for file in (b.voices, b.front_end, b.text)))
        for b in (bundle, other)
    )
    if first != second:
        raise BundleError(
            f"{beside} has another model, front end or other voices than {path}. Build both again."
        )


def _list_in_load_order(bundle: Bundle) -> list[Path]:
    """Return the files in the order in which a page loads them: code, weights, front end, voices."""
    files = (*bundle.code_files(), *bundle.component_files(), *reversed(bundle.files()))
    return list(dict.fromkeys(file.path for file in files))


def _write_worker(site: Path) -> None:
    """Write the site's version and files at the top of its service worker. Call it after all are written."""
    worker = site / _WORKER
    files = {
        file.relative_to(site).as_posix(): file_sha256(file)
        for file in sorted(site.rglob("*"))
        if file.is_file() and file != worker and file.parent.name != FOLDER
    }
    version = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    listed = json.dumps({"version": version, "files": files}, indent=1)
    worker.write_text(f"const SITE = {listed};\n\n{worker.read_text('utf-8')}", encoding="utf-8")


def _copy_file(file: Path, target: Path) -> None:
    """Copy a file, and create the folder of `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
