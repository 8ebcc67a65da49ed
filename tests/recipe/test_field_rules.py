"""Rules that recipes must meet: between fields, of names, and between files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe import check_file, load_recipe

RECIPES = Path(__file__).parent / "recipes"


@pytest.fixture(autouse=True)
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of recipes, so that messages have short paths."""
    monkeypatch.chdir(root)


@pytest.mark.parametrize(
    ("recipe", "old", "new", "message"),
    [
        (
            "here",
            "{kind: llvm, mcpu: native}",
            "{kind: cuda, arch: [sm90], host: {kind: llvm, mcpu: native}}",
            "`target.arch[0]`: `sm90` is not a GPU architecture as NVIDIA spells it, such as sm_90.",
        ),
        (
            "here",
            "{kind: llvm, mcpu: native}",
            "{kind: cuda, arch: [sm_80, sm_1], host: {kind: llvm, mcpu: native}}",
            "`target.arch[1]`: unknown GPU architecture `sm_1`; did you mean `sm_100`?",
        ),
        (
            "full",
            "x86_64-linux-gnu",
            "aarch64-linux-gnu",
            "`target.mcpu`: `znver5` is a CPU of x86_64, not of aarch64; write `mtriple: x86_64-linux-gnu`.",
        ),
        (
            "full",
            "znver5",
            "quux",
            "`target.mcpu`: unknown x86_64 CPU `quux`; none of the 132 that there are is like it.",
        ),
        (
            "full",
            "+avx512f",
            "+avx2000",
            "`target.mattr[0]`: unknown x86_64 CPU feature `+avx2000`; did you mean `+avx2`?",
        ),
        (
            "full",
            "+avx512f",
            "+neon",
            "`target.mattr[0]`: `neon` is a feature of aarch64, not of x86_64; leave it out.",
        ),
        (
            "here",
            "{kind: llvm, mcpu: native}",
            "{kind: metal, host: {kind: llvm, mcpu: apple-m1, mtriple: arm64-apple-ios14.0, mattr: [+neom]}}",
            "`target.host.mattr[0]`: unknown aarch64 CPU feature `+neom`; did you mean `+neon`?",
        ),
        (
            "full",
            "[+avx512f, -sse4a]",
            "[+fma, -fma]",
            "`target.mattr[1]`: `-fma` contradicts `+fma`; keep one of them.",
        ),
        (
            "full",
            "x86_64-linux-gnu",
            "x86_46-linux-gnu",
            "`target.mtriple`: unknown architecture `x86_46`; did you mean `x86_64`?",
        ),
        (
            "full",
            "x86_64-linux-gnu",
            "x86_64-linxu-gnu",
            "`target.mtriple`: unknown operating system `linxu`; did you mean `linux`?",
        ),
        (
            "full",
            "x86_64-linux-gnu",
            "x86_64-linux-gnuu",
            "`target.mtriple`: unknown environment `gnuu`; did you mean `gnu`?",
        ),
        (
            "full",
            "x86_64-linux-gnu",
            "x86_64-apple-macos11.0-gnu",
            "`target.mtriple`: unknown environment `gnu`; there is none to choose from.",
        ),
        (
            "full",
            "[FuseOps]",
            "[FuseOps, tirx.NoSuchPass]",
            "`pass_context.disabled_passes[1]`: unknown TVM pass `tirx.NoSuchPass`; did you mean",
        ),
        (
            "here",
            "mcpu: native}",
            "mcpu: generic, mtriple: wasm32-unknown-unknown}\nruntime: {c: true}",
            "`runtime.c`: libkokoro is for Linux on x86-64, 64-bit ARM and RISC-V, for macOS on",
        ),
        (
            "here",
            "{kind: llvm, mcpu: native}",
            "{kind: cuda, host: {kind: llvm, mcpu: native}}\nruntime: {c: true}",
            "`runtime.c`: libkokoro is for Linux on x86-64, 64-bit ARM and RISC-V, for macOS on",
        ),
        (
            "here",
            "native",
            "native, mtriple: aarch64-linux-gnu",
            "`target.mcpu`: native is the machine that builds: name the CPU where a triple is given.",
        ),
        (
            "full",
            "f0n: {min_snr_db: 70}",
            "f0n: null",
            "`gates.f0n`: expected a mapping, {key: value}, found null.",
        ),
        (
            "here",
            "[128, 512]",
            "[512, 128]",
            "`buckets.tokens[1]`: buckets must grow from one to the next; 128 follows 512.",
        ),
        ("here", "[128, 512]", "[]", "`buckets.tokens`: needs at least 1 item."),
        (
            "here",
            "length: exact",
            "length: exact\nutterances: [short, nasl]",
            "`utterances[1]`: `toy` has no utterance `nasl`; did you mean `nasal`?",
        ),
        (
            "here",
            "mcpu: native",
            "mcpu: zen4, mtriple: x86_64-linux-gnu",
            "`target.mcpu`: unknown x86_64 CPU `zen4`; did you mean `znver4`?",
        ),
        (
            "here",
            "mcpu: native",
            "mcpu: native, emulate: ../cortex",
            "`target.emulate`: `../cortex` is not the name of a CPU as QEMU spells it, such as cortex-a72.",
        ),
        (
            "here",
            "model: toy",
            "model: full",
            "`model`: `full` is a target recipe, not a model; the only one is `toy`.",
        ),
        (
            "here",
            "exact",
            "[exact]",
            "`length`: expected a word, found a list; it can be `exact`, `masked` or `padded`.",
        ),
        (
            "full",
            "enforce: false",
            'enforce: "false"',
            "`gates.enforce`: expected true or false, found `false`; take the quotes away.",
        ),
        (
            "full",
            "patches: {decoder",
            "patches: {decodr",
            "unknown component `decodr` in `patches`; did you mean `decoder`?",
        ),
        ("full", "speech:", "speach:", "unknown gate `speach` in `gates`; did you mean `speech`?"),
        (
            "full",
            "[fuse, narrow]",
            "[fuse, narow]",
            "`passes[1]`: unknown pass `narow`; did you mean `narrow`?",
        ),
        ("full", "[fuse, narrow]", "[fuse, fuse]", "`passes[1]`: `fuse` is listed twice; name it once."),
        (
            "full",
            "a.number: 2",
            "a.number: [2]",
            "`pass_context.config.a.number`: expected true, false, a number or text, found a list.",
        ),
        (
            "full",
            "+avx512f",
            "avx512f",
            "`target.mattr[0]`: `avx512f` is not a CPU feature with + or - before it, such as +avx512f.",
        ),
        (
            "here",
            "{kind: llvm, mcpu: native}",
            "{kind: cuda, host: {kind: llvm, mcpu: native}}\nprecision: bfloat16",
            "`precision`: a target of kind cuda computes in float32 or float16.",
        ),
        (
            "full",
            "timeout_s: 60",
            "runtime: {c: true}\nweight_bits: {decoder: 10}\ntimeout_s: 60",
            "`weight_bits`: libkokoro maps weights as they are stored, so with `runtime.c` they are whole.",
        ),
        (
            "full",
            "timeout_s: 60",
            "weight_bits: {decoder: 4}\ntimeout_s: 60",
            "`weight_bits.decoder`: 4 is too small; the least is 8.",
        ),
        ("full", "timeout_s: 60", "timeout_s: 60.5", "`timeout_s`: expected a whole number, found 60.5."),
        (
            "toy",
            "kind: npm",
            "kind: nmp",
            "`checkpoint.sources[0].kind`: unknown value `nmp`; did you mean `npm`?",
        ),
        (
            "toy",
            "{kind: file, path: toy.onnx, sha256",
            "{kind: synthetic, size: toy} # sha256",
            "`checkpoint.sources[1]`: a synthetic source must be the only source, so that it is",
        ),
        (
            "toy",
            "version: 1.0.0",
            "version: 1.0",
            "`checkpoint.sources[0].packages[0].version`: expected text, found 1.0; put it in quotes.",
        ),
        (
            "toy",
            "[af_heart, ff_siwis]",
            "[af_heart, af_heart]",
            "`checkpoint.voices.names[1]`: voice af_heart is listed twice.",
        ),
        (
            "toy",
            "sha256: 8fbea51e",
            "sha256: 8FBEA51E",
            "`checkpoint.sources[0].shards.sha256`: `8FBEA51Ea711f2af382e88c833d9e288c6dc82ce…`",
        ),
        (
            "toy",
            "bert: {axis: tokens",
            "bert: {axis: frames",
            "`components.bert.axis`: the length of bert is counted in tokens.",
        ),
        (
            "toy",
            "speed: 0.9",
            "speed: .inf",
            "`.inf` is a number to some YAML readers and text to others: write a plain decimal",
        ),
        (
            "toy",
            "name: nasal",
            "name: short",
            "`utterances[1].name`: `short` names two utterances; each needs a name of its own.",
        ),
    ],
)
def test_check_file_enforces_rules_of_fields(recipe: str, old: str, new: str, message: str) -> None:
    path = Path(f"{recipe}.yaml")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        check_file(path, Path())
    assert str(caught.value).partition(": ")[2].startswith(message)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"mine": "extends: mine\n"}, "mine.yaml:1:10: `extends` goes in a circle: mine → mine."),
        (
            {"mine": "extends: hree\n"},
            "mine.yaml:1:10: `extends`: there is no recipe `hree`; did you mean `here`?",
        ),
        (
            {"mine": "extends: {model: toy}\n"},
            "mine.yaml:1:10: `extends`: expected a name, or a list of names, [a, b].",
        ),
        ({"mine": "extends: []\n"}, "mine.yaml:1:10: `extends`: needs at least 1 item."),
        (
            {"mine": "extends: toy\nbuckets: {tokens: [64], frames: [256]}\n"},
            "mine.yaml:1:10: `extends`: `toy` is a model; a target recipe names it as its own, `model: toy`.",
        ),
        (
            {
                "mine": "extends: other\n\n\n\nlength: maskd\n",
                "other": "extends: here\nbuckets: {frames: [0]}\n",
            },
            "mine.yaml:5:9: `length`: unknown value `maskd`; did you mean `masked`? (1 more fault).",
        ),
        (
            {"mine": "extends: here\ngates: {extends: bfloat16}\n"},
            "mine.yaml:2:18: the model's `gate_sets` have no `bfloat16`; there is none to choose from.",
        ),
        (
            {
                "mine": "extends: here\ngates: a\nmodel: named\n",
                "named": "extends: toy\ngate_sets: {a: {decodr: {min_snr_db: 1}}}\n",
            },
            "named.yaml:2:17: unknown gate `decodr` in `gate_sets.a`; did you mean `decoder`?",
        ),
        (
            {"matrix": "extends: here\nmatrix: {length: [exact, masked]}\n", "mine": "extends: matrix\n"},
            "matrix.yaml:2:9: `matrix` is a matrix; name one of its recipes: `exact` or `masked`.",
        ),
        (
            {"mine": "extends: here\nmatrix: {target: [{mcpu: native}]}\n"},
            "mine.yaml:2:19: `matrix.target`: a choice that is a list or mapping needs a label:",
        ),
        (
            {"mine": "extends: here\nmatrix: {length: [exact, exact]}\n"},
            "mine.yaml:2:26: `matrix.length`: `exact` is listed twice; name it once.",
        ),
        (
            {"mine": "extends: here\nmatrix: [length]\n"},
            "mine.yaml:2:9: `matrix`: expected a mapping of fields to their choices, {precision: [a, b]}.",
        ),
        (
            {"mine": "extends: here\nmatrix: {target.mcpu: [Native]}\n"},
            "mine.yaml:2:9: `Native` cannot be a recipe's name: use lower-case letters, digits, -",
        ),
        (
            {
                "mine": "extends: here\n",
                "several": "extends: here\nmatrix:\n  length: {mine: masked, yours: exact}\n",
            },
            "several.yaml:3:3: two recipes are called `mine`, this one and that of mine.yaml:1:",
        ),
        ({"mine": "extends: here\ntarget: {kind: metal}\n"}, "mine.yaml:2:1: `target` lacks the key `host`."),
        (
            {
                "mine": "extends: here\ngates: a\nmodel: named\n",
                "named": "extends: toy\ngate_sets: {a: {extends: b}, b: {extends: a}}\n",
            },
            "named.yaml:2:43: `extends` goes in a circle: a → b → a.",
        ),
        (
            {
                "a": "extends: here\nmatrix: {length: [exact], timeout_s: {x: 1}}\n",
                "b": "extends: here\nmatrix: {length: {exact-x: masked}}\n",
                "mine": "extends: exact-x\n",
            },
            "b.yaml:2:9: two recipes are called `exact-x`, this one and that of a.yaml:2: give",
        ),
    ],
)
def test_load_recipe_enforces_rules_between_files(files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load_recipe("mine", Path())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("bukets.frames=[512]", "--with:1:1: unknown key `bukets`; did you mean `buckets`?"),
        ("buckets.frame=[512]", "--with:1:1: unknown key `frame` in `buckets`; did you mean `frames`?"),
        ("buckets.frames=[512", "--with:1:17: not valid YAML: what opens here is never closed."),
        ("sets=[ci]", "--with:1:1: `extends`, `matrix` or `sets` cannot be tried: write a recipe."),
    ],
)
def test_load_recipe_shows_the_place_in_an_override(override: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe("here", Path(), [override])
    assert str(caught.value).startswith(message)


def test_padded_gates_cannot_be_enforced() -> None:
    path = Path("full.yaml")
    text = path.read_text(encoding="utf-8").replace("length: masked", "length: padded")
    path.write_text(text.replace("enforce: false", "enforce: true"), encoding="utf-8")
    with pytest.raises(RecipeError, match="with length: padded, gates only report"):
        check_file(path, Path())


def test_model_recipe_is_not_built() -> None:
    with pytest.raises(
        RecipeError, match=r"toy.yaml: a model recipe .* name a recipe with a target \(full, here\)"
    ):
        load_recipe("toy", Path())
