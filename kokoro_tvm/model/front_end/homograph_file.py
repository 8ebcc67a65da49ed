"""The trained homograph model as tensors of a bundle's front end.

`homographs.json` has the readings of each word with phonemes. Forms of a word have readings of the same
names, and share its weights. `homographs.safetensors` has the weights, which `docs/homographs.py` trains.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.text.frontend.data import FIELD_SEPARATOR, HOMOGRAPH_TENSORS
from kokoro_tvm.runtime.text.frontend.dictionary import pack_dictionary

WEIGHTS = Path(__file__).with_name("homographs.safetensors")
TAGGER = "tagger"
"""Name of the tensor with the SHA-256 of the tagger's network."""
_READINGS = Path(__file__).with_name("homographs.json")


@cache
def read_homographs() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return word in lower case -> name of a reading -> English ("us", "gb") -> phonemes."""
    content: Mapping[str, Mapping[str, Mapping[str, str]]] = json.loads(_READINGS.read_text(encoding="utf-8"))
    return content


def number_readings() -> Mapping[str, int]:
    """Return the row of the weights of each reading, by its name."""
    names = dict.fromkeys(name for readings in read_homographs().values() for name in readings)
    return {name: row for row, name in enumerate(names)}


def homograph_arrays(tagger: Path) -> dict[str, NDArray[Any]]:
    """Return the weights, and for each English a dictionary of words and their readings.

    Args:
        tagger: File of the tagger's network; {} is returned if the model was trained with another one.
    """
    weights = map_safetensors(WEIGHTS)
    if weights[TAGGER].tobytes().hex() != file_sha256(tagger):
        return {}
    rows = number_readings()
    arrays = {f"homographs.{name}": weights[name] for name in HOMOGRAPH_TENSORS}
    for variant in ("us", "gb"):
        entries = {
            word: FIELD_SEPARATOR.join(
                [str(rows[next(iter(readings))]), *(phonemes[variant] for phonemes in readings.values())]
            )
            for word, readings in read_homographs().items()
        }
        arrays[f"homographs.{variant}"] = np.frombuffer(pack_dictionary(entries), np.uint8)
    return arrays
