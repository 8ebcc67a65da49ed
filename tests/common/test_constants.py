"""Constants compared with the stock model and its configuration."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

from kokoro_tvm.common import constants
from kokoro_tvm.model.kokoro import build_model, load_shipped_config
from kokoro_tvm.model.signatures import samples_per_frame
from kokoro_tvm.recipe.parts import Components


def test_constants_equal_the_shipped_configuration() -> None:
    config = load_shipped_config()
    assert config["style_dim"] == constants.STYLE_DIM
    assert samples_per_frame(config) == constants.SAMPLES_PER_FRAME
    assert constants.FRAMES_PER_SECOND * constants.SAMPLES_PER_FRAME == constants.SAMPLE_RATE


def test_constants_equal_the_stock_model() -> None:
    sines = build_model(load_shipped_config(), None, device="meta").decoder.generator.m_source.l_sin_gen
    assert sines.sampling_rate == constants.SAMPLE_RATE
    assert sines.dim == constants.NOISE_CHANNELS


def test_component_names_are_equal_everywhere() -> None:
    assert constants.COMPONENTS == get_args(constants.ComponentName) == tuple(Components.model_fields)


def test_constants_import_neither_torch_nor_numpy() -> None:
    code = "import sys, kokoro_tvm.common.constants; assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
