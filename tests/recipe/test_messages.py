"""The text of errors: golden files pin every word, and the place is that of the fault."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.spec import PATTERNS
from kokoro_tvm.recipe import json_schema, load_recipe

GOLDEN = Path(__file__).parent / "golden"
RECIPES = Path(__file__).parent / "recipes"
Refusal = Callable[..., RecipeError]

# Golden file: the recipe spoiled, what is replaced in it, and by what.
SPOILED = {
    "unknown-key": ("here", "tokens:", "toknes:"),
    "unknown-key-at-the-top": ("here", "buckets:", "bucket:"),
    "unknown-key-far-from-any": ("here", "length:", "zzz:"),
    "missing-key": ("here", "kind: llvm, ", ""),
    "unknown-target-kind": ("here", "llvm", "vulkan"),
    "unknown-cpu": ("here", "native", "natvie"),
    "unknown-gpu-architecture": (
        "here",
        "{kind: llvm, mcpu: native}",
        "{kind: cuda, arch: [sm90], host: {kind: llvm, mcpu: native}}",
    ),
    "unknown-gpu": (
        "here",
        "{kind: llvm, mcpu: native}",
        "{kind: cuda, arch: [sm_80, sm_1], host: {kind: llvm, mcpu: native}}",
    ),
    "unknown-cpu-of-a-triple": ("full", "znver5", "znver55"),
    "cpu-of-another-architecture": ("full", "x86_64-linux-gnu", "aarch64-linux-gnu"),
    "cpu-far-from-any": ("full", "znver5", "quux"),
    "unknown-cpu-feature": ("full", "+avx512f", "+avx2000"),
    "cpu-feature-of-another-architecture": ("full", "+avx512f", "+neon"),
    "cpu-feature-of-a-host": (
        "here",
        "{kind: llvm, mcpu: native}",
        "{kind: metal, host: {kind: llvm, mcpu: apple-m1, mtriple: arm64-apple-macos11.0, mattr: [+neom]}}",
    ),
    "cpu-feature-added-and-removed": ("full", "[+avx512f, -sse4a]", "[+fma, -fma]"),
    "unknown-architecture": ("full", "x86_64-linux-gnu", "x86_46-linux-gnu"),
    "unknown-system": ("full", "x86_64-linux-gnu", "x86_64-linxu-gnu"),
    "unknown-system-behind-a-vendor": ("full", "x86_64-linux-gnu", "x86_64-pc-windos-msvc"),
    "unknown-environment": ("full", "x86_64-linux-gnu", "x86_64-linux-gnuu"),
    "environment-of-another-system": ("full", "x86_64-linux-gnu", "x86_64-apple-macos11.0-gnu"),
    "unknown-tvm-pass": ("full", "[FuseOps]", "[FuseOps, tirx.NoSuchPass]"),
    "c-in-browsers": (
        "here",
        "mcpu: native}",
        "mcpu: generic, mtriple: wasm32-unknown-unknown}\nruntime: {c: true}",
    ),
    "c-for-a-gpu": (
        "here",
        "{kind: llvm, mcpu: native}",
        "{kind: cuda, host: {kind: llvm, mcpu: native}}\nruntime: {c: true}",
    ),
    "native-with-a-triple": ("here", "native", "native, mtriple: aarch64-linux-gnu"),
    "unknown-length": ("here", "exact", "exat"),
    "unknown-precision": ("full", "precision: float32", "precision: bfloat"),
    "gate-is-null": ("full", "f0n: {min_snr_db: 70}", "f0n: null"),
    "unknown-model": ("here", "model: toy", "model: tyo"),
    "bucket-of-zero": ("here", "[128, 512]", "[0, 512]"),
    "bucket-of-6000": ("here", "5120", "6000"),
    "buckets-shrink": ("here", "[128, 512]", "[512, 128]"),
    "buckets-empty": ("here", "[128, 512]", "[]"),
    "bucket-is-text": ("here", "[128, 512]", '["128", 512]'),
    "bucket-is-no-list": ("here", "[128, 512]", "512"),
    "two-faults": ("here", "[128, 512], frames: [256, 5120]", "[513], frames: [0]"),
    "boolean-trap": ("here", "exact", "no"),
    "sexagesimal": ("here", "[128, 512]", "[2:08]"),
    "octal": ("here", "[128, 512]", "[0128]"),
    "no-value": ("here", "exact", ""),
    "null": ("here", "exact", "~"),
    "anchor": ("here", "[128, 512]", "&t [128]"),
    "alias": ("here", "[128, 512]", "*t"),
    "tag": ("here", "exact", "!!python/name:os.system exact"),
    "tab": ("here", "length: exact", "length:\texact"),
    "duplicate-key": ("here", "length: exact", "length: exact\nlength: exact"),
    "second-document": ("here", "length: exact", "---\nlength: exact"),
    "merge-key": ("here", "length: exact", "<<: {length: exact}"),
    "never-closed": ("here", "5120]}", "5120"),
    "closed-twice": ("here", "5120]", "5120]]"),
    "no-colon": ("here", "length: exact", "length exact"),
    "no-space-after-colon": ("here", "mcpu: native", "mcpu:"),
    "two-colons": ("here", "length: exact", "length: exact: no"),
    "item-beside-its-key": ("here", "length: exact", "passes: - fuse"),
    "key-after-items": ("here", "length: exact", "passes:\n  - fuse\n  narrow: 1"),
    "indentation": ("here", "length: exact", "gates:\n    f0n: {min_snr_db: 1}\n  bert: {min_snr_db: 1}"),
    "quote-left-open": ("here", "exact", '"exact'),
    "escape": ("here", "exact", '"C:\\zoo"'),
    "unknown-utterance": ("here", "length: exact", "length: exact\nutterances: [short, nasl]"),
    "cpu-by-its-makers-name": ("here", "mcpu: native", "mcpu: zen4, mtriple: x86_64-linux-gnu"),
    "value-not-indented": ("here", "buckets: {tokens: [128, 512], ", "buckets:\nframes: [1]\n#"),
    "emulated-by-a-path": ("here", "mcpu: native", "mcpu: native, emulate: ../cortex"),
    "target-as-model": ("here", "model: toy", "model: full"),
    "word-is-a-list": ("here", "exact", "[exact]"),
    "boolean-in-quotes": ("full", "enforce: false", 'enforce: "false"'),
    "unknown-patch": ("full", "decoder: [snake_resblock]", "decoder: [snake_resblok]"),
    "unknown-component": ("full", "patches: {decoder", "patches: {decodr"),
    "unknown-gate": ("full", "speech:", "speach:"),
    "unknown-pass": ("full", "[fuse, narrow]", "[fuse, narow]"),
    "pass-twice": ("full", "[fuse, narrow]", "[fuse, fuse]"),
    "pass-option": ("full", "a.number: 2", "a.number: [2]"),
    "cpu-feature": ("full", "+avx512f", "avx512f"),
    "padded-enforced": ("full", "length: masked", "length: padded"),
    "precision-of-another-kind": (
        "here",
        "{kind: llvm, mcpu: native}",
        "{kind: cuda, host: {kind: llvm, mcpu: native}}\nprecision: bfloat16",
    ),
    "c-with-weight-bits": (
        "full",
        "timeout_s: 60",
        "runtime: {c: true}\nweight_bits: {decoder: 10}\ntimeout_s: 60",
    ),
    "too-few-weight-bits": ("full", "timeout_s: 60", "weight_bits: {decoder: 4}\ntimeout_s: 60"),
    "timeout-is-fractional": ("full", "timeout_s: 60", "timeout_s: 60.5"),
    "source-kind": ("toy", "kind: npm", "kind: nmp"),
    "source-without-kind": ("toy", "kind: npm", "knd: npm"),
    "synthetic-behind-real": (
        "toy",
        "{kind: file, path: toy.onnx, sha256",
        "{kind: synthetic, size: toy} # sha256",
    ),
    "version-is-a-number": ("toy", "version: 1.0.0", "version: 1.0"),
    "voice-listed-twice": ("toy", "[af_heart, ff_siwis]", "[af_heart, af_heart]"),
    "sha256-cut": ("toy", "sha256: 8fbea51e", "sha256: 8FBEA51E"),
    "wrong-axis": ("toy", "bert: {axis: tokens", "bert: {axis: frames"),
    "combining-mark": ("toy", "voice: ff_siwis", "voice: siwis"),
    "speed-not-finite": ("toy", "speed: 0.9", "speed: .inf"),
    "utterance-twice": ("toy", "name: nasal", "name: short"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_recipe_says_where_and_what_to_write(name: str, refusal: Refusal) -> None:
    recipe, old, new = SPOILED[name]
    text = (RECIPES / f"{recipe}.yaml").read_text(encoding="utf-8")
    assert text.count(old) >= 1
    text = text.replace(old, new, 1)
    if name == "padded-enforced":
        text = text.replace("enforce: false", "enforce: true")
    _compare(name, str(refusal(text, f"{recipe}.yaml")))


def test_every_pattern_is_said_in_words() -> None:
    """Where one has none, a value that it refuses would be a fault of ours."""

    def patterns(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (value for key, value in node.items() if key == "pattern" and isinstance(value, str))
            node = list(node.values())
        if isinstance(node, list):
            for part in node:
                yield from patterns(part)

    assert set(patterns(json_schema())) <= set(PATTERNS)


UNREADABLE: dict[str, str | bytes] = {
    "empty": "",
    "only-comments": "# nothing\n\n# here\n",
    "a-list": "- model: toy\n",
    "not-utf-8": b"model: toy\nlength: \xff\xfe\n",
    "utf-16": b"\xff\xfem\0o\0d\0e\0l\0:\0 \0t\0o\0y\0",
    "control-character": "model: toy\nlength: ex\x07act\n",
    "hidden-control-character": 'model: "to\\0y"\n',
    "directive": "%YAML 1.1\n---\nmodel: toy\n",
    "too-deep": "model: " + "[" * 200_000,
    "too-many-values": "model: [" + "1," * 60_000 + "1]\n",
    "too-large": "# " + "x" * (256 * 1024) + "\n",
    "huge-number": "timeout_s: " + "9" * 400 + "\n",
    "date": "model: 2026-01-31\n",
    "key-is-a-list": "[model]: toy\n",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_file_says_why(name: str, refusal: Refusal) -> None:
    _compare(name, str(refusal(UNREADABLE[name])))


NAMES = {
    "unknown-recipe": "hree",
    "model-named": "toy",
    "no-such-file": "gone.yaml",
    "a-folder": "sub/",
    "nul": "a\0.yaml",
}


@pytest.mark.parametrize("name", NAMES)
def test_unknown_recipe_is_reported(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    (root / "sub").mkdir()
    with pytest.raises(RecipeError) as caught:
        load_recipe(NAMES[name], Path())
    _compare(name, str(caught.value))


# Golden file: files beside those of the folder; `mine` is loaded.
COMPOSED = {
    "extends-in-a-circle": {"mine": "extends: other\n", "other": "extends: [here, mine]\n"},
    "extends-itself": {"mine": "extends: mine\n"},
    "extends-too-deep": {
        "mine": "extends: a16\n",
        **{f"a{n}": f"extends: {f'a{n - 1}' if n else 'here'}\n" for n in range(17)},
    },
    "extends-nothing-there": {"mine": "extends: hree\n"},
    "extends-no-name": {"mine": "extends: {model: toy}\n"},
    "extends-none": {"mine": "extends: []\n"},
    "extends-a-model": {"mine": "extends: toy\nbuckets: {tokens: [64], frames: [256]}\n"},
    "fault-in-what-is-extended": {
        "mine": "extends: other\nlength: masked\n",
        "other": "extends: here\nbuckets: {frames: [6000]}\n",
    },
    "faults-in-both": {
        "mine": "extends: other\n\n\n\nlength: maskd\n",
        "other": "extends: here\nbuckets: {frames: [0]}\n",
    },
    "gates-of-no-set": {"mine": "extends: here\ngates: bfloat17\nmodel: named\n"},
    "gates-without-sets": {"mine": "extends: here\ngates: {extends: bfloat16}\n"},
    "gates-in-a-circle": {
        "mine": "extends: here\ngates: a\nmodel: named\n",
        "named": "extends: toy\ngate_sets: {a: {extends: b}, b: {extends: a}}\n",
    },
    "fault-in-a-set-of-gates": {
        "mine": "extends: here\ngates: a\nmodel: named\n",
        "named": "extends: toy\ngate_sets: {a: {decodr: {min_snr_db: 1}}}\n",
    },
    "matrix-of-ten-thousand": {
        "matrix": f"extends: here\nmatrix: {{timeout_s: {[*range(1, 101)]}, target.mcpu: {[*range(100)]}}}\n",
        "mine": "extends: matrix\n",
    },
    "matrix-extended-as-one": {
        "matrix": "extends: here\nmatrix: {length: [exact, masked]}\n",
        "mine": "extends: matrix\n",
    },
    "matrix-loaded-as-one": {"mine": "extends: here\nmatrix: {length: [exact, masked]}\n"},
    "matrix-of-unknown-field": {"a": "extends: here\nmatrix: {target.mcup: {mine: native}}\n"},
    "matrix-choice-without-label": {"mine": "extends: here\nmatrix: {target: [{mcpu: native}]}\n"},
    "matrix-choice-twice": {"mine": "extends: here\nmatrix: {length: [exact, exact]}\n"},
    "matrix-without-choices": {"mine": "extends: here\nmatrix: {length: exact}\n"},
    "matrix-without-fields": {"mine": "extends: here\nmatrix: {exclude: []}\n"},
    "matrix-is-a-list": {"mine": "extends: here\nmatrix: [length]\n"},
    "matrix-name-of-no-field": {
        "mine": 'extends: here\nmatrix: {length: [exact, masked], name: "mine-{lenght}"}\n'
    },
    "matrix-name-of-two-fields": {
        "mine": 'extends: here\nmatrix: {target.mcpu: [native], target.host.mcpu: [native], name: "{mcpu}"}\n'
    },
    "matrix-name-that-cannot-be": {"mine": "extends: here\nmatrix: {target.mcpu: [Native]}\n"},
    "matrix-names-alike": {"a": "extends: here\nmatrix: {length: [exact, masked], name: mine}\n"},
    "matrix-excludes-all": {
        "mine": "extends: here\nmatrix:\n  length: [exact]\n  exclude: [{length: exact}]\n"
    },
    "matrix-excludes-no-choice": {
        "mine": "extends: here\nmatrix:\n  length: [exact, masked]\n  exclude: [{length: maskd}]\n"
    },
    "two-recipes-of-one-name": {
        "mine": "extends: here\n",
        "several": "extends: here\nmatrix:\n  length: {mine: masked, yours: exact}\n",
    },
    "difference-lacks-a-key": {"mine": "extends: here\ntarget: {kind: metal}\n"},
}


@pytest.mark.parametrize("name", COMPOSED)
def test_a_fault_is_shown_in_the_file_that_has_it(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    named = "extends: toy\ngate_sets: {bfloat16: {decoder: {min_snr_db: 20}}}\n"
    for recipe, text in ({"named": named} | COMPOSED[name]).items():
        (root / f"{recipe}.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load_recipe("mine", Path())
    _compare(name, str(caught.value))


TRIED = {
    "override-of-no-field": "bukets.frames=[512]",
    "override-of-no-inner-field": "buckets.frame=[512]",
    "override-out-of-range": "buckets.frames=[6000]",
    "override-without-value": "buckets.frames",
    "override-that-is-not-yaml": "buckets.frames=[512",
    "override-of-a-set": "sets=[ci]",
}


@pytest.mark.parametrize("name", TRIED)
def test_an_override_is_shown_as_it_was_read(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    with pytest.raises(RecipeError) as caught:
        load_recipe("here", Path(), [TRIED[name]])
    _compare(name, str(caught.value))


def test_no_golden_file_is_left_over() -> None:
    there = {path.stem for path in GOLDEN.glob("*.txt")}
    assert there == {*SPOILED, *UNREADABLE, *NAMES, *COMPOSED, *TRIED}


def test_error_carries_its_place(refusal: Refusal) -> None:
    error = refusal((RECIPES / "here.yaml").read_text().replace("5120", "6000"))
    assert (error.path, error.line, error.column) == ("here.yaml", 4, 45)  # type: ignore[attr-defined]
    assert error.exit_code == 2


def test_caret_stands_under_the_word_behind_combining_marks(refusal: Refusal) -> None:
    text = (RECIPES / "toy.yaml").read_text(encoding="utf-8").replace("voice: ff_siwis", "voice: siwis")
    _, line, caret = str(refusal(text, "toy.yaml")).split("\n")
    assert line.index("siwis") == caret.index("^") + 1  # one combining tilde before it takes no column


def test_long_line_is_cut_around_the_fault(refusal: Refusal) -> None:
    _, line, caret = str(refusal(f"a: {'x' * 9_000}\nb: [{'1, ' * 1_000}no]\n")).split("\n")
    assert len(line) < 120
    assert line[caret.index("^") :].startswith("no")


def _compare(name: str, message: str) -> None:
    """Against golden/NAME.txt; GOLDEN=write in the environment writes it (then read the diff)."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(message + "\n", encoding="utf-8")
    assert message + "\n" == path.read_text(encoding="utf-8")
