"""Full disks, missing permissions and read-only file systems, without mocks."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from many import NAMES, stages

from kokoro_tvm.builder.engine.store import Store

OTHERS = pytest.mark.slow("is refused in another folder what it is in the first ones")
PLACES = [
    *(".store/objects", "seen"),
    *(pytest.param(f".store/{name}", marks=OTHERS) for name in ("records", "stages", "locks", "work")),
]
_POWERS_OVER_PERMISSIONS = (1, 2)  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of capabilities(7)
_PR_CAPBSET_DROP = 24


@pytest.fixture
def built(tmp_path: Path) -> dict[str, bytes]:
    """Build an earlier edition of all outputs, and return the files of the store."""
    for stage in stages(tmp_path, tmp_path / "ran", 0, " of old"):
        stage.run()
    return held(tmp_path)


def held(folder: Path) -> dict[str, bytes]:
    kept = [p for name in ("objects", "records") for p in sorted((folder / ".store" / name).glob("*/*"))]
    return {str(p.relative_to(folder)): p.read_bytes() for p in kept}


def seen(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "seen").iterdir()}


def program(name: str, *words: str | Path) -> list[str]:
    return [sys.executable, "-m", name, *map(str, words)]


def build(folder: Path, within: tuple[str, ...] = (), limit: Callable[[], None] | None = None) -> str:
    """Build a later edition, which fails, and return its output."""
    command = [*within, *program("many", folder, folder / "ran", 1, 0, " of new")]
    process = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert process.returncode == 3, process.stdout + process.stderr
    return process.stdout + process.stderr


def check_nothing_is_lost(folder: Path, before: dict[str, bytes]) -> None:
    """Check that the store is unchanged, and that a build without the fault succeeds."""
    assert held(folder).items() >= before.items()
    assert [fault for _, fault in Store(folder / ".store", paranoid=True).audit() if fault] == []
    assert all(text in (f"{name} of old", f"{name} of new") for name, text in seen(folder).items())
    for stage in stages(folder, folder / "ran", 0, " of new"):
        stage.run()
    assert seen(folder) == {name: f"{name} of new" for name in NAMES}


def bound_by_permissions() -> None:
    """Drop the capabilities of root for the next program."""
    if os.geteuid() == 0:
        for power in _POWERS_OVER_PERMISSIONS:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, power, 0, 0, 0)


def mounting(script: str, *words: str | Path) -> tuple[str, ...]:
    """Return the command prefix for a mount namespace that `script` sets up, or skip."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare(1), to mount file systems that nobody else sees")
    within = (*unshare, "sh", "-e", "-c", f'{script}; shift {len(words)}; exec "$@"', "sh", *map(str, words))
    tried = subprocess.run([*within, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"this system does not allow what it takes: {tried.stderr.strip()}")
    return within


@pytest.mark.parametrize("place", PLACES)
def test_write_without_permission_names_the_remedy(
    place: str, tmp_path: Path, built: dict[str, bytes]
) -> None:
    sealed = tmp_path / "sealed"
    sealed.mkdir(mode=0o555)
    if subprocess.run(["touch", str(sealed / "x")], preexec_fn=bound_by_permissions).returncode == 0:
        pytest.skip("permissions do not bind this user, and it cannot do without that power")
    folders = [tmp_path / place, *(p for p in (tmp_path / place).rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        printed = build(tmp_path, limit=bound_by_permissions)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert f"{tmp_path / place}" in printed
    assert "cannot be written: no permission; make it writable for you" in printed
    check_nothing_is_lost(tmp_path, built)


@pytest.mark.parametrize(
    "place", [".store", *(pytest.param(name, marks=OTHERS) for name in ("seen", "second-work"))]
)
def test_read_only_file_system_names_the_remedy(place: str, tmp_path: Path, built: dict[str, bytes]) -> None:
    script = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
    printed = build(tmp_path, mounting(script, tmp_path / place))
    assert f"{tmp_path / place}" in printed
    assert "cannot be written: the file system is read-only; mount it for writing" in printed
    check_nothing_is_lost(tmp_path, built)


def test_full_disk_fails_the_build(tmp_path: Path, built: dict[str, bytes]) -> None:
    script = 'mount -t tmpfs -o nr_inodes=12 none "$1"'
    printed = build(tmp_path, mounting(script, tmp_path / ".store"))
    assert f"{tmp_path / '.store'}" in printed
    assert "cannot be written: the disk is full; make room" in printed
    check_nothing_is_lost(tmp_path, built)


@pytest.mark.slow("runs stages with every size of disk that is too small")
@pytest.mark.parametrize("what", ["pages", "files"])
def test_full_disk_at_any_moment_damages_nothing(tmp_path: Path, what: str) -> None:
    script = 'mount -t tmpfs -o size=4k none "$1"' if what == "pages" else 'mount -t tmpfs none "$1"'
    command = [*mounting(script, tmp_path), *program("full_disk", tmp_path, what)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    assert int(process.stdout) > len(NAMES), "so many sizes were too small"
