"""Voices: tables, mixes and names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_bundle import write_safetensors

from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime import Voices, describe, read_bundle
from kokoro_tvm.runtime.bundle.voices import style_of


@pytest.fixture
def voices(plain_bundle: Path) -> Voices:
    return Voices.open(read_bundle(plain_bundle))


def test_voices_names_are_sorted(voices: Voices) -> None:
    assert voices.names == ("af_heart", "am_adam", "bf_emma", "ef_dora", "jf_alpha")
    assert voices.table("am_adam").shape == (510, 4)


def test_table_of_a_mix_is_the_mean(voices: Voices) -> None:
    mean = (voices.table("af_heart").astype(np.float64) + voices.table("am_adam")) / 2
    np.testing.assert_allclose(voices.table("af_heart, am_adam"), mean, rtol=1e-6)
    assert voices.table("af_heart,am_adam").dtype == np.float32


@pytest.mark.parametrize("voice", ["af_hart", "AF_HEART", "af_heart,af_hart"])
def test_table_names_the_nearest_voices(voices: Voices, voice: str) -> None:
    with pytest.raises(InputError, match=r"no voice '(af_hart|AF_HEART)'.*Nearest: af_heart"):
        voices.table(voice)


@pytest.mark.parametrize("voice", ["x" + " " * 1_000_000 + "y", "x" * 1_000_000, "x" + "(" * 1_000_000])
def test_table_truncates_a_long_name_in_the_error(voices: Voices, voice: str) -> None:
    """Quadratic time would be an hour."""
    with pytest.raises(InputError, match="There is no voice 'x") as caught:
        voices.table(voice)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("voice", ["", "af_heart,", "qqqqqqqq"])
def test_table_error_without_similar_names(voices: Voices, voice: str) -> None:
    with pytest.raises(InputError, match=r"It has 5, such as af_heart"):
        voices.table(voice)


def test_open_refuses_a_table_of_another_width(plain_bundle: Path) -> None:
    write_safetensors(plain_bundle / "voices.safetensors", {"af_heart": np.ones((5, 3))})
    with pytest.raises(BundleError, match=r"af_heart is float32 \(5, 3\), not float32 rows of 4"):
        Voices.open(read_bundle(plain_bundle))


@pytest.mark.parametrize(("length", "row"), [(1, 0), (2, 1), (510, 509), (600, 509)])
def test_style_of_selects_the_row_by_length(length: int, row: int) -> None:
    table = np.arange(510, dtype=np.float32)[:, None]
    assert style_of(table, "a" * length)[0] == row


@pytest.mark.parametrize(
    ("name", "language", "gender"),
    [
        ("af_heart", "American English", "female"),
        ("bm_george", "British English", "male"),
        ("zf_xiaobei", "Mandarin Chinese", "female"),
        ("pm_alex", "Brazilian Portuguese", "male"),
        ("robot", "unknown", "unknown"),
        ("q_x", "unknown", "unknown"),
    ],
)
def test_describe_parses_the_name(name: str, language: str, gender: str) -> None:
    info = describe(name)
    assert (info.language, info.gender) == (language, gender)


@pytest.mark.parametrize(
    ("voice", "weights"),
    [
        ("af_heart(2)+am_adam", (2 / 3, 1 / 3)),
        (" af_heart( .5 ) + am_adam (1.5)", (0.25, 0.75)),
        ("af_heart(3)-am_adam", (0.75, -0.25)),
        ("af_heart,am_adam(3)", (0.25, 0.75)),
    ],
)
def test_table_weights_a_mix(voices: Voices, voice: str, weights: tuple[float, float]) -> None:
    heart, adam = voices.table("af_heart").astype(np.float64), voices.table("am_adam")
    np.testing.assert_allclose(voices.table(voice), weights[0] * heart + weights[1] * adam, atol=1e-6)
    assert voices.split(voice) == ("af_heart", "am_adam")


def test_table_of_a_mix_is_deterministic(voices: Voices) -> None:
    """Products and sums are float32, voice by voice, as in C and JavaScript."""
    heart, adam = voices.table("af_heart"), voices.table("am_adam")
    expected = np.float32(2 / 3) * heart + np.float32(1 / 3) * adam
    assert np.array_equal(voices.table("af_heart(2)+am_adam"), expected)


@pytest.mark.parametrize("voice", ["af_heart(0)+am_adam", "af_heart(1001)"])
def test_table_refuses_an_invalid_weight(voices: Voices, voice: str) -> None:
    with pytest.raises(InputError, match="weight of af_heart in a mix should be above 0 and at most 1000"):
        voices.table(voice)


@pytest.mark.parametrize(
    "voice",
    [
        "af_heart-af_heart",
        "af_heart-am_adam",
        "af_heart(1.01)-am_adam",
        "af_heart-am_adam(3)",
        "af_heart(3)-am_adam(1)-bf_emma(1.1)",
    ],
)
def test_table_refuses_a_mix_that_cancels(voices: Voices, voice: str) -> None:
    for read in (voices.table, voices.split):
        with pytest.raises(InputError, match="takes away nearly all that it adds"):
            read(voice)
    assert voices.table("af_heart(3)-am_adam(2)").shape == (510, 4)


@pytest.mark.parametrize("voice", ["+af_heart", "af_heart(x)", "af_heart(1)(2)", "af_heart--am_adam"])
def test_table_refuses_an_invalid_mix(voices: Voices, voice: str) -> None:
    with pytest.raises(InputError, match=r"There is no voice|The name of a voice is empty"):
        voices.table(voice)
