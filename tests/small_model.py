"""A small Kokoro with random weights that speaks a few frames, and its references."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sharing import once

from kokoro_tvm.model.kokoro import build_model, load_shipped_config
from kokoro_tvm.recipe.parts import UtteranceSpec
from kokoro_tvm.validation.reference.compute import compute_references
from kokoro_tvm.validation.reference.reference import Reference


@pytest.fixture(scope="session")
def config() -> dict[str, Any]:
    """The stock configuration, with everything that may shrink shrunk; the stock classes fix the widths."""
    config = load_shipped_config()
    config["n_layer"] = 1
    config["plbert"] |= {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 32}
    config["istftnet"] |= {"resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[1, 3, 5]]}
    return config


@pytest.fixture(scope="session")
def state(config: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Seeded weights with which tokens take one to a few frames and some frames are voiced."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        state = dict(build_model(config, None, device="cpu").state_dict())
        state["predictor.duration_proj.linear_layer.weight"] *= 8.0
        state["predictor.duration_proj.linear_layer.bias"] -= 4.5
        state["predictor.F0_proj.weight"] *= 100.0
        state["predictor.F0_proj.bias"] += 15.0
    return state


@pytest.fixture(scope="session")
def voices() -> dict[str, np.ndarray]:
    """Two random voices."""
    generator = np.random.default_rng(3)
    return {name: generator.normal(size=(510, 256)).astype(np.float32) for name in ("af_one", "bm_two")}


@pytest.fixture(scope="session")
def utterances() -> list[UtteranceSpec]:
    """A short one and a longer one, each with its own voice, speed and seed."""
    return [
        UtteranceSpec(name="short", phonemes="hˈI.", voice="af_one"),
        UtteranceSpec(name="longer", phonemes="wˈʌn tˈu.", voice="bm_two", speed=1.25, seed=5),
    ]


@pytest.fixture(scope="session")
def references(request: pytest.FixtureRequest, shared_folder: Path) -> list[Reference]:
    """Both references, computed once for all folders of tests and all workers."""
    file = shared_folder / "references"
    with once(shared_folder / "references-there") as first:
        if first:
            given = map(request.getfixturevalue, ("config", "state", "voices", "utterances"))
            file.write_bytes(pickle.dumps(compute_references(*given)))
    made: list[Reference] = pickle.loads(file.read_bytes())
    return made
