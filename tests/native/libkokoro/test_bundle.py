"""Bundles of recipes with `runtime: {c: true}`."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from calls import timeline
from toys import PHONEMES, RECIPES, TARGET, doit, toy_model

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.native.libkokoro import HEADER, LINUX, compile_libkokoro
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.runtime import read_bundle, write_wav
from kokoro_tvm.runtime.bundle.provenance import verify_provenance

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
LIBRARY, PROGRAM = LINUX.library, LINUX.program


def add_recipe(root: Path, name: str, **fields: object) -> None:
    text = yaml.safe_dump(TARGET | RECIPES["toy"] | {"runtime": {"c": True}} | fields)
    (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")


@pytest.mark.slow("builds another bundle of the toy")
@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
def test_bundle_speaks_with_its_own_files(toy_copy: Path, here: CCompiler, tmp_path: Path) -> None:
    add_recipe(toy_copy, "spoken")
    built = doit(toy_copy, "spoken")
    assert built.returncode == 0, built.stdout + built.stderr
    bundle = toy_copy / "artifacts" / "spoken"
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    assert [entry["file"] for entry in manifest["libkokoro"]] == [LIBRARY, PROGRAM, HEADER]
    for entry in [*manifest["libkokoro"], manifest["ffi"], manifest["runtime"]]:
        assert hashlib.sha256((bundle / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
    provenance = verify_provenance(read_bundle(bundle))
    assert {LIBRARY, PROGRAM, HEADER, "libtvm_ffi.so"} <= set(provenance.subjects)
    assert provenance.tools["c"] == here.version()

    moved = tmp_path / "moved"
    shutil.copytree(bundle, moved)
    (moved / PROGRAM).chmod(0o755)
    synthesizer = Synthesizer(bundle)
    speech = synthesizer.from_phonemes(PHONEMES, seed=3)
    write_wav(tmp_path / "expected.wav", speech.audio, speech.sample_rate)
    command = [moved / PROGRAM, moved, "--phonemes", PHONEMES, "--words"]
    command += ["--seed", "3", "-o", tmp_path / "out.wav"]
    unset = ("TVM_LIBRARY_PATH", "LD_LIBRARY_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"speak: {moved} was built from synthetic (random) weights: this is not speech.\n"
    assert done.stdout.splitlines() == timeline(speech)
    assert (tmp_path / "out.wav").read_bytes() == (tmp_path / "expected.wav").read_bytes()


@pytest.mark.slow("compiles libkokoro again")
def test_libkokoro_is_compiled_reproducibly(built: Path, here: CCompiler, tmp_path: Path) -> None:
    compile_libkokoro(here, tmp_path, *STRICT)
    for file in (LIBRARY, PROGRAM):
        assert (tmp_path / file).read_bytes() == (built / file).read_bytes()


def test_recipe_refuses_an_unsupported_target(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    model = yaml.safe_dump(toy_model(), allow_unicode=True)
    (tmp_path / "recipes" / "toy-model.yaml").write_text(model, encoding="utf-8")
    add_recipe(tmp_path, "phone", target={"kind": "llvm", "mcpu": "apple-m1", "mtriple": "arm64-apple-ios"})
    with pytest.raises(RecipeError, match=r"libkokoro is for Linux on .*, not for iOS on aarch64; leave"):
        load_recipe("phone", tmp_path / "recipes")
