"""The whole story on a toy: a Kokoro of random weights goes through every stage, and then it speaks.

Read this first, then toys.py and conftest.py, where the toy is made. `toy_root` is what a repository looks
like to `doit`: dodo.py and recipes/. The model recipe is the shipped one with other weights (the smallest the
stock classes allow), one short utterance, and one gate each of decoder and speech for audio that is almost
noise.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from toys import PHONEMES, REPOSITORY, doit, speak, toy_model

from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.cli import main
from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.kernels.base import semantic as _semantic


def test_it_speaks(toy: Path) -> None:
    speech = speak(toy)
    assert speech.sample_rate == 24000
    assert speech.audio.dtype == np.float32
    assert speech.audio.shape == (600 * speech.durations.sum(),)
    assert np.isfinite(speech.audio).all()
    assert 0.001 < np.abs(speech.audio).max() < 10
    assert set(speech.timings) >= {"bert", "duration", "text_encoder", "f0n", "decoder"}


def test_it_was_validated(toy: Path) -> None:
    """Every artifact was measured against the stock model in float64, and so was what the bundle says."""
    work = toy.parent / ".build" / "toy"
    reports = [json.loads(path.read_text()) for path in sorted(work.glob("*/validation.json"))]
    reports.append(json.loads((work / "speech" / "speech.json").read_text()))
    assert [r["component"] for r in reports] == [*sorted(COMPONENT_AXES), "speech"]
    for report in reports:
        assert report["passed"]
        assert report["enforce"]
        assert {u["status"] for u in report["utterances"]} == {"passed"}


def test_it_says_where_it_comes_from(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bundle by its provenance, every library by itself."""
    with pytest.raises(SystemExit) as ended:
        main(["inspect", "--json", str(toy)])
    assert not ended.value.code
    result = json.loads(capsys.readouterr().out)
    later = {"hello.wav", "report.html", "provenance.json"}
    assert set(result["files"]) == {p.name for p in toy.iterdir()} - later
    assert result["recipe"]["name"] == "toy"
    assert result["synthetic"]
    work = toy.parent / ".build" / "toy"
    for name, library in result["libraries"].items():
        program = (work / name.removesuffix(".so") / "program.pt2").read_bytes()
        assert library["program"] == hashlib.sha256(program).hexdigest()
        assert f"{library['component']}-{library['bucket']}.so" == name
        assert library["toolchain"].keys() == {"apache-tvm", "apache-tvm-ffi", "torch", "llvm"}
        assert library["target"]["mcpu"]
        assert library["cpu_features"]
        assert library["schedule"] is None
    assert str(toy.parent) not in (toy / "provenance.json").read_text(encoding="utf-8")


