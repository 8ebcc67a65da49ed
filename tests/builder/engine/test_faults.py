"""Killed builds and damaged stores: nothing torn is used, nothing finished is lost."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from many import NAMES, stages

from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store

SECONDS = 0.15
FLIPS, CUTS = 500, 16


def command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "many", str(folder), str(folder / "ran"), "2", str(SECONDS)]


def build(folder: Path, moment: float | None = None) -> tuple[bool, set[str]]:
    """Run a build, and kill its process group after `moment` seconds.

    Returns:
        Whether it succeeded, and the stages that it reported as done.
    """
    with (folder / "output.txt").open("w+") as output:
        process = subprocess.Popen(
            command(folder), stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            ended = process.wait(moment) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            ended = False
        output.seek(0)
        return ended, set(re.findall(r"cpu\.(\w+) +done in", output.read()))


def runs(folder: Path) -> Counter[str]:
    path = folder / "ran" / "lines"
    return Counter(path.read_text().split() if path.is_file() else [])


def check_nothing_is_torn(folder: Path) -> None:
    """Check that every record and object is complete."""
    store = Store(folder / ".store", paranoid=True)
    for record in store.records():
        assert all(store.holds(output) for output in record.outputs), record.stage
    for stage in store.stages():
        current = store.current(stage)
        assert current is not None
        seen = [folder / "seen" / o.file for o in current.outputs]
        assert all(not path.exists() or path.read_text() == path.name for path in seen)


def kill(folder: Path, kills: int, seed: int, latest: float) -> tuple[int, int, int]:
    """Kill builds at random moments. Each continues where the last one was killed.

    Args:
        folder: Folder of the builds.
        kills: How many builds to kill.
        seed: Seed of the moments.
        latest: Seconds of an undisturbed build.

    Returns:
        Numbers of stages that were finished before a build, that ran again, and that were reported as done.
    """
    draw, finished, repeated, printed, round_ = random.Random(seed), 0, 0, 0, 0
    place = folder / "0"
    place.mkdir(parents=True)
    while kills:
        before, whole = runs(place), recorded(place)
        ended, done = build(place, draw.uniform(0, latest))
        check_nothing_is_torn(place)
        assert done <= recorded(place), "what it said was done is there"
        finished, printed = finished + len(whole), printed + len(done)
        repeated += sum((runs(place) - before)[name] for name in whole)
        if not ended:
            kills -= 1
        else:
            assert seen(place) == {name: name for name in NAMES}
            round_ += 1
            place = folder / str(round_)
            place.mkdir()
    assert build(place)[0]
    assert seen(place) == {name: name for name in NAMES}
    return finished, repeated, printed


def undisturbed(folder: Path) -> float:
    """Return the seconds of a build that is not killed."""
    folder.mkdir()
    began = time.monotonic()
    assert build(folder)[0]
    return time.monotonic() - began


def recorded(folder: Path) -> set[str]:
    return {r.stage.removeprefix("cpu.") for r in Store(folder / ".store", paranoid=True).records()}


def seen(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "seen").iterdir()}


@pytest.mark.parametrize(
    ("kills", "chains", "least"),
    [
        pytest.param(20, 2, 0, marks=pytest.mark.slow("kills twenty builds")),
        pytest.param(100, 4, 50, marks=pytest.mark.nightly),
    ],
)
def test_killed_builds_tear_and_repeat_nothing(kills: int, chains: int, least: int, tmp_path: Path) -> None:
    """least: how many stages killed builds must have reported as done, for the test to be meaningful."""
    with ThreadPoolExecutor(chains) as pool:
        latest = max(pool.map(undisturbed, [tmp_path / f"whole-{i}" for i in range(chains)]))
        counts = [pool.submit(kill, tmp_path / str(i), kills // chains, i, latest) for i in range(chains)]
        finished, repeated, printed = (
            sum(column) for column in zip(*(c.result() for c in counts), strict=True)
        )
    print(f"{kills} kills: of {finished} finished stages {repeated} ran again")
    assert finished > 2 * least, "most were killed on the way"
    assert printed >= least
    assert repeated == 0


@pytest.fixture
def built(tmp_path: Path) -> list[Stage]:
    result = stages(tmp_path, tmp_path / "ran", seconds=0)
    for stage in result:
        stage.run()
    return result


def bring_up_to_date(folder: Path) -> Counter[str]:
    """Build with empty caches, and return how often each stage ran."""
    before = runs(folder)
    for stage in stages(folder, folder / "ran", seconds=0):
        if not stage.is_current():
            stage.run()
    return runs(folder) - before


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    overwrite(path, bytes(content))


def cut(path: Path, draw: random.Random) -> None:
    overwrite(path, path.read_bytes()[: draw.randrange(path.stat().st_size)])


def overwrite(path: Path, content: bytes) -> None:
    """Write into a file in place, as a failing disk does."""
    path.chmod(0o644)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "count"), [pytest.param(flip, FLIPS, marks=pytest.mark.nightly), (cut, CUTS)]
)
def test_damage_is_found_and_rebuilt_alone(
    harm: Callable[[Path, random.Random], None], count: int, built: list[Stage], tmp_path: Path
) -> None:
    draw = random.Random(0)
    for _ in range(count):
        files = [p for p in sorted((tmp_path / ".store").rglob("*")) if p.is_file() and p.stat().st_size]
        files += sorted((tmp_path / "seen").iterdir())
        harm(draw.choice(files), draw)
        ran = bring_up_to_date(tmp_path)
        assert sum(ran.values()) <= 1, ran
        assert seen(tmp_path) == {name: name for name in NAMES}
        check_nothing_is_torn(tmp_path)
