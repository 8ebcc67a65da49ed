"""Every shipped recipe builds, on a toy, what its target says: as far as this machine can run it."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import elsewhere
import numpy as np
import pytest
import soundfile
import yaml
from test_vectors import EVEX
from toys import PHONEMES, REPOSITORY, ROUNDED, SHORT, copy_repository, doit, speak, toy_model
from toys import RECIPES as TOYS

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.recipe import Recipe, list_recipes, load_recipe, read_recipe
from kokoro_tvm.runtime import SpeechWarning, write_wav
from kokoro_tvm.runtime.bundle.manifest import read_bundle
from kokoro_tvm.targets import find_runner, resolve, tools_for
from kokoro_tvm.targets.cpu import LlvmTarget
from kokoro_tvm.targets.runners.qemu import Qemu

pytestmark = pytest.mark.slow("builds the toy for other machines")

RECIPES = REPOSITORY / "recipes"
NATIVE = ("cpu", "cpu-listened", "cpu-masked", "cpu-padded")  # test_tiny.py builds for it, all policies
SHIPPED = [name for name in list_recipes(RECIPES) if name not in NATIVE]
LENGTHS = TOYS["toy"]  # so the exported programs are the same


def obstacle(recipe: Recipe) -> str:
    """Why this machine cannot run what the recipe builds; empty where it can."""
    runner, _ = find_runner(recipe.target.model_dump(mode="json"))
    if runner is None or runner.needs_runtime:
        return elsewhere.obstacle(recipe.name) or ""
    try:
        machine = resolve(recipe.target, recipe.precision)
    except BuildError as error:
        return str(error)
    missing = set(machine.required) - (features_of_cpu() or frozenset())
    return f"this CPU lacks {', '.join(sorted(missing))}" if missing else ""


@pytest.fixture(scope="module")
def root(toy_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the shipped recipes, each of the toy, whose programs and references are there."""
    root = copy_repository(toy_root, tmp_path_factory.mktemp("portable") / "repository")
    recipes: dict[str, Any] = {}
    for name in SHIPPED:
        result = read_recipe(name, RECIPES).target.data()
        rounded = {"gates": ROUNDED} if result["precision"] != "float32" else {}
        result.pop("utterances", None)  # the toy has one
        recipes[name] = result | LENGTHS | {"model": "toy-model"} | rounded
        if "emulate" in result["target"].get("host", {}):
            recipes[name]["model"] = "short-model"
    recipes["short-model"] = toy_model(SHORT)
    for name, result in recipes.items():
        text = yaml.safe_dump(result, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def build(root: Path) -> Callable[[str], Path]:
    """Builds the bundle of a recipe, once; skips where it would not run."""

    @cache
    def built(name: str) -> Path:
        if reason := obstacle(load_recipe(name, RECIPES)):
            pytest.skip(reason)
        done = doit(root, "-n", "2", name)
        assert done.returncode == 0, done.stdout + done.stderr
        return root / "artifacts" / name

    return built


# The others are the same code with wider vectors, which tests/kernels has every operation of.
EVERY_RUN = "x86-64-v3"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == EVERY_RUN else pytest.mark.nightly) for name in SHIPPED],
)
def test_it_builds_and_speaks(name: str, build: Callable[[str], Path]) -> None:
    recipe, bundle = load_recipe(name, RECIPES), build(name)
    result = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    assert (result["recipe"], result["precision"], result["not_run"]) == (name, recipe.precision, None)
    report = json.loads((bundle.parent / ".build" / name / "speech/speech.json").read_text(encoding="utf-8"))
    runner, _ = find_runner(recipe.target.model_dump(mode="json"))
    assert runner is not None
    assert report["runner"] == runner.version()
    if not runs_natively(recipe):
        audio, _ = soundfile.read(bundle / "hello.wav", dtype="float32")
        assert np.abs(audio).max() > 0.001
        return
    assert set(result["cpu_features"]) <= (features_of_cpu() or set(result["cpu_features"]))
    speech = speak(bundle)
    assert len(speech.durations) == len(PHONEMES) + 2
    assert np.isfinite(speech.audio).all()
    assert np.abs(speech.audio).max() > 0.001


def runs_natively(recipe: Recipe) -> bool:
    machine = resolve(recipe.target, recipe.precision)
    is_here = isinstance(recipe.target, LlvmTarget) and recipe.target.is_native
    return is_here and set(machine.required) <= (features_of_cpu() or set())


@pytest.mark.nightly
def test_what_is_emulated_is_to_the_last_bit_what_runs_here(build: Callable[[str], Path]) -> None:
    name = "x86-64-v2"
    if not runs_natively(load_recipe(name, RECIPES)):
        pytest.skip("this is no x86-64 machine")
    bundle = build(name)
    emulated, _ = soundfile.read(bundle / "hello.wav", dtype="int16")
    with pytest.warns(SpeechWarning, match="random"):
        here = Synthesizer(bundle).from_phonemes(PHONEMES, voice="af_heart")
    write_wav(bundle.parent / "here.wav", here.audio, here.sample_rate)
    natively, _ = soundfile.read(bundle.parent / "here.wav", dtype="int16")
    assert np.array_equal(emulated, natively)