MANY = """
import random, re, sys, warnings
from pathlib import Path
from kokoro_tvm import Synthesizer

warnings.simplefilter("ignore")
phonemes, tts = sys.argv[2], Synthesizer(sys.argv[1])
draw = random.Random(0)
for count in range(521):
    longest = count in (20, 520)
    part = phonemes if longest else phonemes[: draw.randint(1, len(phonemes))]
    tts.from_phonemes(part, speed=1.0 if longest else draw.uniform(1.0, 4.0), seed=count)
    if longest:
        print(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
def test_500_utterances_of_any_length_leave_no_memory_behind(toy: Path) -> None:
    """DeviceTensor memory after the longest of all, in KiB: said early, and again after 499 others."""
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(toy), PHONEMES], capture_output=True, text=True, check=True
    )
    before, after = map(int, done.stdout.split())
    assert after <= before + 4096


def test_a_second_run_executes_nothing(toy: Path, toy_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it does not import what takes seconds to import."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    again = doit(toy_root, "toy")
    assert again.returncode == 0
    assert re.search(r"\| +kokoro_tvm\.builder\.tasks$", again.stderr, re.MULTILINE)
    assert not re.search(r"\| +(torch|tvm|tvm_ffi|transformers|kokoro|numpy)$", again.stderr, re.MULTILINE)
    assert again.stdout.startswith(
        "Nothing to do: all 32 stages are up to date.\nThe bundle is artifacts/toy"
    )


@pytest.mark.slow("builds in a second checkout")
def test_another_checkout_builds_the_same_bytes(toy: Path, toy_root: Path, tmp_path: Path) -> None:
    """In a folder with a longer name, in another order, one after the other and not side by side."""
    other = tmp_path / "another checkout, which has a name of its own" / "repository"
    shutil.copytree(
        REPOSITORY / "kokoro_tvm", other / "kokoro_tvm", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(toy_root / "recipes", other / "recipes")
    shutil.copy(toy_root / "dodo.py", other)
    built = doit(other, "toy.pack.bert", "toy.compile.bert-64", "toy.compile.f0n-130")
    assert built.returncode == 0, built.stdout + built.stderr
    ours, theirs = (Store(root / "artifacts" / ".store") for root in (toy_root, other))
    assert len(theirs.stages()) == 9
    for stage in theirs.stages():
        one, two = ours.current(stage), theirs.current(stage)
        assert one is not None and two is not None
        assert (one.key, one.outputs) == (two.key, two.outputs), stage


def test_words_in_a_recipe_that_mean_the_same_rebuild_nothing(toy_copy: Path) -> None:
    for name in ("toy", "toy-model"):
        path = toy_copy / "recipes" / f"{name}.yaml"
        result = yaml.safe_load(path.read_text(encoding="utf-8"))
        reordered = dict(reversed(result.items()))
        text = yaml.safe_dump(reordered, sort_keys=False, allow_unicode=True)
        path.write_text(f"# changed\n{text}", encoding="utf-8")
    assert "Nothing to do" in doit(toy_copy, "toy").stdout


@pytest.mark.slow("builds a stage again")
def test_only_what_is_damaged_is_restored_or_built_again(toy: Path, toy_copy: Path) -> None:
    bundle = toy_copy / "artifacts" / "toy"
    store = Store(toy_copy / "artifacts" / ".store")
    packed = store.current("toy.pack.f0n")
    assert packed is not None
    (toy_copy / "artifacts" / ".build" / "toy" / "bert-64" / "bert-64.so").unlink()
    store.object(packed.sha256("f0n.safetensors")).chmod(0o644)
    with store.object(packed.sha256("f0n.safetensors")).open("r+b") as stream:
        stream.write(b"?")
    before = (bundle / "bundle.json").read_bytes()
    again = doit(toy_copy, "toy").stdout
    assert "1 stage built, 2 restored, 29 up to date (" in again
    assert re.search(r"toy\.compile\.bert-64 +restored", again)
    assert re.search(r"toy\.pack\.f0n +done", again)
    assert re.search(r"toy\.bundle +restored", again), "its weights were the same damaged file"
    assert (bundle / "bundle.json").read_bytes() == before
    assert np.array_equal(speak(bundle).audio, speak(toy).audio)


def test_the_bundle_can_be_copied_elsewhere(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "copy")
    assert np.array_equal(speak(tmp_path / "copy").audio, speak(toy).audio)


@pytest.mark.slow("builds the toy with every length policy")
def test_masked_says_the_same_bit_for_bit_in_every_bucket(others: Path, tmp_path: Path) -> None:
    """And the same as `exact`, which knows no buckets."""
    larger = tmp_path / "larger"
    shutil.copytree(others / "masked", larger)
    manifest = json.loads((larger / "bundle.json").read_text())
    for component in manifest["components"].values():
        assert [library["bucket"] for library in component["libraries"]] in ([16, 32], [64, 72])
        del component["libraries"][0]
    (larger / "bundle.json").unlink()  # a bundle is read-only
    (larger / "bundle.json").write_text(json.dumps(manifest))
    exact = speak(others / "toy")
    for bundle in (others / "masked", larger):
        speech = speak(bundle)
        assert np.array_equal(speech.durations, exact.durations)
        assert np.array_equal(speech.audio, exact.audio)


def test_the_ir_can_be_looked_at_after_every_phase(toy: Path, toy_root: Path, tmp_path: Path) -> None:
    words = ["build", "--root", str(toy_root), "--dump-ir", str(tmp_path), "toy/text_encoder-64"]
    store = Store(toy.parent / ".store")
    before = list(store.records())
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    phases = ["import", *toy_model()["passes"]]
    assert sorted(p.name for p in tmp_path.glob("*.py")) == [f"{i:02d}-{p}.py" for i, p in enumerate(phases)]
    assert "def text_encoder_forward" in (tmp_path / "00-import.py").read_text(encoding="utf-8")
    assert list(store.records()) == before


@pytest.mark.slow("computes every value of a component")
def test_values_inside_are_probed(toy: Path, toy_root: Path, tmp_path: Path) -> None:
    """Every value of a component beside PyTorch's, and what a wrong kernel makes of it."""
    words = [
        "probe",
        "--root",
        str(toy_root),
        "toy/text_encoder",
        "--every",
        "--json",
        str(tmp_path / "x.json"),
    ]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    found = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert found["first_diverging"] is None
    assert found["utterance"] == "hello"
    assert len(found["values"]) == found["wanted"] > 5
    assert all(value["error"] < 1e-5 for value in found["values"])


def test_a_wrong_kernel_is_found(
    toy: Path, toy_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = _semantic._REGISTRY["layer_norm"]

    def kernel(call: _semantic.OpCall) -> Any:
        return sound.cpu.build(replace(call, attributes={**call.attributes, "slope": 0.5}))

    slanted = replace(sound, cpu=_semantic.OpImplementation(kernel))
    monkeypatch.setitem(_semantic._REGISTRY, "layer_norm", slanted)
    with pytest.raises(SystemExit) as ended:
        main(["probe", "--root", str(toy_root), "toy/text_encoder-64"])
    assert ended.value.code == 4
    assert "toy/text_encoder-64: text_encoder/layer_norm is the first value" in capsys.readouterr().err


def test_the_report_is_a_page_beside_the_bundle(toy: Path, toy_root: Path) -> None:
    """Made when it is asked for, and not again while nothing it tells has changed."""
    made = doit(toy_root, "report")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "toy.report" in made.stdout
    assert "The report is artifacts/toy/report.html" in made.stdout
    page = (toy / "report.html").read_text(encoding="utf-8")
    assert PHONEMES in page
    assert "../.build/toy/decoder-130/compile.log" in page
    assert "Nothing to do" in doit(toy_root, "toy.report").stdout


@pytest.mark.slow("builds the toy with every length policy")
def test_padded_speaks_too(others: Path) -> None:
    """Its padding changes what it says; its gates only report, or it would not have been built."""
    speech = speak(others / "padded")
    assert np.isfinite(speech.audio).all()
    report = json.loads((others / ".build" / "padded" / "decoder-64" / "validation.json").read_text())
    assert not report["enforce"]
