"""Sessions: loading, errors, and equality with numpy."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_bundle import CHANNELS, compile_library, edit_manifest, refresh, write_safetensors

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import Synthesizer, TooLongError, read_bundle
from kokoro_tvm.runtime.bundle.tensors import aligned
from kokoro_tvm.runtime.session.session import Session
from kokoro_tvm.runtime.stopping import Cancellation, CancelledError

Compiled = Callable[[str], Path]


@pytest.mark.parametrize("length", ["exact", "masked", "padded"])
def test_session_equals_numpy(compiled: Compiled, fake: Any, length: str) -> None:
    stand_in, _ = fake
    tokens, ref_s = [0, 3, 20, 7, 0], np.array([0.5, -1.0, 0.25, 2.0], np.float32)
    expected = stand_in.run(tokens, ref_s, seed=3)
    speech = Synthesizer(compiled(length)).run(tokens, ref_s, seed=3)
    assert speech.durations.tolist() == expected.durations.tolist() == [1, 3, 9, 7, 1]
    assert speech.audio.dtype == np.float32
    np.testing.assert_allclose(speech.audio, expected.audio, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_session_maps_the_weights_before_they_are_used(compiled: Compiled) -> None:
    tts = Synthesizer(compiled("exact"))
    for thread in threading.enumerate():
        if thread.name == "kokoro-tvm-weights":
            thread.join()
    path = tts.bundle.components["decoder"].weights.path
    mapped = Path("/proc/self/smaps").read_text(encoding="utf-8").split(str(path.resolve()))[1]
    size, resident = (int(re.search(rf"^{name}: +(\d+) kB", mapped, re.M)[1]) for name in ("Size", "Rss"))  # type: ignore[index]
    assert resident == size


@pytest.mark.parametrize("length", ["masked", "padded"])
def test_session_audio_is_independent_of_the_bucket(compiled: Compiled, length: str) -> None:
    """The utterance is exact in one bucket, and padded in the larger one."""
    tokens, ref_s = [0, *range(1, 14), 0], np.ones(4, np.float32)
    one = Synthesizer(compiled("exact")).run(tokens, ref_s)
    other = Synthesizer(compiled(length)).run(tokens, ref_s)
    assert one.audio.size == other.audio.size
    np.testing.assert_allclose(one.audio, other.audio, rtol=1e-5, atol=1e-5)


def test_session_stops_a_running_call(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    tts = Synthesizer(compiled("exact"))
    tokens, ref_s = [0, 3, 20, 7, 0], np.ones(4, np.float32)
    whole = tts.run(tokens, ref_s)
    calls: list[str] = []
    session = tts.runner
    assert isinstance(session, Session)
    stopping = Cancellation()

    def observe(function: Any, name: str, before: bool, result: Any, *arguments: Any) -> None:
        calls.append(name)
        if len(calls) == 1:
            stopping.stop()  # as another thread would, while the machine runs

    session.instrument(lambda component: observe)
    with pytest.raises(CancelledError), stopping.working():
        session.run("bert", 5, np.array([tokens]))
    assert len(calls) == 1, "what stops it has taken the observer's place"
    session.instrument(None)
    assert tts.run(tokens, ref_s).audio.tobytes() == whole.audio.tobytes()


def test_session_starts_no_call_after_stop(compiled: Compiled) -> None:
    session = Session(read_bundle(compiled("exact")), threads=1)
    stopping = Cancellation()
    stopping.stop()
    with pytest.raises(CancelledError), stopping.working():
        session.run("bert", 5, np.zeros((1, 5), np.int64))
    with pytest.raises(CancelledError), stopping.ended_by(lambda: None):
        pytest.fail("the call should not begin")


def test_session_maps_weights(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    from kokoro_tvm.runtime.session import session

    given: list[np.ndarray] = []
    original = session.find_parameter
    monkeypatch.setattr(session, "find_parameter", lambda *args: given.append(original(*args)) or given[-1])
    opened = Session(read_bundle(compiled("exact")), threads=1)
    for array, tensor in zip(
        given, [loaded.parameters[0] for loaded in opened._loaded.values()], strict=True
    ):
        assert not array.flags.writeable
        assert array.shape == (CHANNELS,)
        assert array.ctypes.data % 64 == 0
        assert np.from_dlpack(tensor).ctypes.data == array.ctypes.data


def test_session_accepts_read_only_inputs(compiled: Compiled) -> None:
    """A row of a mapped voice is aligned, read-only and not copied."""
    opened = Session(read_bundle(compiled("exact")), threads=1)
    d_en, style = aligned([[[1, 2]] * CHANNELS], np.float32), aligned([[3.0, 0.0]], np.float32)
    d_en.flags.writeable = style.flags.writeable = False
    duration, d = opened.run("duration", 2, d_en, style)
    assert duration.tolist() == [[1, 2]]
    assert d.tolist() == [[[4, 5]] * CHANNELS]


@pytest.mark.parametrize("voice", ["af_heart", "af_heart,am_adam"])
def test_synthesizer_maps_voices(compiled: Compiled, fake: Any, voice: str) -> None:
    tts = Synthesizer(compiled("exact"))
    for phonemes in ("a", "abc", "abcd.", "abcdefg"):
        audio = tts.from_phonemes(phonemes, voice=voice).audio
        np.testing.assert_allclose(
            audio, fake[0].from_phonemes(phonemes, voice=voice).audio, rtol=1e-4, atol=1e-4
        )


def test_session_memory_follows_the_length(compiled: Compiled) -> None:
    opened = Session(read_bundle(compiled("exact")), threads=1)
    taken: list[int] = []

    def observe(function: object, name: str, before: bool, result: object, *arguments: Any) -> None:
        if before and name == "vm.builtin.alloc_storage":
            taken.append(int(arguments[1][0]))

    def working_memory(frames: int) -> int:
        taken.clear()
        d, style = np.zeros((1, CHANNELS, frames), np.float32), np.zeros((1, 2), np.float32)
        opened.run("f0n", frames, d, style)
        return sum(taken)

    opened.instrument(lambda component: observe)
    one = working_memory(1)
    assert one > 0
    assert [working_memory(frames) for frames in (10, 32, 33, 128)] == [one * n for n in (10, 32, 33, 128)]


def test_session_refuses_an_utterance_beyond_all_buckets(compiled: Compiled) -> None:
    opened = Session(read_bundle(compiled("masked")), threads=1)
    with pytest.raises(TooLongError, match=r"65 tokens.*64") as caught:
        opened.run("bert", 65, np.zeros((1, 65), np.int64))
    assert (caught.value.axis, caught.value.length, caught.value.limit) == ("tokens", 65, 64)


def test_session_is_thread_safe(compiled: Compiled) -> None:
    tts = Synthesizer(compiled("exact"), threads=2)
    alone = tts.run([0, 5, 0], np.ones(4)).audio
    heard: list[np.ndarray] = []
    workers = [
        threading.Thread(target=lambda: heard.append(tts.run([0, 5, 0], np.ones(4)).audio)) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(heard) == 4
    assert all(np.array_equal(audio, alone) for audio in heard)


@pytest.fixture
def copied(compiled: Compiled, tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled("exact"), tmp_path / "copy"))


@pytest.mark.parametrize(
    ("claims", "both"),
    [
        ({"bucket": 8}, ("8", "16")),
        ({"length": "masked"}, ("'masked'", "'exact'")),
        ({"component": "duration"}, ("'duration'", "'bert'")),
        ({"precision": "float16"}, ("'float16'", "'float32'")),
    ],
)
def test_session_refuses_a_library_of_another_bucket(
    copied: Path, claims: dict[str, Any], both: tuple[str, str]
) -> None:
    compile_library(copied / "bert-16.so", "bert", 16, "exact", claims=claims)
    refresh(copied)
    with pytest.raises(BundleError) as caught:
        Synthesizer(copied)
    assert all(value in str(caught.value) for value in (*both, "bert-16.so"))


def test_session_refuses_a_changed_library(copied: Path) -> None:
    path = copied / "f0n-32.so"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match=r"f0n-32\.so has sha256 .*bundle\.json says"):
        Synthesizer(copied)


def test_session_refuses_a_library_without_code(copied: Path) -> None:
    (copied / "bert-16.so").write_bytes(b"not a library")
    refresh(copied)
    with pytest.raises(BundleError, match=r"bert-16\.so is not a library that kokoro-tvm compiled"):
        Synthesizer(copied)


def test_session_refuses_a_library_without_the_function(copied: Path) -> None:
    edit_manifest(copied, lambda m: m["components"]["bert"].update(function="bert_backward"))
    with pytest.raises(BundleError, match="bert_backward"):
        Synthesizer(copied)


def test_session_refuses_missing_weights(copied: Path) -> None:
    write_safetensors(copied / "bert.safetensors", {"other": np.ones(4)}, pad=64)
    refresh(copied)
    with pytest.raises(BundleError, match="lacks the tensor scale"):
        Synthesizer(copied)


def test_session_refuses_small_weights(copied: Path) -> None:
    edit_manifest(copied, lambda m: m["components"]["bert"]["parameters"][0].update(shape=[5, 5]))
    with pytest.raises(BundleError, match=r"16 elements.*\(5, 5\)"):
        Synthesizer(copied)


def test_session_refuses_an_output_of_another_size(copied: Path) -> None:
    """A library returns fewer samples than its signature says."""
    compile_library(copied / "text_encoder-16.so", "text_encoder", 16, "exact", channels_last=True)
    refresh(copied)
    with pytest.raises(BundleError, match=r"text_encoder_forward returned t_en as float32 \(1, 3, 4\)"):
        Synthesizer(copied).run([0, 5, 0], np.ones(4))


def test_session_refuses_a_library_without_the_seeded_entry(copied: Path) -> None:
    edit_manifest(copied, lambda m: m["components"]["decoder"]["seeded"].update(function="decoder_drawn"))
    with pytest.raises(BundleError, match=r"cannot be loaded as a compiled decoder"):
        Synthesizer(copied)


def test_session_reports_failing_code(copied: Path) -> None:
    """The error names function, bucket and length."""
    edit_manifest(copied, lambda m: m.update(samples_per_frame=20))
    with pytest.raises(BundleError, match=r"decoder_forward of bucket 32 failed for 7 frames"):
        Synthesizer(copied).run([0, 5, 0], np.ones(4), noise=np.zeros)
