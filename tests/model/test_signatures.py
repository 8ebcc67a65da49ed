from __future__ import annotations

import subprocess
import sys

import pytest

from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.model.kokoro import load_shipped_config
from kokoro_tvm.model.signatures import LENGTH, SIGNATURES, extent, signatures


def test_shipped_configuration_has_the_published_signatures() -> None:
    assert signatures(load_shipped_config()) == SIGNATURES
    assert tuple(SIGNATURES) == COMPONENTS
    decoder = SIGNATURES["decoder"]
    assert decoder.function == "decoder_forward"
    assert [(t.name, t.dtype, t.shape) for t in decoder.inputs] == [
        ("asr", "float32", (1, 512, "F")),
        ("f0", "float32", (1, "2*F")),
        ("n", "float32", (1, "2*F")),
        ("style", "float32", (1, 128)),
        ("noise", "float32", (1, "600*F")),
    ]
    assert [(t.name, t.dtype, t.shape) for t in decoder.outputs] == [("audio", "float32", (1, "600*F"))]
    assert [t.name for t in SIGNATURES["duration"].outputs] == ["duration", "d"]


def test_resolved_follows_the_length_policy() -> None:
    signature = SIGNATURES["f0n"]
    assert signature.resolved("exact", 64) == signature
    padded = signature.resolved("padded", 64)
    assert [t.shape for t in padded.inputs] == [(1, 640, 64), (1, 128)]
    assert [t.shape for t in padded.outputs] == [(1, 128), (1, 128)]
    masked = signature.resolved("masked", 64)
    assert masked.inputs == (*padded.inputs, LENGTH)
    assert masked.outputs == padded.outputs


@pytest.mark.parametrize(("word", "number"), [(9, 9), ("T", 3), ("F", 3), ("2*F", 6), ("600*F", 1800)])
def test_extent(word: int | str, number: int) -> None:
    assert extent(word, 3) == number


def test_signatures_do_not_import_torch() -> None:
    code = "import sys, kokoro_tvm.model.signatures; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
