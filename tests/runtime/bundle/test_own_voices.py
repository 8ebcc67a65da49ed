"""Files of the user's voices: formats, shapes and errors."""

from __future__ import annotations

import collections
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import save_file
from toy_bundle import FakeRunner

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Voices, read_bundle
from kokoro_tvm.runtime.bundle.torch_file import read_tensor, write_tensor
from kokoro_tvm.runtime.bundle.voice_files import SUFFIXES, encode_voice, read_voice, read_voices

GOLDEN = Path(__file__).parent / "golden" / "voices.txt"
WIDTH = 4  # of the toy, 256 of Kokoro
TABLE = np.random.default_rng(3).standard_normal((510, WIDTH)).astype(np.float32)


def save(path: Path, values: np.ndarray) -> Path:
    """Write a voice with the usual library of a format."""
    if path.suffix == ".pt":
        torch.save(torch.from_numpy(values.copy()), path)
    elif path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".bin":
        values.astype("<f4").tofile(path)
    else:
        save_file({"style": np.ascontiguousarray(values)}, path)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("shape", [(510, 1, WIDTH), (510, WIDTH), (WIDTH,), (1, WIDTH)])
def test_read_voice_accepts_every_format_and_shape(
    tmp_path: Path, suffix: str, shape: tuple[int, ...]
) -> None:
    values = TABLE[: int(np.prod(shape)) // WIDTH].reshape(shape)
    voices_read = read_voices(save(tmp_path / f"mine{suffix}", values), WIDTH)
    assert list(voices_read) == ["mine"]
    assert np.array_equal(voices_read["mine"], values.reshape(-1, WIDTH))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_encode_voice_round_trips(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"mine{suffix}").write_bytes(encode_voice(TABLE, suffix, "mine"))
    assert np.array_equal(read_voice(tmp_path / f"mine{suffix}", WIDTH), TABLE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_read_tensor_reads_files_of_torch(dtype: torch.dtype) -> None:
    """Views, transposed tensors, parameters, tensors with gradients and parts of a larger storage."""
    whole = torch.arange(24, dtype=dtype).reshape(4, 6)
    for tensor in (whole, whole[1:, 2:], whole.T, torch.nn.Parameter(whole), whole[0].expand(3, 6)):
        buffer = io.BytesIO()
        torch.save(tensor, buffer)
        assert np.array_equal(read_tensor(buffer.getvalue()), tensor.detach().numpy())


@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=3), elements=st.floats(width=32)))
def test_write_tensor_writes_files_that_torch_loads(values: np.ndarray) -> None:
    data = write_tensor(values)
    read = torch.load(io.BytesIO(data), weights_only=True).numpy()
    assert np.array_equal(read, values, equal_nan=True)
    assert np.array_equal(read_tensor(data), values, equal_nan=True)


@given(st.binary(max_size=300))
def test_read_tensor_survives_any_pickle(program: bytes) -> None:
    try:
        read_tensor(archive(program))
    except ValueError as error:
        assert str(error)[0].islower()


def archive(program: bytes, values: bytes = bytes(8)) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("x/data.pkl", program)
        file.writestr("x/data/0", values)
    return buffer.getvalue()


