"""Every field of every recipe, every tool's version and the checkpoint: who is stale after what.

Nothing is built: the stages of one recipe are taken as built, and their derivations compared. What is
expected stands in a table, by field; a field without an entry fails.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from examples import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from recipe_fields import recipe_fields
from test_graph import REPOSITORY, Tree, built  # noqa: F401  (a fixture)

from kokoro_tvm.builder.engine import versions
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, TVM
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.stages import bundle
from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.recipe import ModelFile, TargetFile
from kokoro_tvm.recipe.parts import list_modules
from kokoro_tvm.recipe.resolved import resolve
from kokoro_tvm.targets import find_runner

TOKENS = [c for c, axis in COMPONENT_AXES.items() if axis == "tokens"]
FRAMES = [c for c, axis in COMPONENT_AXES.items() if axis == "frames"]
ALL = [*TOKENS, *FRAMES]
BUCKET = {c: 512 if c in TOKENS else 5120 for c in ALL}
PATCHES, PASSES = list_modules("model/patches"), list_modules("compiler/passes")
MODEL: dict[str, Any] = yaml.safe_load((REPOSITORY / "recipes/kokoro-82m.yaml").read_text(encoding="utf-8"))
MODEL["gates"] = MODEL.pop("gate_sets")[MODEL["gates"]]
VOICES: list[str] = MODEL["checkpoint"]["voices"]["names"]
COMPOSING = {"extends", "matrix", "gates.extends", "gate_sets"}  # gone when a recipe is whole
TARGET: dict[str, Any] = {
    "model": "kokoro-82m",
    "target": {"kind": "llvm", "mcpu": "generic"},
    "buckets": {"tokens": [512], "frames": [5120]},
}


def stages(kinds: str, components: list[str] = ALL) -> set[str]:
    """Names of stages: of artifacts (export, lower, compile, validate), components (pack), recipe, model."""
    named: set[str] = set()
    for kind in kinds.split():
        if kind in ("checkpoint", "reference", "front_end"):
            named.add(f"kokoro-82m.{kind}")
        elif kind in (
            "machine",
            "runtime",
            "libkokoro",
            "bundle",
            "speech",
            "speak",
            "phonemes",
            "throughput",
        ):
            named.add(f"cpu.{kind}")
        else:
            named |= {f"cpu.{kind}.{c}" + (f"-{BUCKET[c]}" if kind != "pack" else "") for c in components}
    return named


def runs_here(triple: str) -> bool:
    """Whether this machine runs code for it; where nothing does, gates are not judged as they were."""
    runner, _ = find_runner({"kind": "llvm", "mcpu": "generic", "mtriple": triple})
    return runner is not None


def new_buckets(components: list[str], buckets: list[int]) -> set[str]:
    """What a list of buckets other than the one there was brings: its own chains, packs, bundle and hello."""
    fresh = {
        f"cpu.{kind}.{c}-{bucket}"
        for c in components
        for bucket in buckets
        if bucket != BUCKET[c]
        for kind in ("export", "lower", "compile", "validate")
    }
    timed = stages("throughput") if "decoder" in components and buckets[0] != BUCKET["decoder"] else set()
    return fresh | stages("pack", components) | stages("speak bundle speech") | timed


# The field as docs/recipes.md names it (NAME: each component) -> values for it, and what is stale when it
# changes and nothing has been built since: a set, or a function of the component and the value; None: it
# has one value. (What follows where a stage then writes something else: OUTPUTS.)
names = st.text("abcdefgh", min_size=1, max_size=8)
sha = st.text("0123456789abcdef", min_size=64, max_size=64)
decibels = st.one_of(st.none(), st.floats(-400, 400), st.integers(-400, 400))
correlations = st.one_of(st.none(), st.floats(-1, 1))
patch_lists = st.lists(st.sampled_from(PATCHES), unique=True, max_size=5)
pass_lists = st.lists(st.sampled_from(PASSES), unique=True, min_size=1)
LOWER = stages("lower bundle")
COMPILE = LOWER | stages("compile")  # what code generation reads as well
JUDGED = stages("validate throughput speech")
TEXT = stages("front_end")

TARGETS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "model": (names, stages("export pack speak validate throughput bundle speech phonemes")),
    "target[llvm].kind": (names, None),  # another kind has other fields
    "target[llvm].mcpu": (
        st.sampled_from(["native", "x86-64-v3", "znver4", "skylake"]),
        stages("machine bundle"),
    ),
    "target[llvm].mtriple": (
        st.sampled_from(["x86_64-linux-gnu", "aarch64-linux-gnu"]),
        lambda name, value: (
            stages("machine bundle")
            | (set() if runs_here(value) else JUDGED | stages("runtime compile"))  # another linker
        ),
    ),
    "target[llvm].mattr": (
        st.lists(st.sampled_from(["+avx2", "-fma", "+sse4.2"]), unique=True),
        stages("machine bundle"),
    ),
    "target[llvm].emulate": (
        st.sampled_from(["Nehalem", "max"]),
        stages("machine runtime bundle speak") | JUDGED,
    ),
    "target[llvm].run": (st.booleans(), stages("machine bundle") | JUDGED),  # nothing speaks then
    "weight_bits": (
        st.dictionaries(st.sampled_from(["bert", "decoder.encode"]), st.integers(8, 20), min_size=1),
        stages("pack bundle"),
    ),
    "runtime.c": (st.booleans(), stages("runtime libkokoro bundle speech")),
    "precision": (
        st.sampled_from(["float32", "bfloat16"]),
        stages("machine lower speak validate throughput bundle"),
    ),
    "length": (
        st.sampled_from(["exact", "masked", "padded"]),
        lambda name, value: (
            stages("export lower speak validate throughput bundle")
            | (stages("speech phonemes") if value == "padded" else set())
        ),
    ),
    "buckets.tokens": (
        st.lists(st.integers(1, 512), min_size=1, max_size=3, unique=True).map(sorted),
        lambda name, value: new_buckets(TOKENS, value),
    ),
    "buckets.frames": (
        st.lists(st.integers(1, 5120), min_size=1, max_size=3, unique=True).map(sorted),
        lambda name, value: new_buckets(FRAMES, value),
    ),
    "patches.NAME": (patch_lists, lambda name, value: stages("export", [name]) | stages("bundle")),
    "passes": (pass_lists, LOWER),
    "pass_context.opt_level": (st.integers(0, 4), COMPILE),
    "pass_context.disabled_passes": (
        st.lists(st.sampled_from(["FuseOps", "FoldConstant"]), unique=True),
        COMPILE,
    ),
    "pass_context.config": (
        st.dictionaries(names, st.booleans() | st.integers(0, 9) | names),
        COMPILE,
    ),
    "gates.NAME.min_snr_db": (decibels, lambda name, value: stages("validate", [name])),
    "gates.decoder.min_snr_db": (decibels, stages("validate", ["decoder"])),
    "gates.decoder.min_gain_db": (decibels, stages("validate", ["decoder"])),
    "gates.decoder.min_magnitude_correlation": (correlations, stages("validate", ["decoder"])),
    "gates.speech.min_snr_db": (decibels, stages("speech")),
    "gates.speech.min_gain_db": (decibels, stages("speech")),
    "gates.speech.min_magnitude_correlation": (correlations, stages("speech")),
    "gates.throughput.min_peak_share": (  # null: nothing is measured
        st.none() | st.floats(0, 1000),
        lambda name, value: set() if value is None else {"cpu.throughput"},
    ),
    "gates.intelligibility.max_word_error_increase": (  # null: nobody listens
        st.none() | st.floats(0, 1),
        {"cpu.intelligibility"},
    ),
    "gates.phonemes.max_known_word_errors": (st.none() | st.integers(0, 1000), stages("phonemes")),
    "gates.phonemes.max_phoneme_error_rate": (st.none() | st.floats(0, 1), stages("phonemes")),
    "gates.corpus.min_snr_db": (decibels, set()),  # asked for by `kokoro-tvm validate e2e`, not by a build
    "gates.corpus.min_gain_db": (decibels, set()),
    "gates.corpus.min_median_gain_db": (decibels, set()),
    "gates.corpus.min_magnitude_correlation": (correlations, set()),
    "gates.NAME.min_frame_snr_median_db": (decibels, lambda name, value: stages("validate", [name])),
    "gates.NAME.min_frame_snr_p5_db": (decibels, lambda name, value: stages("validate", [name])),
    "gates.decoder.min_frame_snr_median_db": (decibels, stages("validate", ["decoder"])),
    "gates.decoder.min_frame_snr_p5_db": (decibels, stages("validate", ["decoder"])),
    "gates.NAME.min_median_gain_db": (decibels, lambda name, value: stages("validate", [name])),
    "gates.decoder.min_first_frame_snr_db": (decibels, stages("validate", ["decoder"])),
    "gates.decoder.min_last_frame_snr_db": (decibels, stages("validate", ["decoder"])),
    "gates.decoder.min_exact_frame_snr_median_db": (decibels, stages("validate", ["decoder"])),
    "gates.decoder.min_exact_frame_snr_p5_db": (decibels, stages("validate", ["decoder"])),
    "gates.speech.min_frame_snr_median_db": (decibels, stages("speech")),
    "gates.speech.min_frame_snr_p5_db": (decibels, stages("speech")),
    "gates.speech.min_first_frame_snr_db": (decibels, stages("speech")),
    "gates.speech.min_last_frame_snr_db": (decibels, stages("speech")),
    "gates.speech.min_exact_frame_snr_median_db": (decibels, stages("speech")),
    "gates.speech.min_exact_frame_snr_p5_db": (decibels, stages("speech")),
    "gates.corpus.min_frame_snr_median_db": (decibels, set()),
    "gates.corpus.min_frame_snr_p5_db": (decibels, set()),
    "gates.corpus.min_first_frame_snr_db": (decibels, set()),
    "gates.corpus.min_last_frame_snr_db": (decibels, set()),
    "gates.corpus.min_exact_frame_snr_median_db": (decibels, set()),
    "gates.corpus.min_exact_frame_snr_p5_db": (decibels, set()),
    "gates.enforce": (st.booleans(), JUDGED | stages("phonemes")),
    "utterances": (  # hello.wav says the first of them, and "short" is what it says anyway
        st.lists(st.sampled_from(["short", "long"]), min_size=1, unique=True),
        lambda name, value: (
            stages("validate speech") | (stages("speak throughput") if value[0] != "short" else set())
        ),
    ),
    "timeout_s": (st.integers(1, 86_400), set()),
    "resources.memory_gb": (st.floats(0.5, 64), set()),
    "resources.cpus": (st.integers(1, 64), set()),
    "sets": (st.lists(st.sampled_from(["ci", "nightly"]), unique=True), set()),
}
SOURCES = stages("checkpoint")
SPOKEN = stages("reference")
MODELS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "checkpoint.config.file": (names, set()),
    "checkpoint.config.sha256": (sha, SOURCES),
    "checkpoint.voices.names": (
        st.lists(names.map(lambda n: f"xf_{n}"), max_size=3, unique=True).map(lambda own: VOICES + own),
        SOURCES,
    ),
    "checkpoint.voices.sha256": (sha, SOURCES),
    "checkpoint.voices.files": (sha.map(lambda digest: dict.fromkeys(VOICES, digest)), SOURCES),
    "checkpoint.sources[huggingface].kind": (names, None),
    "checkpoint.sources[huggingface].repo": (names.map(lambda n: f"{n}/{n}"), set()),
    "checkpoint.sources[huggingface].revision": (sha.map(lambda s: s[:40]), set()),
    "checkpoint.sources[huggingface].weights.file": (names.map(lambda n: f"{n}.pth"), set()),
    "checkpoint.sources[huggingface].weights.sha256": (sha, SOURCES),
    "checkpoint.sources[huggingface].voices": (names, set()),
    "checkpoint.sources[npm].kind": (names, None),
    "checkpoint.sources[npm].packages[].name": (names, set()),
    "checkpoint.sources[npm].packages[].version": (st.integers(0, 99).map(lambda n: f"{n}.0.0"), set()),
    "checkpoint.sources[npm].shards.pattern": (names.map(lambda n: n + "{}.bin"), set()),
    "checkpoint.sources[npm].shards.count": (st.integers(1, 1000), set()),
    "checkpoint.sources[npm].shards.size": (st.integers(1, 2**40), set()),
    "checkpoint.sources[npm].shards.sha256": (sha, set()),  # it was obtained from the hub
    "checkpoint.sources[npm].voices.package": (names, set()),
    "checkpoint.sources[npm].voices.version": (st.integers(0, 99).map(lambda n: f"{n}.0.0"), set()),
    "checkpoint.sources[npm].voices.folder": (names, set()),
    "checkpoint.sources[file].kind": (names, None),
    "checkpoint.sources[file].path": (names.map(lambda n: f"{n}.pth"), SOURCES),
    "checkpoint.sources[file].sha256": (sha, SOURCES),
    "checkpoint.sources[file].voices": (names, SOURCES),
    "checkpoint.sources[synthetic].kind": (names, None),
    "checkpoint.sources[synthetic].seed": (st.integers(0, 2**32 - 1), SOURCES),
    "checkpoint.sources[synthetic].size": (st.sampled_from(["full", "toy"]), SOURCES),
    "front_end.NAME.files": (st.dictionaries(names, sha, min_size=1, max_size=3), TEXT),
    **{
        f"front_end.NAME.sources[{kind}].{field}": (values, None if field == "kind" else set())
        for kind, fields in {
            "https": ("kind", "url", "sha256", "folder"),
            "pypi": ("kind", "package", "version", "sha256", "folder"),
            "installed": ("kind", "package", "version", "folder"),
            "npm": ("kind", "version"),
            "file": ("kind", "path", "sha256", "folder"),
        }.items()
        for field, values in {
            "kind": names,
            "url": names.map("https://host/{}".format),
            "package": names,
            "version": st.integers(0, 99).map("{}.0.0".format),
            "path": names,
            "sha256": sha,
            "folder": names,
        }.items()
        if field in fields
    },
    "languages": (
        st.dictionaries(st.sampled_from("adz"), names.map(lambda n: {"name": n}), min_size=1),
        stages("bundle"),
    ),
    "components.NAME.axis": (names, None),  # that of the model's signature
    "components.NAME.patches": TARGETS["patches.NAME"],
    "passes": TARGETS["passes"],
    **{name: TARGETS[name] for name in TARGETS if name.startswith(("pass_context.", "gates."))},
    "utterances[].name": (names, SPOKEN | stages("validate speech")),
    "utterances[].phonemes": (st.text("həlO. ", min_size=1, max_size=60), SPOKEN),
    "utterances[].voice": (st.sampled_from(["af_bella", "bm_lewis"]), SPOKEN),
    "utterances[].speed": (st.floats(0.1, 10), SPOKEN),
    "utterances[].seed": (st.integers(0, 2**64 - 1), SPOKEN),
    "utterances[].piece": (st.integers(0, 2**32 - 1), SPOKEN),
}
LONE = {
    "file": {"kind": "file", "path": "a.pth", "sha256": "0" * 64},
    "synthetic": {"kind": "synthetic", "size": "full", "seed": 1},
}
# Fields whose source has to be put into the recipe first; what comes of any source is pinned by `files`.
PACKAGES = {
    "https": {"kind": "https", "url": "https://host/a", "sha256": "0" * 64, "folder": "a"},
    "pypi": {"kind": "pypi", "package": "a", "version": "1.0", "sha256": "0" * 64, "folder": "a"},
    "installed": {"kind": "installed", "package": "a", "version": "1.0", "folder": "a"},
    "npm": {"kind": "npm", "version": "1.0.0"},
    "file": {"kind": "file", "path": "a", "sha256": "0" * 64, "folder": "a"},
}
FIELDS = [("target", f) for f in TARGETS] + [("model", f) for f in MODELS]


class Built:
    """The stages of the recipe `cpu`, taken as built."""

    def __init__(self, tree: Tree, model: dict[str, Any]) -> None:
        self.tree, self.model = tree, model
        tree.rewrite("cpu", lambda recipe: TARGET)
        tree.rewrite("kokoro-82m", lambda recipe: model)
        tree.build()
        self.before = {s.name: json.dumps(s.derivation(), sort_keys=True) for s in self.graph().stages()}

    def graph(self, target: dict[str, Any] = TARGET, model: dict[str, Any] | None = None) -> RecipeGraph:
        model = model or self.model
        if "gates" in target:
            target = target | {"gates": _over(model["gates"], target["gates"])}
        files = TargetFile.model_validate(_tuples(target)), ModelFile.model_validate(_tuples(model))
        return RecipeGraph(resolve("cpu", *files), self.tree.root / "artifacts", self.tree.root)

    def stale(self, of: RecipeGraph | None = None) -> set[str]:
        """Stages that are made of something else than they were, or for the first time, or cannot be yet."""
        found = set()
        for one in (of or self.graph()).stages():
            try:
                made_of = json.dumps(one.derivation(), sort_keys=True)
            except BuildError:  # what it is made of is not built
                made_of = ""
            if made_of != self.before.get(one.name):
                found.add(one.name)
        return found


@pytest.fixture(scope="module")
def stages_built(built: Tree) -> Built:  # noqa: F811
    return Built(built, MODEL)


def test_every_field_has_an_entry_and_no_other() -> None:
    fields = {field.path for field in recipe_fields("TargetFile")} - COMPOSING
    of_gpus = {path for path in fields if re.match(r"target\[(cuda|metal|webgpu)\]", path)}
    assert fields - of_gpus == set(TARGETS)
    assert {path.partition(".")[2] for path in of_gpus} == {"kind", *ON_GPUS}
    assert {field.path for field in recipe_fields("ModelFile")} - COMPOSING == set(MODELS)


ON_GPUS: dict[str, tuple[Any, set[str]]] = {
    "host": ({"kind": "llvm", "mcpu": "znver4"}, {"machine", "machine.host", "assemble"}),
    "host_components": (["bert"], {"machine", "assemble"}),
    "arch": (["sm_90"], {"machine", "assemble"}),
    "run": (False, {"machine", "assemble", "speak"}),
}
"""The fields of a GPU -> another value, and the stages whose parameters it is among, beside bundle."""


@pytest.mark.parametrize("field", ON_GPUS)
def test_fields_of_a_gpu(stages_built: Built, field: str) -> None:
    target: dict[str, Any] = {"kind": "cuda", "host": {"kind": "llvm", "mcpu": "znver5"}}
    value, concerned = ON_GPUS[field]

    def parameters(target: dict[str, Any]) -> dict[str, Any]:
        graph = stages_built.graph(TARGET | {"target": target}, copy.deepcopy(MODEL))
        return {stage.name.partition(".")[2]: stage.parameters for stage in graph.stages()}

    one, other = parameters(target), parameters(target | {field: value})
    differing = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    kinds = {name if name.startswith("machine") else name.partition(".")[0] for name in differing}
    assert kinds == concerned | {"bundle"}


@pytest.mark.parametrize(("file", "path"), FIELDS)
@given(data=st.data())
@settings(deadline=None, max_examples=examples(16))
def test_exactly_what_a_field_concerns_is_stale(
    stages_built: Built, file: str, path: str, data: st.DataObject
) -> None:
    """A value of the field's kind, drawn at random, in place of the one there is."""
    values, expected = (TARGETS if file == "target" else MODELS)[path]
    value = data.draw(values)
    components = [c for c in ALL if c != "decoder" or "gates" not in path]
    name = data.draw(st.sampled_from(["tagger", "lexicon", "cldr"] if "front_end" in path else components))
    files: dict[str, Any] = {"target": copy.deepcopy(TARGET), "model": copy.deepcopy(MODEL)}
    lone = re.match(r"checkpoint\.sources\[(file|synthetic)\]", path)
    if lone:  # these do not stand behind others
        files["model"]["checkpoint"]["sources"] = [copy.deepcopy(LONE[lone[1]])]
    package = re.match(r"front_end\.NAME\.sources\[(\w+)\]", path)
    if package:
        files["model"]["front_end"][name]["sources"] = [dict(PACKAGES[package[1]])]
    base = stages_built.graph(files["target"], files["model"]).recipe
    _put(files[file], path.replace("NAME", name), value)
    if expected is None:  # the only value there is
        with pytest.raises(ValidationError):
            stages_built.graph(files["target"], files["model"])
        return
    other = stages_built.graph(files["target"], files["model"])
    if other.recipe == base:
        event("the value there was")
        assert lone or stages_built.stale(other) == set()
        return
    event("another value")
    wanted = expected(name, value) if callable(expected) else expected
    renamed = {f"{other.recipe.model}.{kind}" for kind in ("checkpoint", "reference", "front_end")}
    assert stages_built.stale(other) == (wanted | renamed if path == "model" else wanted)


