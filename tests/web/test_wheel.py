"""The page in the wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kokoro_tvm.web import WEB

ROOT = Path(__file__).parents[2]
FILES = {path.relative_to(ROOT).as_posix() for path in WEB.rglob("*") if path.is_file()}


@pytest.mark.nightly
def test_wheel_contains_the_page(tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    packed = subprocess.run(
        ["tar", "-cf", "-", "--null", "-T", "-"],
        cwd=ROOT,
        input=listed.stdout,
        capture_output=True,
        check=True,
    )
    copied.mkdir()
    subprocess.run(["tar", "-xf", "-"], cwd=copied, input=packed.stdout, check=True)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, copied]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert set(archive.namelist()) >= FILES
        page = archive.read("kokoro_tvm/web/index.html")
    assert page == (WEB / "index.html").read_bytes()
