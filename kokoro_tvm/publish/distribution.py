"""Writes a bundle as one file: a wheel with the runtime, an XCFramework, or an archive of its folder.

The same bundle gives the same bytes: entries are sorted, and have a fixed time.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import plistlib
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from kokoro_tvm import __version__
from kokoro_tvm.common.bundles import PACKAGED
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.common.output import check_distinct, whole_file
from kokoro_tvm.common.platforms import Platform, parse_triple
from kokoro_tvm.native.toolchains.archive import ARCHIVE, prefix_of
from kokoro_tvm.publish.attestation import build_provenance
from kokoro_tvm.runtime.bundle.files import OpenFiles
from kokoro_tvm.runtime.bundle.manifest import Bundle, read_bundle
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import verify_provenance
from kokoro_tvm.runtime.bundle.verification import verify_files
from kokoro_tvm.runtime.threads import usable_cores

_PACKAGE = Path(__file__).parents[1]
_IMPORTED = re.compile(r"^\s*(?:from|import) kokoro_tvm\.(\w+)", re.MULTILINE)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time of zip
_CHUNK = 1 << 20
# Platforms of wheels. TVM's wheels need glibc 2.28 and macOS 11.
_PLATFORMS = {
    Platform("x86_64", "linux"): "manylinux_2_28_x86_64",
    Platform("aarch64", "linux"): "manylinux_2_28_aarch64",
    Platform("x86_64", "windows"): "win_amd64",
    Platform("aarch64", "darwin"): "macosx_11_0_arm64",
}


_IOS = "ios-arm64"  # Xcode's name of the only platform of an XCFramework


def write_package(path: Path, out: Path) -> list[Path]:
    """Write a bundle as an archive, and as an XCFramework (iOS) or a wheel (if pip has the platform).

    Args:
        path: Folder of the bundle.
        out: Folder to write to.

    Raises:
        BundleError: A file of the bundle is missing or damaged, or belongs to another bundle.
        BuildError: See `write_xcframework`.
    """
    bundle = open_verified_bundle(path)
    platform = parse_triple(str(bundle.target.get("mtriple", "")))
    paths: list[Path] = []
    if platform.system == "ios":
        paths.append(write_xcframework(bundle, out))
    elif platform in _PLATFORMS:
        paths.append(write_wheel(bundle, out))
    return [*paths, write_archive(bundle, out)]


def write_xcframework(bundle: Bundle, out: Path) -> Path:
    """Write the code of a bundle for iOS as `out`/NAME-VERSION.xcframework.zip, to unpack for Xcode.

    It has one static archive of all libraries, and a header with their names for TVM's runtime. The app needs
    the weights, kernels and voices of the bundle as files besides.

    Raises:
        BuildError: The static archive cannot be written.
    """
    folder, target = f"{bundle.recipe}.xcframework", out / f"{bundle.recipe}-{__version__}.xcframework.zip"
    library, header = f"lib{bundle.recipe}.a", f"{bundle.recipe}.h"
    components = bundle.components.values()
    libraries = [entry.file.path for component in components for entry in component.libraries]
    lines = [f'#define {prefix_of(p.stem).upper()[:-1]} "{prefix_of(p.stem)}"' for p in libraries]
    about = "/* The system libraries of the archive, by their files in the bundle: ffi.SystemLib(name). */"
    platform = {
        "LibraryIdentifier": _IOS,
        "LibraryPath": library,
        "HeadersPath": "Headers",
        "SupportedArchitectures": ["arm64"],
        "SupportedPlatform": "ios",
    }
    info = {
        "AvailableLibraries": [platform],
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix=".xcframework-") as work:
        static_archive = Path(work, library)
        ARCHIVE.link(libraries, static_archive)
        with _open_target(target, bundle) as stream, zipfile.ZipFile(stream, "w") as archive:
            _add_entry(archive, f"{folder}/Info.plist", io.BytesIO(plistlib.dumps(info)))
            text = "\n".join(["#pragma once", about, *lines, ""])
            _add_entry(archive, f"{folder}/{_IOS}/Headers/{header}", io.BytesIO(text.encode()))
            _add_entry(archive, f"{folder}/{_IOS}/{library}", static_archive.open("rb"))
    return target


def write_archive(bundle: Bundle, out: Path) -> Path:
    """Write a bundle as `out`/NAME-VERSION.tar, which has one folder NAME."""
    target = out / f"{bundle.recipe}-{__version__}.tar"
    with _open_target(target, bundle) as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in bundle_files(bundle).items():
            info = tarfile.TarInfo(f"{bundle.recipe}/{name}")
            info.size, info.mode = size_of(content), 0o644
            with open_content(content) as entry:
                tar.addfile(info, entry)
    return target


def write_wheel(bundle: Bundle, out: Path) -> Path:
    """Write a bundle, and the modules of this package that speak, as a wheel.

    `Synthesizer()` and `kokoro-tvm say` find the bundle of an installed wheel. The version is this package's
    with the recipe's name, so that the wheel replaces another one.

    Raises:
        BundleError: The bundle has no TVM runtime, or pip has no platform for it.
    """
    if bundle.runtime is None:
        raise BundleError(
            f"{bundle.root} has no TVM runtime, so a wheel of it could not speak. Build it again."
        )
    platform = parse_triple(str(bundle.target["mtriple"]))
    if platform not in _PLATFORMS:
        raise BundleError(f"{bundle.root} is for a platform without wheels. Write an archive of it.")
    version = f"{__version__}+{re.sub(r'[^a-z0-9]+', '.', bundle.recipe.lower())}"
    info = f"kokoro_tvm-{version}.dist-info"
    tag = f"py3-none-{_PLATFORMS[platform]}"
    wheel_info = (
        f"Wheel-Version: 1.0\nGenerator: kokoro-tvm {__version__}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    )
    target = out / f"kokoro_tvm-{version}-{tag}.whl"
    texts = {
        f"{info}/METADATA": _metadata(version),
        f"{info}/WHEEL": wheel_info,
        f"{info}/entry_points.txt": "[console_scripts]\nkokoro-tvm = kokoro_tvm.cli:main\n",
    }
    files: dict[str, Path | bytes] = {
        f"kokoro_tvm/{path.relative_to(_PACKAGE).as_posix()}": path for path in _list_sources()
    }
    prefix = f"kokoro_tvm/{PACKAGED}/{bundle.recipe}"
    files |= {f"{prefix}/{name}": content for name, content in bundle_files(bundle).items()}
    record: list[str] = []
    with _open_target(target, bundle) as stream, zipfile.ZipFile(stream, "w") as wheel:
        for name in sorted(files):
            record.append(_add_entry(wheel, name, open_content(files[name])))
        for name, text in texts.items():
            record.append(_add_entry(wheel, name, io.BytesIO(text.encode())))
        lines = "".join(f"{line}\n" for line in [*record, f"{info}/RECORD,,"])
        _add_entry(wheel, f"{info}/RECORD", io.BytesIO(lines.encode()))
    return target


def open_verified_bundle(path: Path) -> Bundle:
    """Open a bundle, after comparing its files with the manifest and with the provenance.

    Raises:
        BundleError: A file is missing or damaged, or belongs to another bundle.
    """
    bundle = read_bundle(path)
    with OpenFiles(bundle.files()) as files:
        verify_files(files, usable_cores())
    verify_provenance(bundle)
    return bundle


def bundle_files(bundle: Bundle) -> dict[str, Path | bytes]:
    """Return the files of a published bundle by name: provenance with all gates, bundle.json last."""
    paths = sorted({file.path for file in bundle.files()})
    return {
        **{path.relative_to(bundle.root).as_posix(): path for path in paths},
        PROVENANCE: build_provenance(bundle),
        "bundle.json": bundle.root / "bundle.json",
    }


def open_content(content: Path | bytes) -> BinaryIO:
    """Open a file, or the future content of one."""
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def size_of(content: Path | bytes) -> int:
    """Return the size of a file, or of its future content, in bytes."""
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _list_sources() -> list[Path]:
    """List the files of a wheel: the commands of `cli/speak`, and every wing that these import."""
    cli = _PACKAGE / "cli"
    paths = [path for folder in (_PACKAGE, cli) for path in folder.iterdir() if path.is_file()]
    folders: set[Path] = set()
    waiting = {cli / "speak"}
    while waiting:
        folders |= waiting
        files = [path for folder in waiting for path in folder.rglob("*") if path.is_file()]
        paths += [path for path in files if path.parent.name != "__pycache__"]
        texts = [path.read_text(encoding="utf-8") for path in paths if path.suffix == ".py"]
        wings = {name for text in texts for name in _IMPORTED.findall(text)} - {"cli"}
        waiting = {_PACKAGE / name for name in wings} - folders
    return sorted(paths)


def _metadata(version: str) -> str:
    """Return the METADATA of this distribution with another version."""
    text = importlib.metadata.distribution("kokoro-tvm").read_text("METADATA") or ""
    return re.sub(r"^Version: .*$", f"Version: {version}", text, count=1, flags=re.MULTILINE)


@contextmanager
def _open_target(target: Path, bundle: Bundle) -> Iterator[BinaryIO]:
    """Open a file that gets its name when the block ends without an error.

    Raises:
        InputError: It is a file of the bundle.
    """
    check_distinct((file.path for file in bundle.files()), (target,))
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as temporary, temporary.open("wb") as stream:
        yield stream


def _add_entry(wheel: zipfile.ZipFile, name: str, content: BinaryIO) -> str:
    """Add a file to a wheel, and return its line of RECORD.

    Weights are stored, because they do not compress.
    """
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_STORED if name.endswith(".safetensors") else zipfile.ZIP_DEFLATED
    digest, size = hashlib.sha256(), 0
    with content, wheel.open(info, "w", force_zip64=True) as entry:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            entry.write(chunk)
    encoded = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
    return f"{name},sha256={encoded},{size}"