@given(chance=st.randoms(use_true_random=False), comment=st.text(st.characters(categories=["L", "P"])))
@settings(deadline=None, max_examples=examples(40))
def test_comments_order_and_whitespace_concern_nothing(
    stages_built: Built, chance: random.Random, comment: str
) -> None:
    ends = ["", "  ", f"  # {comment}", "\n", f"\n# {comment}"]
    for name, recipe in (("cpu", TARGET), ("kokoro-82m", MODEL)):
        text = yaml.safe_dump(
            _shuffled(recipe, chance), sort_keys=False, allow_unicode=True, width=10**6,
            indent=chance.choice([2, 4]), default_flow_style=chance.choice([None, False]),
        )  # fmt: skip
        lines = [line + chance.choice(ends) for line in text.splitlines()]
        path = stages_built.tree.root / "recipes" / f"{name}.yaml"
        path.write_text(chance.choice(["\n", "\r\n"]).join(lines) + "\n", encoding="utf-8")
    assert stages_built.stale(stages_built.tree.graph()) == set()


TOOLS = {
    "python": stages(
        "checkpoint machine runtime export lower compile pack reference validate throughput bundle speech "
        "speak front_end phonemes"
    ),
    "torch": stages("checkpoint export lower pack reference bundle"),
    "kokoro": stages("checkpoint export reference bundle"),
    "transformers": stages("checkpoint export reference bundle"),
    "numpy": stages(
        "checkpoint export lower pack reference validate throughput bundle speech speak front_end phonemes"
    ),
    "apache-tvm": stages("machine runtime lower compile validate throughput bundle speech speak"),
    "apache-tvm-ffi": stages("machine runtime lower compile validate throughput bundle speech speak"),
    "LLVM": stages("machine lower compile bundle"),
    "the linker": stages("compile bundle"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_of_another_version(stages_built: Built, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if tool == "python":
        monkeypatch.setattr(versions.platform, "python_version", lambda: "3.11.99")
    elif tool == "LLVM":  # in a TVM of the same version
        for module in (versions, bundle):
            monkeypatch.setattr(module, "llvm_version", lambda: "99.0.0")
    elif tool == "the linker":
        monkeypatch.setattr(type(GNU), "version", lambda self: "g++ 99")
    else:
        there = versions._version
        monkeypatch.setattr(versions, "_version", lambda name: "99.0" if name == tool else there(name))
    assert stages_built.stale() == TOOLS[tool]


def test_every_tool_is_tried() -> None:
    assert set(TOOLS) == {*TORCH, *TVM, "python", "LLVM", "the linker"}


TOGETHER = stages("speak bundle")
# A byte of an output, as the stage that wrote it records it -> what is made of it.
OUTPUTS = {
    ("checkpoint", "weights.safetensors"): stages("pack reference bundle"),
    ("checkpoint", "voices.safetensors"): stages("reference speak bundle"),
    ("checkpoint", "config.json"): stages("export reference speak validate throughput bundle"),
    ("front_end", "front_end.safetensors"): stages("phonemes bundle"),
    ("front_end", "tagger.zip"): stages("phonemes"),
    ("phonemes", "phonemes.json"): stages("bundle"),
    ("runtime", "libtvm_runtime.so"): stages("bundle"),
    ("machine", "machine.json"): stages("lower compile speak validate throughput bundle"),
    ("export.decoder-5120", "program.pt2"): stages("lower compile", ["decoder"]),
    ("lower.decoder-5120", "module.py"): stages("compile", ["decoder"]),
    ("lower.decoder-5120", "parameters.json"): stages("pack validate throughput", ["decoder"]) | TOGETHER,
    ("compile.decoder-5120", "decoder-5120.so"): stages("validate throughput", ["decoder"]) | TOGETHER,
    ("pack.decoder", "decoder.safetensors"): stages("validate throughput", ["decoder"]) | TOGETHER,
    ("reference", "short.safetensors"): JUDGED,
    ("validate.decoder-5120", "validation.json"): stages("bundle"),
    ("bundle", "bundle.json"): stages("speech"),
    ("bundle", "provenance.json"): set(),  # nothing that speaks or judges reads it
}


@pytest.mark.parametrize(("wrote", "output"), OUTPUTS)
def test_a_byte_of_an_output(
    stages_built: Built, wrote: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Stage.sha256

    def sha256(self: Stage, file: str) -> str:
        spoiled = file == output and self.name.partition(".")[2] == wrote
        return "0" * 64 if spoiled else there(self, file)

    monkeypatch.setattr(Stage, "sha256", sha256)
    assert stages_built.stale() == OUTPUTS[wrote, output]


def _put(recipe: Any, path: str, value: Any) -> None:
    """Sets a field by its name in the docs: `a[kind].b` is of the source of that kind, `a[].b` of the last
    item."""
    *above, last = path.split(".")
    for part in above:
        name, bracket, kind = part.rstrip("]").partition("[")
        recipe = recipe.setdefault(name, {})
        if bracket and isinstance(recipe, list):
            recipe = next(item for item in recipe if item["kind"] == kind) if kind else recipe[-1]
    recipe[last] = value


def _over(gates: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The model's gates with those that a target gives, as they are read."""
    return gates | {
        name: gates.get(name, {}) | gate if isinstance(gate, dict) else gate for name, gate in given.items()
    }


def _tuples(value: Any) -> Any:
    """As our reader gives them."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(value[key], chance) for key in chance.sample(list(value), len(value))}
    return [_shuffled(item, chance) for item in value] if isinstance(value, list) else value
