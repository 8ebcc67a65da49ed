"""Mixes of voices in libkokoro compared with Python: rows and refusals."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_bundle import edit_manifest, file_entry, write_bundle, write_safetensors

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.native.libkokoro import LINUX, compile_sources, library_sources
from kokoro_tvm.runtime import Voices, read_bundle
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.targets.runners.qemu import Qemu

PROGRAM = Path(__file__).parent / "programs" / "styles.c"
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
SYMBOLS = 7

NAMES = ["af_heart", "am_adam", "bf_emma", "ef_dora", "jf_alpha"]
SPACES = st.sampled_from(["", "", "", " ", "\t", "\n", "\u00a0", "\x1c"])
NUMBERS = st.one_of(
    st.decimals(0, 1001, places=9).map(str),
    st.from_regex(r"[0-9]{0,10}\.?[0-9]{0,10}", fullmatch=True),
    st.sampled_from(["1", "1.0", "2", ".5", "1000", "0", "1000.000000001", ".", "", "1e3", "-1", "٣"]),
)
WEIGHTS = st.one_of(
    st.just(""), st.tuples(SPACES, SPACES, NUMBERS, SPACES).map("{0[0]}({0[1]}{0[2]}{0[3]})".format)
)
PARTS = st.tuples(SPACES, st.sampled_from([*NAMES, *NAMES, "longer", "ab-c", "", "☃"]), WEIGHTS, SPACES).map(
    "".join
)
MIXES = st.lists(st.tuples(PARTS, st.sampled_from("+-,")).map("".join), max_size=4).flatmap(
    lambda parts: PARTS.map(lambda last: "".join(parts) + last)
)
CASES = [
    "af_heart",
    "af_heart,am_adam",
    "af_heart(2)+am_adam-bf_emma",
    "af_heart(0.5)+am_adam",
    " af_heart( .5 ) + am_adam (1.5)-jf_alpha(.1)",
    "am_adam(3)",
    "af_heart(1)+am_adam(1.0)",
    "am_adam,bf_emma",
    "am_adam-bf_emma",
    "am_adam(3)-bf_emma(2)",
    "am_adam(3)-bf_emma(2.000000001)",
    "af_heart(.3)-am_adam(.2)",
    "am_adam",
    "af_heart(1.000000001)+am_adam(999.999999999)",
    "ab-c",
    "ab-c,af_heart",
    "af_heart,longer,none",
    "af_heart,longer",
    "af_heart(0)+am_adam",
    "+".join(["af_heart"] * 16),
    "+".join(["af_heart"] * 17),
    "+".join(["af_heart"] * 9_000),
    ",".join(["longer", *NAMES, "longer", "af_heart"]),
    "af_heart(1000.000000001)",
    "none(0)",
    "+af_heart",
    "af_heart(x)",
    "af_heart(1)(2)",
    "af_heart((2)",
    "af_heart--am_adam",
    "af\nheart(2)",
    "af_heart\n(2),am_adam",
    "(2)",
    ")",
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy with two more voices: one with a sign in its name, one with another number of rows."""
    folder = write_bundle(tmp_path_factory.mktemp("mixes"))
    tables = {name: np.array(Voices.open(read_bundle(folder)).table(name)) for name in NAMES}
    tables |= {"ab-c": tables["af_heart"][::-1], "longer": np.ones((511, 4))}
    tables["am_adam"][SYMBOLS - 1] = [-0.0, 1e-40, 3e38, -3e38]  # a sign, a denormal, sums that overflow
    tables["bf_emma"][SYMBOLS - 1] = [-0.0, -1e-40, 3e38, 3e38]
    write_safetensors(folder / "voices.safetensors", tables)
    entry = file_entry(folder / "voices.safetensors")
    edit_manifest(folder, lambda manifest: manifest.update(voices=entry))
    return folder


def in_python(bundle: Path, voice: str) -> str:
    """Return the expected output of the program."""
    try:
        with np.errstate(over="ignore"):
            style = style_of(Voices.open(read_bundle(bundle)).table(voice), "a" * SYMBOLS)
    except InputError as error:
        return plain(f"2 {error}")
    return "0 " + "".join(f"{bits:08x}" for bits in style.view(np.uint32))


def plain(line: str) -> str:
    """Shorten a message about a name: C suggests no names and quotes differently."""
    for kept in ("2 There is no voice", "2 The name of a voice is empty."):
        if line.startswith(kept):
            return kept
    return line


@pytest.fixture(scope="module")
def on_arm(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return how the program is started on a CPU with fused multiply-add."""
    emulator = Qemu("aarch64", "cortex-a72")
    if reason := emulator.compiler.check() or emulator.check():
        pytest.skip(reason)
    program = tmp_path_factory.mktemp("styles") / "styles"
    sources = [PROGRAM, *library_sources(LINUX)]
    compile_sources(emulator.compiler, sources, program, *STRICT, "-lpthread", "-ldl", "-lm")
    start = emulator.start(program)
    assert start is not None
    return list(start.command)


ON_ARM = pytest.param("aarch64", marks=pytest.mark.slow("runs code for other CPUs in QEMU"))


@pytest.fixture(scope="module", params=["here", ON_ARM])
def run(
    request: pytest.FixtureRequest, sanitized: Callable[[Path], Path], bundle: Path
) -> Callable[[list[str]], list[str]]:
    """Return the program's output on this machine and on arm64."""
    start = [str(sanitized(PROGRAM))] if request.param == "here" else request.getfixturevalue("on_arm")

    def run(voices: list[str]) -> list[str]:
        text = "".join(f"{voice}\0" for voice in voices)
        command = [*start, str(bundle), str(SYMBOLS)]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode().split("\0")[:-1]

    return run


def assert_equal(found: list[str], bundle: Path, voices: list[str]) -> None:
    assert [plain(line) for line in found] == [in_python(bundle, voice) for voice in voices]


def test_read_style_matches_python(run: Callable[[list[str]], list[str]], bundle: Path) -> None:
    assert_equal(run(CASES), bundle, CASES)


@settings(max_examples=25)
@given(voices=st.lists(MIXES, min_size=1, max_size=20))
def test_read_style_matches_python_on_random_mixes(
    run: Callable[[list[str]], list[str]], bundle: Path, voices: list[str]
) -> None:
    assert_equal(run(voices), bundle, voices)