@pytest.mark.nightly
def test_what_is_for_servers_is_refused_elsewhere(build: Callable[[str], Path], tmp_path: Path) -> None:
    name = "linux-arm64-server"
    bundle, older = read_bundle(build(name)), Qemu("aarch64", "cortex-a72")
    with pytest.raises(BundleError) as caught:
        older.session(bundle, 1, elsewhere.runtime_of(name, tmp_path))
    assert str(caught.value) == (
        f"{bundle.root} (recipe {name}) was built for a processor with bf16, complxnum, dotprod, flagm, "
        f"fp16fml, fullfp16, i8mm, jsconv, lse, rcpc, rcpc-immo, rdm, which {older.version()} lacks."
    )
    assert caught.value.exit_code == 5


# Instructions above a level, by mnemonic or registers. `tzcnt` is how `rep bsf` is shown, which every x86-64
# CPU has.
ABOVE = {
    "x86-64-v2": r"\t(?:v[a-z]\w*|andn|bextr|bls(?:i|r|msk)|bzhi|pdep|pext|rorx|sarx|shlx|shrx|mulx)[lqw]?\s|"
    rf"\t(?:lzcnt|movbe)|{EVEX}",
    "linux-arm64": r"\b[zp]\d+\.[bhsd]\b|\tf[a-z]+\tv\d+\.[48]h|"
    r"\t(?:[su]dot|bf[a-z]+t|[us]mmla|aes|sha\d|crc32|cas|swp|ld(?:add|set|clr)|sqrdml|fcmla|fcadd|fjcvt)",
    # No scalable vectors, and nothing of what the recipe takes away.
    "linux-arm64-server": r"\b[zp]\d+\.[bhsd]\b|\t(?:ptrue|cnt[bhwd]|rdvl|addvl|aes|sha\d|sm[34]|crc32)",
    # Neither vectors nor what later extensions do with bits, choices and half floats.
    "linux-riscv64": r"\t(?:v[a-z]|sh[123]add|\w+\.uw|andn|orn|xnor|c[lt]z|cpop|maxu?\s|minu?\s|sext\.[bh]|"
    r"zext\.h|ro[lr]|rev8|orc\.b|b(?:clr|ext|inv|set)|czero|fl[hi]|fsh|f\w+\.h)",
    # Apple's M1 is ARMv8.4, without BF16, products of 8-bit matrices and scalable vectors.
    "macos-arm64": r"\b[zp]\d+\.[bhsd]\b|\t(?:bf[a-z]+t|[us]u?mmla|ldapp|ldiapp)",
    "windows-x86-64": EVEX,
}
PRESENT = {
    "x86-64-v2": r"\tmulps",
    "linux-arm64": r"\tfmla\tv\d+\.4s",
    "linux-arm64-server": r"\tfmla\tv\d+\.4s",
    "linux-riscv64": r"\tfmadd\.s",
    "macos-arm64": r"\tfmla\tv\d+\.4s",
    "windows-x86-64": r"%ymm",
}
OBJDUMP = {
    "x86-64-v2": "objdump",
    "linux-arm64": "aarch64-linux-gnu-objdump",
    "linux-arm64-server": "aarch64-linux-gnu-objdump",
    "linux-riscv64": "riscv64-linux-gnu-objdump",
    "macos-arm64": "aarch64-linux-gnu-objdump",
    "windows-x86-64": "x86_64-w64-mingw32-objdump",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ABOVE)
def test_no_library_has_an_instruction_above_its_level(
    name: str, build: Callable[[str], Path], tmp_path: Path
) -> None:
    if shutil.which(OBJDUMP[name]) is None:
        pytest.skip(f"no {OBJDUMP[name]} (Debian: the package binutils of the architecture)")
    found = 0
    suffix = tools_for(load_recipe(name, RECIPES).target).toolchain().suffix
    for library in sorted(build(name).glob(f"*-[0-9]*{suffix}")):  # what was compiled, not libtvm_runtime
        words = ["--disassemble", str(library)]
        if suffix == ".dylib":
            (tmp_path / "code").write_bytes(text_of_macho(library.read_bytes()))
            words = ["--disassemble-all", "--target=binary", "--architecture=aarch64", str(tmp_path / "code")]
        command = [OBJDUMP[name], "--no-show-raw-insn", *words]
        code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert not re.findall(ABOVE[name], code), library.name
        found += len(re.findall(PRESENT[name], code))
    assert found > 100


def text_of_macho(content: bytes) -> bytes:
    """The section `__text` of a library for macOS, which objdump does not read."""
    at, (commands,) = 32, struct.unpack_from("<I", content, 16)
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", content, at)
        if command == 0x19:  # LC_SEGMENT_64, whose sections follow
            (sections,) = struct.unpack_from("<I", content, at + 64)
            for section in range(at + 72, at + 72 + 80 * sections, 80):
                if content[section : section + 16].rstrip(b"\0") == b"__text":
                    length, offset = struct.unpack_from("<QI", content, section + 40)
                    return content[offset : offset + length]
        at += size
    raise AssertionError("no __text")


def test_no_library_of_x86_64_v3_has_an_instruction_of_avx512(build: Callable[[str], Path]) -> None:
    for library in sorted(build(EVERY_RUN).glob("*-*.so")):  # what was compiled, not libtvm_runtime
        command = ["objdump", "--disassemble", "--no-show-raw-insn", str(library)]
        code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "%ymm" in code, library.name
        assert not re.search(EVEX, code), library.name
