"""Damaged bundles, bad arguments and many threads under address and undefined-behaviour sanitizers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls import Speaker, edited
from toy_bundle import file_entry

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.native.libkokoro import FOLDER
from kokoro_tvm.runtime import Synthesizer

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def run(sanitized: Callable[[Path], Path], tvm: Path, tmp_path: Path) -> Callable[..., str]:
    def run(program: str, *words: object) -> str:
        environment = os.environ | {"TVM_LIBRARY_PATH": str(tvm), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [str(sanitized(PROGRAMS / f"{program}.c")), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def mutable(compiled: Callable[[str], Path], tmp_path: Path) -> Path:
    """Return a copy of the toy that a test may damage."""
    return Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))


@pytest.fixture
def checked(sanitized: Callable[[Path], Path], tvm: Path, tmp_path: Path) -> Speaker:
    return Speaker(sanitized(FOLDER / "speak.c"), tvm, tmp_path)


def test_sha256_matches_python(run: Callable[..., str]) -> None:
    """With the CPU's instructions, if it has them, and without."""
    sizes = (0, 1, 55, 56, 63, 64, 65, 127, 128, 1000, 100_000)
    contents = [bytes(131 * i + i // 7 & 255 for i in range(size)) for size in sizes]
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    assert run("sha256", *sizes).split() == [digest for digest in digests for _ in range(2)]


def test_bundle_is_shared_by_threads(run: Callable[..., str], compiled: Callable[[str], Path]) -> None:
    assert run("threads", compiled("exact"), 4) == "equal\n"


def test_text_in_portions_speaks_equally(run: Callable[..., str], talking: Path) -> None:
    """Portions end within characters and brackets."""
    text = "[pause:0.2s] A café… [pause:1s] [rate:1.5]I ate 😀[rate:] [voice:bf_emma]a “cab”[voice:]. No."
    assert run("portions", talking, text, "af_heart") == "equal\n"


@pytest.mark.parametrize("cases", [500, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_mutated_input_is_refused_or_works(run: Callable[..., str], mutable: Path, cases: int) -> None:
    folder = mutable.with_name("mutated")
    shutil.copytree(mutable, folder)
    words = run("fuzz", mutable, folder, 0, cases)
    result = re.fullmatch(r"(\d+) cases: (\d+) bundles opened, (\d+) spoken, (\d+) refused\n", words)
    assert result is not None, words
    total, opened, spoken, refused = map(int, result.groups())
    assert total == cases
    assert opened > 0
    assert spoken > cases / 100
    assert refused > cases / 4


REQUESTS = [
    (("--phonemes", " \t"), 2, "There is nothing to speak: the phonemes are empty."),
    (("--phonemes", "☃ ζ"), 2, "There is nothing to speak: the model knows none of the phonemes ('☃' "),
    (("--phonemes", b"a\xff"), 2, "The phonemes are no UTF-8: byte 2 is no part of a character."),
    (("--phonemes", "a", "--voice", "af_hart"), 2, "There is no voice 'af_hart' in this bundle. It has 5"),
    (("--phonemes", "a", "--voice", "af_heart,"), 2, "The name of a voice is empty. There are 5, such as "),
    (("--phonemes", "a", "--voice", "af_heart(0)+am_adam"), 2, "The weight of af_heart in a mix should be"),
    (("--phonemes", "a", "--voice", b"am_adam+\xff(2)"), 2, "The voice is no UTF-8: byte 9 is no part"),
    (("--phonemes", "a", "--voice", "☃" * 41), 2, "There is no voice '" + "☃" * 40 + "…' in this bundle."),
    (("--phonemes", "a", "--voice", "(2"), 2, "There is no voice '(2' in this bundle."),
    (("--phonemes", "a", "--speed", "0"), 2, "The speed should be a finite number above 0, such as 1.0"),
    (("--phonemes", "a", "--speed", "nan"), 2, "The speed should be a finite number above 0"),
    (("--phonemes", "a", "--speed", "1e-300"), 2, "The utterance needs 1099511627778 frames, but "),
    (("--phonemes", "ab" * 40), 2, "The utterance needs 82 tokens, but the largest bucket"),
    (("--tokens", "0,99,0"), 2, "The tokens should lie within 0..28, but number 1 is 99."),
    (("--tokens", "0,x"), 2, "no list of tokens, or no style of this bundle"),
    (("--phonemes", "a", "--sha256", "12"), 2, "The sha256 of a bundle should be 64 hexadecimal digits"),
    (("--phonemes", "a", "--sha256", "0" * 64), 5, "bundle.json has sha256 "),
    (("--phonemes", "a", "--threads", "-1"), 2, "no number: -1"),
    (("--phonemes", "a", "--threads", "2000"), 2, "The threads should be 1 to 1024, or 0 for the usual, but"),
    (("--phonemes",), 2, "no value after --phonemes"),
    ((), 2, "give either a text, --phonemes or --tokens"),
    (("--phonemes", "a", "--loud"), 2, "unknown argument --loud"),
    (("--phonemes", "a", "--seed", "-1"), 2, "the seed should be a whole number from 0 to 2^64 - 1"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "text"), REQUESTS)
def test_speak_refuses_a_bad_request(
    checked: Speaker, compiled: Callable[[str], Path], words: tuple[Any, ...], status: int, text: str
) -> None:
    result = checked(compiled("exact"), *words)
    assert result.status == status, result.errors
    assert text in result.errors
    assert "Sanitizer" not in result.errors


def test_decode_refuses_noise_of_another_size(
    checked: Speaker, compiled: Callable[[str], Path], noise: Any
) -> None:
    result = checked(compiled("exact"), "--phonemes", "a", noise=noise[:7])
    assert (result.status, result.wav) == (2, b"")
    assert "The noise should be 110 numbers, one for each sample, but has 7." in result.errors
    noise = noise[:110].copy()
    noise[5] = float("nan")
    result = checked(compiled("exact"), "--phonemes", "a", noise=noise)
    assert "The noise should be finite, but number 5 is not." in result.errors


# (path of the manifest, value there, what is said)
MANIFESTS = [
    ("schema", 6, "bundle.json has schema 6; this libkokoro reads schema 5."),
    ("schema", 4, "bundle.json has schema 4; this libkokoro reads schema 5. Build the bundle again."),
    (
        "components/bert/libraries/0/kernels",
        {"file": "bert-16.kernels", "size": 1, "sha256": "00"},
        "bert: libraries[0] computes on a GPU, and libkokoro on CPUs alone.",
    ),
    ("schema", "2", "bundle.json: 'schema' should be int but is str."),
    ("components/decoder/seeded", None, "bundle.json: components: decoder lacks 'seeded'."),
    ("components/decoder/seeded/function", "sown", "it has no function sown"),
    ("voices", None, "bundle.json lacks 'voices'."),
    ("sample_rate", 0, "bundle.json: 'sample_rate' should be positive"),
    ("length", "longer", "bundle.json: 'length' is 'longer', which it cannot be."),
    ("components/bert", None, "bundle.json lacks the component bert."),
    ("components/bert/libraries", [], "bundle.json: components: bert has no library."),
    ("components/bert/libraries/0/bucket", -4, "bundle.json: components: bert: libraries[0]: 'bucket'"),
    ("components/bert/libraries/0/file", "..\\..\\x.dll", "x.dll' lies outside the bundle."),
    ("components/bert/libraries/0/file", "C:x.dll", "the file 'C:x.dll' lies outside the bundle."),
    ("components/bert/libraries/0/file", "../x.so", "the file '../x.so' lies outside the bundle."),
    ("components/bert/libraries/0/file", "a.so", "a.so is missing from the bundle."),
    ("components/bert/libraries/0/size", 4, " bytes, but bundle.json says 4. Copy the bundle again."),
    ("components/bert/libraries/0/sha256", "00", " has sha256 "),
    ("components/bert/libraries/0/bucket", 17, " was compiled with bucket 64, but bundle.json says 17."),
    ("components/bert/function", "bart_forward", "bert-16.so cannot be loaded as a compiled bert"),
    ("components/bert/axis", "frames", "components: bert: 'axis' should be 'tokens'."),
    ("components/decoder/parameters/0/name", "scales", "lacks the tensor scales that decoder_forward takes."),
    ("components/decoder/parameters/0/shape", [40], "holds 16 elements of float32, which decoder"),
    ("components/decoder/parameters/0/dtype", "int32", "holds 16 elements of float32"),
    ("components/decoder/seeded/inputs/0/dtype", "int64", "decoder_seeded takes other inputs than this"),
    ("libkokoro", [{"file": "speak", "size": 1, "sha256": ""}], "speak is missing from the bundle."),
    ("precision", "bfloat16", "was compiled with precision 'float32', but bundle.json says 'bfloat16'."),
    ("cpu_features", ["antigravity", "x87"], "was built for a processor with antigravity, x87, which"),
    ("style_dim", 7, "is not float32 rows of 14."),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "text"), MANIFESTS)
def test_read_bundle_refuses_a_bad_manifest(
    checked: Speaker, mutable: Path, path: str, value: Any, text: str
) -> None:
    manifest = json.loads((mutable / "bundle.json").read_text(encoding="utf-8"))
    (mutable / "bundle.json").write_text(json.dumps(edited(manifest, path, value)), encoding="utf-8")
    result = checked(mutable, "--phonemes", "a", seed=0)
    assert (result.status, result.wav) == (5, b""), result.errors
    assert text in result.errors
    assert "Sanitizer" not in result.errors
    if path != "components/bert/axis":  # which Python does not compare
        with pytest.raises((BundleError, ValueError)):
            Synthesizer(mutable, threads=1).from_phonemes("a")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "a value is missing: line 1, byte 1"),
        (b'{"a": 1,\n "b": 01}', "a comma is missing: line 2, byte 8"),
        (b'{"a": "\xff"}', "a byte that is no UTF-8: line 1, byte 8"),
        (b'{"a": "b', "a string does not end: line 1, byte 8"),
        (b'{"a": "\\ud800"}', "an escape that is no character: line 1, byte 14"),
        (b"[" * 100, "values nested too deeply: line 1, byte 66"),
        (b'{"a": NaN}', "a value is missing: line 1, byte 7"),
        (b"{} {}", "something stands behind the value: line 1, byte 4"),
        (b'{"a": 18446744073709551616}', "a whole number of more than 64 bits: line 1, byte 7"),
    ],
)
def test_read_bundle_refuses_invalid_json_with_its_place(
    checked: Speaker, mutable: Path, content: bytes, text: str
) -> None:
    (mutable / "bundle.json").write_bytes(content)
    result = checked(mutable, "--phonemes", "a")
    assert result.status == 5
    assert f"bundle.json is no readable JSON ({text}). Build or copy it again." in result.errors


