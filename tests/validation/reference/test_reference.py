"""References: their arithmetic, their file, and the inputs they hand to artifacts."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.validation.reference.reference import (
    INPUTS,
    Reference,
    frame_counts,
    load_reference,
    save_reference,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_round_half_to_even_and_are_never_none(dtype: type[np.floating]) -> None:
    duration = np.array([[0.0, 0.4, 0.5, 1.5, 2.5, 3.5, 7.49, 7.51]], dtype=dtype)
    assert frame_counts(duration, 1.0).tolist() == [1, 1, 1, 2, 2, 4, 7, 8]
    assert frame_counts(duration, 2.0).tolist() == [1, 1, 1, 1, 1, 2, 4, 4]
    assert frame_counts(duration, 2.0).dtype == np.int64


def test_frames_of_no_number() -> None:
    with pytest.raises(ValueError, match="not finite"):
        frame_counts(np.array([[1.0, np.nan]]), 1.0)


def test_inputs_are_the_truth_rounded(references: list[Reference]) -> None:
    for r in references:
        tokens, frames = r.length("tokens"), r.length("frames")
        shapes = {
            "tokens": (1, tokens),
            "d_en": (1, 512, tokens),
            "en": (1, 640, frames),
            "asr": (1, 512, frames),
            "f0": (1, 2 * frames),
            "n": (1, 2 * frames),
            "style": (1, 128),
            "noise": (1, 600 * frames),
        }
        for component, names in INPUTS.items():
            inputs = r.inputs(component)
            assert tuple(inputs) == names
            for name, array in inputs.items():
                assert array.shape == shapes[name]
                assert array.dtype == (np.int64 if name == "tokens" else np.float32)
                assert array.flags.c_contiguous
        np.testing.assert_array_equal(r.inputs("decoder")["f0"], r.truth.f0.astype(np.float32))
        np.testing.assert_array_equal(r.inputs("decoder")["style"], r.ref_s[:, :128])
        np.testing.assert_array_equal(r.inputs("f0n")["style"], r.ref_s[:, 128:])
        np.testing.assert_array_equal(r.inputs("duration")["style"], r.ref_s[:, 128:])
    with pytest.raises(KeyError):
        references[0].inputs("vocoder")


def test_rounding_margin(references: list[Reference]) -> None:
    for r in references:
        margin = r.rounding_margin()
        assert 0 < margin <= 0.5
        for sign in (-0.99, 0.99):
            moved = frame_counts(r.truth.duration + sign * margin * r.speed, r.speed)
            np.testing.assert_array_equal(moved, r.truth.durations)


def test_a_reference_comes_back_as_it_was(references: list[Reference], tmp_path: Path) -> None:
    for r in references:
        path = tmp_path / "made" / f"{r.name}.safetensors"
        save_reference(r, path)
        back = load_reference(path)
        assert [p.name for p in path.parent.glob(".*")] == []
        for field in ("name", "phonemes", "voice", "speed", "seed"):
            assert getattr(back, field) == getattr(r, field)
        for column in ("exact_audio", "fed_exact_audio"):
            np.testing.assert_array_equal(getattr(back, column), getattr(r, column), strict=True)
        for part in ("truth", "dynamic", "fed_truth", "fed_dynamic"):
            for field in fields(getattr(r, part)):
                kept, array = getattr(getattr(back, part), field.name), getattr(getattr(r, part), field.name)
                np.testing.assert_array_equal(kept, array, strict=True)
        np.testing.assert_array_equal(back.inputs("decoder")["noise"], r.inputs("decoder")["noise"])


def test_a_reference_is_the_same_bytes_each_time(references: list[Reference], tmp_path: Path) -> None:
    """Else nothing could tell one that was made again from another one."""
    for index in range(8):
        save_reference(references[0], tmp_path / f"{index}.safetensors")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_a_missing_or_damaged_file(references: list[Reference], tmp_path: Path) -> None:
    path = tmp_path / "short.safetensors"
    with pytest.raises(ValidationError, match="cannot be read"):
        load_reference(path)
    save_reference(references[0], path)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ValidationError, match="cannot be read"):
        load_reference(path)


def test_a_file_of_another_version(references: list[Reference], tmp_path: Path) -> None:
    path = tmp_path / "short.safetensors"
    save_reference(references[0], path)
    tensors = load_file(path)
    metadata = {
        "format": "1",
        "name": "a",
        "phonemes": "a",
        "voice": "v",
        "speed": "1.0",
        "seed": "0",
        "piece": "0",
    }
    save_file({k: v for k, v in tensors.items() if k != "truth.en"}, path, metadata)
    with pytest.raises(ValidationError, match=r"as a stored reference \('truth.en' is missing\)"):
        load_reference(path)
    save_file(tensors, path, metadata | {"format": "0"})
    with pytest.raises(ValidationError, match="it has format 0, expected 1"):
        load_reference(path)
    save_file(tensors, path)
    with pytest.raises(ValidationError, match="it has format None"):
        load_reference(path)
