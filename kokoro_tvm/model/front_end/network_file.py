"""The trained network of letter-to-sound as tensors of a bundle's front end.

`letter_network.safetensors` has the weights, which `docs/letter_network.py` trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.text.frontend.letter_network import SHARED

WEIGHTS = Path(__file__).with_name("letter_network.safetensors")


def shared_network_arrays() -> dict[str, NDArray[Any]]:
    """Return the tensors that American and British English share."""
    weights = map_safetensors(WEIGHTS)
    return {f"network.{name}": weights[name] for name in SHARED}


def network_arrays(english: str, graphones: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the tensors of "us" or "gb" with the graphones of the joint n-gram model in their order."""
    tensors = map_safetensors(WEIGHTS)
    scores = {
        name: number
        for number, name in enumerate(tensors[f"{english}.graphones"].tobytes().decode().split("\n"))
    }
    return {
        f"network.{english}.weights": tensors[f"{english}.weights"],
        f"network.{english}.biases": tensors[f"{english}.biases"],
        f"network.{english}.scores": np.array([scores.get(graphone, -1) for graphone in graphones], np.int32),
    }
