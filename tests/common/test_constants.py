"""The constants are those of the stock model, which says each of them in a place of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

from kokoro_tvm.common import constants
from kokoro_tvm.model.kokoro import build_model, shipped_config
from kokoro_tvm.model.signatures import samples_per_frame
from kokoro_tvm.recipe.parts import Components


def test_what_the_configuration_says() -> None:
    config = shipped_config()
    assert config["style_dim"] == constants.STYLE_DIM
    assert samples_per_frame(config) == constants.SAMPLES_PER_FRAME
    assert constants.FRAMES_PER_SECOND * constants.SAMPLES_PER_FRAME == constants.SAMPLE_RATE


def test_what_the_configuration_does_not_say() -> None:
    sines = build_model(shipped_config(), None, device="meta").decoder.generator.m_source.l_sin_gen
    assert sines.sampling_rate == constants.SAMPLE_RATE
    assert sines.dim == constants.NOISE_CHANNELS


def test_names_of_components() -> None:
    assert constants.COMPONENTS == get_args(constants.ComponentName) == tuple(Components.model_fields)


def test_the_runtime_may_import_them() -> None:
    code = "import sys, kokoro_tvm.common.constants; assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