def test_open_files_refuses_a_damaged_file(checked: Speaker, mutable: Path) -> None:
    for name in ("voices.safetensors", "bert.safetensors", "decoder-32.so"):
        content = (mutable / name).read_bytes()
        (mutable / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        result = checked(mutable, "--phonemes", "a")
        digest = hashlib.sha256((mutable / name).read_bytes()).hexdigest()
        assert result.status == 5
        assert f"{name} has sha256 {digest}, but bundle.json says " in result.errors
        (mutable / name).write_bytes(content)
    assert checked(mutable, "--phonemes", "a").status == 0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty."),
        (b"\xff" * 8, "is no safetensors file: its header would be 18446744073709551615 bytes long."),
        (b"\2\0\0\0\0\0\0\0[]", "should be a JSON object but is list."),
        (
            b'\x3e\0\0\0\0\0\0\0{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}',
            "does not fit",
        ),
    ],
)
def test_open_voices_refuses_an_invalid_safetensors_file(
    checked: Speaker, mutable: Path, content: bytes, text: str
) -> None:
    (mutable / "voices.safetensors").write_bytes(content)
    manifest = json.loads((mutable / "bundle.json").read_text(encoding="utf-8"))
    manifest["voices"] = file_entry(mutable / "voices.safetensors")
    (mutable / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    result = checked(mutable, "--phonemes", "a")
    assert result.status == 5
    assert text in result.errors


def test_read_bundle_refuses_other_folders(checked: Speaker, mutable: Path) -> None:
    (mutable / "bundle.json").unlink()
    assert "is not a complete bundle: bundle.json" in checked(mutable, "--phonemes", "a").errors
    assert "the folder does not exist" in checked(mutable / "none", "--phonemes", "a").errors
    result = checked(mutable / "bert-16.so", "--phonemes", "a")
    assert (result.status, "is a file; a bundle is a folder" in result.errors) == (5, True)


def test_forked_child_opens_its_own_bundle(run: Callable[..., str], compiled: Callable[[str], Path]) -> None:
    printed = run("forked", compiled("exact"))
    assert printed == "This process was forked from the one that opened the bundle. Open it in this one.\n"


@pytest.mark.parametrize(("speed", "noted"), [("0.24", True), ("0.25", False), ("4", False), ("4.5", True)])
def test_check_speed_notices_an_extreme_speed(
    checked: Speaker, compiled: Callable[[str], Path], speed: str, noted: bool
) -> None:
    result = checked(compiled("exact"), "--phonemes", "a", "--speed", speed)
    line = (
        f"speak: Speed {speed} is beyond what the model can say, 0.25 to 4: sounds are lost or drawn out.\n"
    )
    assert (result.status, result.errors) == (0, line if noted else "")


def test_predict_refuses_an_extreme_style(
    checked: Speaker, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "style").write_bytes(np.array([0, 1, 1e30, 0], np.float32).tobytes())
    result = checked(compiled("exact"), "--tokens", "0,3,0", "--style", str(tmp_path / "style"))
    assert result.status == 2
    assert "it has the value 1e+30, and voices have at most 3.2." in result.errors


def test_write_wav_follows_links_and_writes_to_pipes(
    checked: Speaker, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle, words = compiled("exact"), ("--phonemes", "abc.", "--seed", "3")
    link, pipe = tmp_path / "link.wav", tmp_path / "pipe"
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.wav").write_bytes(b"old")
    link.symlink_to(Path("there") / "a.wav")
    os.mkfifo(pipe)
    plain = checked(bundle, *words[:2], seed=3).wav
    assert checked(bundle, *words, "-o", str(link)).status == 0
    assert (link.is_symlink(), (tmp_path / "there" / "a.wav").read_bytes()) == (True, plain)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert checked(bundle, *words, "-o", str(pipe)).status == 0
    reader.join(20)
    assert (pipe.is_fifo(), read) == (True, [plain])