class Code:
    """An object whose pickle runs a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/run",)


def test_read_voices_reads_a_folder(tmp_path: Path) -> None:
    save(tmp_path / "af_mine.pt", TABLE)
    save(tmp_path / "em_other.npy", TABLE[0])
    (tmp_path / "README.md").write_text("Where they are from.")
    save_file({"af_one": TABLE, "af_two": TABLE}, tmp_path / "many.safetensors")
    assert list(read_voices(tmp_path, WIDTH)) == ["af_mine", "em_other", "af_one", "af_two"]


def test_table_mixes_a_single_row_with_tables(plain_bundle: Path) -> None:
    voices = Voices.open(read_bundle(plain_bundle)).joined({"mine": TABLE[:1]})
    heart = voices.table("af_heart")
    np.testing.assert_allclose(voices.table("mine,af_heart"), (heart + TABLE[0]) / 2, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="takes away nearly all"):
        voices.table("mine-af_heart")


def test_added_voice_equals_the_same_voice_in_the_bundle(plain_bundle: Path) -> None:
    voices = Voices.open(read_bundle(plain_bundle))
    own = voices.joined({"mine": voices.table("am_adam")})
    speak = [
        Synthesizer.from_parts(read_bundle(plain_bundle), FakeRunner(), each).from_phonemes("bad dog.", voice)
        for each, voice in ((voices, "am_adam"), (own, "mine"))
    ]
    assert np.array_equal(speak[0].audio, speak[1].audio)
    assert own.names[-1] == "mine" and list(own.own) == ["mine"]


def bad_files(folder: Path) -> list[tuple[str, Callable[[], object]]]:
    """Name of each case, and the function that raises its message."""
    voices = {suffix: folder / f"mine{suffix}" for suffix in SUFFIXES}

    def written(suffix: str, content: bytes) -> Callable[[], object]:
        def read() -> object:
            voices[suffix].write_bytes(content)
            return read_voices(voices[suffix], WIDTH)

        return read

    def saved(suffix: str, values: np.ndarray) -> Callable[[], object]:
        return lambda: read_voices(save(voices[suffix], values), WIDTH)

    def huge() -> object:
        path = folder / "huge.bin"
        with path.open("wb") as file:
            file.truncate(2 << 30)
        return read_voices(path, WIDTH)

    def twice() -> object:
        (folder / "two").mkdir()
        save(folder / "two" / "mine.pt", TABLE)
        save(folder / "two" / "mine.npy", TABLE)
        return read_voices(folder / "two", WIDTH)

    def empty() -> object:
        (folder / "empty").mkdir()
        return read_voices(folder / "empty", WIDTH)

    def joined(name: str, table: np.ndarray) -> Callable[[], object]:
        low = np.linspace(1.0, 2.0, 510, dtype=np.float32)[:, None] * np.ones((1, WIDTH), np.float32)
        return lambda: Voices({"af_heart": low}).joined({name: table})

    nan = TABLE.copy()
    nan[7, 1] = np.nan
    state = io.BytesIO()
    torch.save({"style": torch.ones(WIDTH)}, state)
    half = io.BytesIO()
    torch.save(torch.ones(WIDTH, dtype=torch.bfloat16), half)
    old = io.BytesIO()
    torch.save(torch.ones(WIDTH), old, _use_new_zipfile_serialization=False)
    objects = io.BytesIO()
    np.save(objects, np.array([{}], dtype=object), allow_pickle=True)
    fifo = folder / "fifo.bin"
    os.mkfifo(fifo)
    return [
        ("nothing there", lambda: read_voices(folder / "none.pt", WIDTH)),
        ("an empty folder", empty),
        ("another suffix", lambda: read_voices(Path(__file__), WIDTH)),
        ("a pipe", lambda: read_voices(fifo, WIDTH)),
        ("two gigabytes", huge),
        ("two of one name", twice),
        ("a name that is a mix", lambda: read_voices(save(folder / "my-voice.npy", TABLE), WIDTH)),
        ("NaN", saved(".npy", nan)),
        ("too large for float32", saved(".npy", TABLE.astype(np.float64) * 1e300)),
        ("another width", saved(".npy", TABLE[:, :3])),
        ("another number of rows", saved(".pt", TABLE[:100])),
        ("whole numbers", saved(".npy", np.ones(WIDTH, np.int64))),
        ("a .bin of another size", written(".bin", bytes(1000))),
        ("a .bin that is an archive", written(".bin", archive(b""))),
        ("a .npy that is none", written(".npy", b"PK")),
        ("a .npy of objects", written(".npy", objects.getvalue())),
        ("a .npy that is cut short", written(".npy", encode_voice(TABLE, ".npy")[:-4])),
        ("a .safetensors that is none", written(".safetensors", b"{}")),
        ("a .safetensors of nothing", written(".safetensors", (2).to_bytes(8, "little") + b"{}")),
        ("a pickle that runs code", written(".pt", archive(pickle.dumps(Code())))),
        ("another class", written(".pt", archive(pickle.dumps(collections.Counter())))),
        ("a state dict", written(".pt", state.getvalue())),
        ("bfloat16", written(".pt", half.getvalue())),
        ("torch's old format", written(".pt", old.getvalue())),
        ("another archive", written(".pt", encode_voice(TABLE, ".pt").replace(b"data.pkl", b"data.txt"))),
        ("a damaged archive", written(".pt", encode_voice(TABLE, ".pt")[:-30])),
        ("a damaged pickle", written(".pt", archive(b"\x80"))),
        ("a tensor beyond its values", written(".pt", archive(beyond()))),
        ("the name of the bundle's", joined("af_heart", TABLE)),
        ("no style", joined("mine", np.zeros((1, WIDTH), np.float32))),
        ("far outside", joined("mine", np.full((1, WIDTH), 1e9, np.float32))),
    ]


def beyond() -> bytes:
    """Return a pickle of a tensor that exceeds its storage."""
    with zipfile.ZipFile(io.BytesIO(write_tensor(np.ones(2, np.float32)))) as file:
        return file.read("voice/data.pkl").replace(b"QJ\x00", b"QJ\x01", 1)


def test_read_voices_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    errors = []
    for name, read in bad_files(tmp_path):
        with pytest.raises(InputError) as caught:
            read()
        errors.append(
            f"{name}\n  {caught.value}".replace(f"{tmp_path}{os.sep}", "").replace(__file__, "x.py")
        )
    text = "\n".join(errors) + "\n"
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
    assert not Path("/tmp/run").exists()
