"""What was learned of words of two readings, as tensors of a bundle's front end.

`homographs.json` names the readings of each word and gives their phonemes; `homographs.safetensors` has the
weights, which `docs/homographs.py` learns.
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

__all__ = ["TAGGER", "WEIGHTS", "homograph_arrays", "read_homographs"]

WEIGHTS = Path(__file__).with_name("homographs.safetensors")
TAGGER = "tagger"
"""Name of a tensor: SHA-256 of the network whose states were learned from."""
_READINGS = Path(__file__).with_name("homographs.json")


@cache
def read_homographs() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Word in small letters -> name of a reading -> phonemes by English (us, gb)."""
    found: Mapping[str, Mapping[str, Mapping[str, str]]] = json.loads(_READINGS.read_text(encoding="utf-8"))
    return found


def homograph_arrays(tagger: Path) -> dict[str, NDArray[Any]]:
    """The tensors, and for each English a dictionary: word -> its first row and the phonemes of its readings.

    None where the network `tagger` is another one than they were learned with.
    """
    weights = map_safetensors(WEIGHTS)
    if weights[TAGGER].tobytes().hex() != file_sha256(tagger):
        return {}
    arrays = {f"homographs.{name}": weights[name] for name in HOMOGRAPH_TENSORS}
    for variant in ("us", "gb"):
        rows: dict[str, str] = {}
        first = 0
        for word, named in read_homographs().items():
            rows[word] = FIELD_SEPARATOR.join([str(first), *(spoken[variant] for spoken in named.values())])
            first += len(named)
        arrays[f"homographs.{variant}"] = np.frombuffer(pack_dictionary(rows), np.uint8)
    return arrays
