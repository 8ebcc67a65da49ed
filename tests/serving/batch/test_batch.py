"""Batches: present files are skipped, and a killed process loses nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from dask_processes import end, start_scheduler, start_worker, started, until

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime import Synthesizer, read_bundle
from kokoro_tvm.serving.batch.manifest import BatchUtterance
from kokoro_tvm.serving.batch.speaking import BatchSettings, UtteranceResult, lock_folder, speak

COMMAND = ("-c", "from kokoro_tvm.cli import main; main()", "batch")
ONE = BatchUtterance(1, "one", "abc.", True, None, 1.0, 0)


@pytest.fixture
def job(compiled: Callable[[str], Path], tmp_path: Path) -> BatchSettings:
    bundle = compiled("exact")
    return BatchSettings(str(tmp_path / "out"), "wav", str(bundle), read_bundle(bundle).sha256, 1)


def statuses(job: BatchSettings, *utterances: BatchUtterance) -> list[str]:
    return [speak(job, each).status for each in utterances]


def test_speak_skips_present_files(job: BatchSettings) -> None:
    two = replace(ONE, line=2, name="two", seed=3)
    assert statuses(job, ONE, two) == ["spoken", "spoken"]
    assert statuses(job, ONE, two) == ["present", "present"]
    assert speak(job, replace(ONE, line=7)) == UtteranceResult(7, "present", speak(job, ONE).seconds)
    for change in ({"text": "abd."}, {"seed": 1}, {"speed": 2.0}):
        assert statuses(job, replace(ONE, **change), two) == ["spoken", "present"]  # type: ignore[arg-type]


def test_speak_writes_the_file_of_say(job: BatchSettings) -> None:
    speak(job, ONE)
    speech = Synthesizer(job.bundle, threads=1).from_phonemes("abc.")
    assert Path(job.folder, "one.wav").read_bytes().endswith(speech.audio.tobytes())
    record = json.loads(Path(job.folder, "one.wav.json").read_bytes())
    assert record["sha256"] == hashlib.sha256(Path(job.folder, "one.wav").read_bytes()).hexdigest()
    assert record["seconds"] == speech.audio.size / speech.sample_rate


@pytest.mark.parametrize("damaged", ["one.wav", "one.wav.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", None])
def test_speak_replaces_damaged_or_missing_files(
    job: BatchSettings, damaged: str, content: bytes | None
) -> None:
    speak(job, ONE)
    path = Path(job.folder, damaged)
    before = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert statuses(job, ONE, ONE) == ["spoken", "present"]
    assert path.read_bytes() == before
    assert {path.name for path in Path(job.folder).iterdir()} == {"one.wav", "one.wav.json"}


def test_speak_returns_the_error_of_a_line(job: BatchSettings) -> None:
    failed = speak(job, replace(ONE, voice="nobody"))
    assert (failed.line, failed.status) == (1, "failed")
    assert failed.message.startswith("There is no voice 'nobody' in this bundle.")
    assert not Path(job.folder).exists()


def test_speak_reads_a_text_in_its_language(job: BatchSettings) -> None:
    assert speak(job, replace(ONE, phonemes=False, language="en-gb")).status == "spoken"
    result = speak(job, replace(ONE, name="two", phonemes=False, language="xx"))
    assert (result.status, "xx" in result.message) == ("failed", True)


def test_speak_returns_notices(job: BatchSettings) -> None:
    (note,) = speak(job, replace(ONE, text="abc☃.")).notes
    assert "☃" in note


def test_speak_writes_to_a_bucket(job: BatchSettings) -> None:
    import fsspec

    job = replace(job, folder="memory://bucket/speech")
    assert statuses(job, ONE, ONE) == ["spoken", "present"]
    assert sorted(fsspec.filesystem("memory").ls("/bucket/speech", detail=False)) == [
        "/bucket/speech/one.wav",
        "/bucket/speech/one.wav.json",
    ]


def test_speak_refuses_another_bundle(job: BatchSettings) -> None:
    with pytest.raises(BundleError):
        speak(replace(job, sha256="0" * 64), ONE)


def manifest(folder: Path, lines: int) -> Path:
    path = folder / "lines.jsonl"
    nodes = [{"name": f"line-{n}", "phonemes": f"{'abcde ' * (n % 7)}abc.", "seed": n} for n in range(lines)]
    path.write_text("\n".join(map(json.dumps, nodes)), encoding="utf-8")
    return path


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.wav")}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.wav*")}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *COMMAND, *words], capture_output=True, text=True)


@pytest.mark.slow("starts eight processes that import and open a bundle")
def test_batch_continues_after_a_killed_process(job: BatchSettings, tmp_path: Path) -> None:
    lines, first, second = manifest(tmp_path, 300), tmp_path / "first", tmp_path / "second"
    done = run(str(lines), "-o", str(first), "--bundle", job.bundle, "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{first}: 300 spoken, ")
    words = [*COMMAND, str(lines), "-o", str(second), "--bundle", job.bundle, "--workers", "2"]
    with started({}) as start:
        process = start(tmp_path / "run", *words)
        until(lambda: len(written(second)) >= 5, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        speaking = [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(int(speaking[0]), signal.SIGKILL)
        assert process.wait() == 3
    output = (tmp_path / "run" / "output.txt").read_text()
    assert "a process that speaks was killed" in output and "goes on where this one stopped" in output
    assert len(written(second)) < 300
    again = run(str(lines), "-o", str(second), "--bundle", job.bundle)
    assert again.returncode == 0, again.stderr
    assert "were there" in again.stdout
    assert contents(second) == contents(first)


def test_batch_lists_invalid_lines_and_speaks_the_others(job: BatchSettings, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    lines = ['{"name": "a", "phonemes": "abc."}', '{"name": "a"}']
    lines += ['{"name": "b", "phonemes": "a", "voice": "x"}']
    path.write_text("\n".join(lines), encoding="utf-8")
    done = run(str(path), "-o", str(tmp_path / "out"), "--bundle", job.bundle)
    assert done.returncode == 2
    assert written(tmp_path / "out") == {"a.wav"}
    listed = done.stderr.partition("2 lines were not spoken:\n")[2].splitlines()
    assert listed[0] == f"{path}:2: give either `text` or `phonemes`."
    assert listed[1].startswith(f"{path}:3: There is no voice 'x' in this bundle.")


@pytest.mark.parametrize("end", ["", ".json"])
def test_batch_does_not_overwrite_its_manifest(end: str, job: BatchSettings, tmp_path: Path) -> None:
    manifest = tmp_path / f"lines.wav{end}"
    manifest.write_text('{"name": "lines", "text": "Hello."}\n')
    command = [sys.executable, *COMMAND, str(manifest), "-o", str(tmp_path), "--bundle", job.bundle]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is to be written, and is read as" in done.stderr
    assert manifest.read_text().startswith('{"name"')


def test_batch_refuses_a_locked_folder(job: BatchSettings, tmp_path: Path) -> None:
    lines, folder = manifest(tmp_path, 1), tmp_path / "out"
    with lock_folder(str(folder)):
        done = run(str(lines), "-o", str(folder), "--bundle", job.bundle)
        assert done.returncode == 2
        assert f"Another process is writing to {folder}. Wait until" in " ".join(done.stderr.split())
        assert written(folder) == set()
    assert list(folder.iterdir()) == []
    assert run(str(lines), "-o", str(folder), "--bundle", job.bundle).returncode == 0
    assert {path.name for path in folder.iterdir()} == {"line-0.wav", "line-0.wav.json"}


def test_lock_folder_refuses_a_second_batch_in_a_bucket() -> None:
    import fsspec

    folder = "memory://bucket/locked"
    with (
        lock_folder(folder),
        pytest.raises(
            InputError, match=r"Another batch is writing to memory://bucket/locked \(process \d+ of"
        ),
        lock_folder(folder),
    ):
        raise AssertionError
    with lock_folder(folder):
        pass
    assert fsspec.filesystem("memory").ls("/bucket/locked", detail=False) == []


@pytest.mark.nightly
def test_batch_continues_after_a_lost_worker_of_a_cluster(job: BatchSettings, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed comes with the extra [dask]")
    lines, out = manifest(tmp_path, 600), tmp_path / "out"
    with started({"TVM_NUM_THREADS": "1"}) as start:
        scheduler = start_scheduler(start, tmp_path / "scheduler")
        workers = [start_worker(start, tmp_path / name, scheduler) for name in ("one", "two")]
        words = [*COMMAND, str(lines), "-o", str(out), "--bundle", job.bundle, "--scheduler", scheduler]
        process = start(tmp_path / "run", *words)
        until(lambda: len(written(out)) >= 20, process)
        end(workers[0])
        assert len(written(out)) < 600
        assert process.wait() == 0, (tmp_path / "run" / "output.txt").read_text()
        # Results of what the dead one had written may be requested again: the file is there.
        output = (tmp_path / "run" / "output.txt").read_text()
        (spoken,), present = re.findall(r": (\d+) spoken", output), re.findall(r"(\d+) were there", output)
        assert int(spoken) + sum(map(int, present)) == 600
        first = contents(out)
        assert set(first) == {f"line-{n}.wav{suffix}" for n in range(600) for suffix in ("", ".json")}
    here = tmp_path / "here"
    assert run(str(lines), "-o", str(here), "--bundle", job.bundle).returncode == 0
    assert contents(here) == first
