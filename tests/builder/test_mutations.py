"""Which stages become stale if a field of a recipe, the version of a tool or an output changes.

Nothing is built: the stages of one recipe count as built, and their derivations are compared.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
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
from kokoro_tvm.recipe.resolved import resolve
from kokoro_tvm.targets import find_runner

BUCKET = {component: 512 if axis == "tokens" else 5120 for component, axis in COMPONENT_AXES.items()}
MODEL: dict[str, Any] = yaml.safe_load((REPOSITORY / "recipes/kokoro-82m.yaml").read_text(encoding="utf-8"))
MODEL["gates"] = MODEL.pop("gate_sets")[MODEL["gates"]]
VOICES: list[str] = MODEL["checkpoint"]["voices"]["names"]
COMPOSING = {"extends", "matrix", "gates.extends", "gate_sets"}  # absent from a resolved recipe
TARGET: dict[str, Any] = {
    "model": "kokoro-82m",
    "target": {"kind": "llvm", "mcpu": "generic"},
    "buckets": {"tokens": [512], "frames": [5120]},
}


def stages(words: str, *components: str) -> set[str]:
    """Return names of stages: of the model, of the recipe, and of (all) components."""
    names: set[str] = set()
    for kind in words.split():
        if kind in ("checkpoint", "reference", "front_end"):
            names.add(f"kokoro-82m.{kind}")
        elif kind in ("export", "lower", "compile", "validate", "pack"):
            suffixes = {c: c if kind == "pack" else f"{c}-{BUCKET[c]}" for c in components or BUCKET}
            names |= {f"cpu.{kind}.{suffix}" for suffix in suffixes.values()}
        else:
            names.add(f"cpu.{kind}")
    return names


def bucket_stages(axis: str, bucket: int) -> set[str]:
    """Return the stages of another bucket, which no stage was built for, and those that read its outputs."""
    components = [component for component, name in COMPONENT_AXES.items() if name == axis]
    kinds = ("export", "lower", "compile", "validate")
    new = {f"cpu.{kind}.{component}-{bucket}" for kind in kinds for component in components}
    timed = stages("throughput") if axis == "frames" else set()
    return new | timed | stages("pack", *components) | stages("speak bundle speech")


HERE = find_runner({"kind": "llvm", "mcpu": "generic", "mtriple": "aarch64-linux-gnu"})[0] is not None
JUDGED = stages("validate throughput speech")
COMPILE = stages("lower compile bundle")
NONE: set[str] = set()
SHA = "1" * 64
# Values of fields whose row has none, by the last part of their path.
VALUES: dict[str, Any] = {
    "sha256": SHA,
    "revision": SHA[:40],
    "repo": "other/other",
    "version": "99.0.0",
    "url": "https://host/other",
    "kind": "other",
}
# (pattern of the field's path, stages that become stale or None if the field has one value, another value).
# A field belongs to the first row that matches. Stages after one whose outputs change: see OUTPUTS.
COMMON = [
    (r"gates\.NAME\..*", stages("validate", "bert"), 0.5),
    (r"gates\.decoder\..*", stages("validate", "decoder"), 0.5),
    (r"gates\.speech\..*", stages("speech"), 0.5),
    (r"gates\.throughput\.min_peak_share", stages("throughput"), 0.5),
    (r"gates\.intelligibility\..*", stages("intelligibility"), 0.5),
    (r"gates\.phonemes\..*", stages("phonemes"), 1),
    (r"gates\.corpus\..*", NONE, 0.5),  # `kokoro-tvm validate e2e` reads it, not a build
    (r"gates\.enforce", JUDGED | stages("phonemes"), False),
    (r"(components\.)?(patches\.NAME|NAME\.patches)", stages("export", "bert") | stages("bundle"), ["lstm"]),
    (r"passes", stages("lower bundle"), ["fuse"]),
    (r"pass_context\.opt_level", COMPILE, 0),
    (r"pass_context\.disabled_passes", COMPILE, ["FuseOps"]),
    (r"pass_context\.config", COMPILE, {"a": 1}),
]
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "target": [
        *COMMON,
        (r"model", stages("export pack speak validate throughput bundle speech phonemes"), "other"),
        (r".*\.kind", None),
        (r"target\[llvm\]\.mcpu", stages("machine bundle"), "znver4"),
        (
            r"target\[llvm\]\.mtriple",
            stages("machine bundle") | (NONE if HERE else JUDGED | stages("runtime compile")),
            "aarch64-linux-gnu",
        ),
        (r"target\[llvm\]\.mattr", stages("machine bundle"), ["+avx2"]),
        (r"target\[llvm\]\.emulate", stages("machine runtime bundle speak") | JUDGED, "Nehalem"),
        (r"target\[llvm\]\.run", stages("machine bundle") | JUDGED, False),
        (r"weight_bits", stages("pack bundle"), {"bert": 8}),
        (r"runtime\.c", stages("runtime libkokoro bundle speech"), True),
        (r"precision", stages("machine lower speak validate throughput bundle"), "bfloat16"),
        (r"length", stages("export lower speak validate throughput bundle"), "masked"),
        (r"buckets\.tokens", bucket_stages("tokens", 128), [128]),
        (r"buckets\.frames", bucket_stages("frames", 256), [256]),
        (r"utterances", stages("validate speech speak throughput"), ["long"]),  # the first is spoken
        (r"timeout_s|resources\.cpus", NONE, 7),
        (r"resources\.memory_gb", NONE, 7.5),
        (r"sets", NONE, ["ci"]),
    ],
    "model": [
        *COMMON,
        (r".*\.(kind|axis)", None, "other"),
        (r"checkpoint\.config\.file", NONE, "other"),
        (r"checkpoint\.(config|voices|sources\[huggingface\]\.weights)\.sha256", stages("checkpoint")),
        (
            r"checkpoint\.voices\.names",
            stages("checkpoint"),
            [*MODEL["checkpoint"]["voices"]["names"], "xf_a"],
        ),
        (
            r"checkpoint\.voices\.files",
            stages("checkpoint"),
            dict.fromkeys(MODEL["checkpoint"]["voices"]["names"], SHA),
        ),
        (r"checkpoint\.sources\[npm\]\.shards\.(count|size)", NONE, 7),
        (r"checkpoint\.sources\[npm\]\.shards\.pattern", NONE, "other{}.bin"),
        (r"checkpoint\.sources\[(huggingface|npm)\]\..*\.file", NONE, "other.pth"),
        (r"checkpoint\.sources\[(huggingface|npm)\]\.(.*\.)?(voices|name|package|folder)", NONE, "other"),
        (r"checkpoint\.sources\[(huggingface|npm)\]\..*", NONE),  # any source has to yield what is pinned
        (r"checkpoint\.sources\[file\]\.sha256", stages("checkpoint")),
        (r"checkpoint\.sources\[file\]\..*", stages("checkpoint"), "other.pth"),
        (r"checkpoint\.sources\[synthetic\]\.seed", stages("checkpoint"), 7),
        (r"checkpoint\.sources\[synthetic\]\.size", stages("checkpoint"), "toy"),
        (r"front_end\.NAME\.files", stages("front_end"), {"other": SHA}),
        (r"front_end\..*\.(package|path|folder)", NONE, "other"),
        (r"front_end\..*", NONE),
        (r"languages", stages("bundle"), {"d": {"name": "other"}}),
        (r"utterances\[\]\.name", stages("reference validate speech"), "other"),
        (r"utterances\[\]\.phonemes", stages("reference"), "həlO."),
        (r"utterances\[\]\.text", NONE, "Hello."),  # the report alone shows it
        (r"utterances\[\]\.voice", stages("reference"), "bm_lewis"),
        (r"utterances\[\]\.(seed|piece)", stages("reference"), 77),
        (r"utterances\[\]\.speed", stages("reference"), 1.75),
    ],
}
# Sources that the model's recipe lacks, for their fields.
SOURCES = {
    "checkpoint[file]": {"kind": "file", "path": "a.pth", "sha256": "0" * 64},
    "checkpoint[synthetic]": {"kind": "synthetic", "size": "full", "seed": 1},
    "front_end[https]": {"kind": "https", "url": "https://host/a", "sha256": "0" * 64, "folder": "a"},
    "front_end[pypi]": {"kind": "pypi", "package": "a", "version": "1.0", "sha256": "0" * 64, "folder": "a"},
    "front_end[installed]": {"kind": "installed", "package": "a", "version": "1.0", "folder": "a"},
    "front_end[npm]": {"kind": "npm", "version": "1.0.0"},
    "front_end[file]": {"kind": "file", "path": "a", "sha256": "0" * 64, "folder": "a"},
}
ON_GPUS: dict[str, tuple[Any, set[str]]] = {
    "host": ({"kind": "llvm", "mcpu": "znver4"}, {"machine", "machine.host", "assemble"}),
    "host_components": (["bert"], {"machine", "assemble"}),
    "arch": (["sm_90"], {"machine", "assemble"}),
    "run": (False, {"machine", "assemble", "speak"}),
}
"""Fields of a GPU: another value, and the stages that have it as a parameter, besides bundle."""


def fields_of(file: str) -> list[str]:
    """Return the paths of all fields, except those of GPUs (ON_GPUS) and those that compose recipes."""
    record = {"target": "TargetFile", "model": "ModelFile"}[file]
    paths = [field.path for field in recipe_fields(record) if field.path not in COMPOSING]
    return [path for path in paths if not re.match(r"target\[(cuda|metal|webgpu)\]", path)]


def row_of(file: str, path: str) -> int:
    """Return the index of a field's row."""
    rows = ROWS[file]
    return next(index for index, (pattern, *_) in enumerate(rows) if re.fullmatch(pattern, path))


class Built:
    """The stages of the recipe `cpu`, which count as built."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        tree.rewrite("cpu", lambda recipe: TARGET)
        tree.rewrite("kokoro-82m", lambda recipe: MODEL)
        tree.build()
        self.before = {s.name: json.dumps(s.derivation(), sort_keys=True) for s in self.graph().stages()}

    def graph(self, target: dict[str, Any] = TARGET, model: dict[str, Any] = MODEL) -> RecipeGraph:
        if "gates" in target:
            gates = model["gates"]
            changed = {
                n: gates.get(n, {}) | g if isinstance(g, dict) else g for n, g in target["gates"].items()
            }
            target = target | {"gates": gates | changed}
        files = TargetFile.model_validate(_tuples(target)), ModelFile.model_validate(_tuples(model))
        return RecipeGraph(resolve("cpu", *files), self.tree.root / "artifacts", self.tree.root)

    def stale(self, graph: RecipeGraph | None = None) -> set[str]:
        """Return the stages whose derivation is new, or unknown because an input is not built."""
        names = set()
        for stage in (graph or self.graph()).stages():
            try:
                derivation = json.dumps(stage.derivation(), sort_keys=True)
            except BuildError:
                derivation = ""
            if derivation != self.before.get(stage.name):
                names.add(stage.name)
        return names


@pytest.fixture(scope="module")
def stages_built(built: Tree) -> Built:  # noqa: F811
    return Built(built)


def test_rows_match_fields() -> None:
    for file, rows in ROWS.items():
        used = {row_of(file, path) for path in fields_of(file)}
        unused = [row[0] for index, row in enumerate(rows) if index not in used]
        assert unused == []
    paths = {field.path for field in recipe_fields("TargetFile")} - COMPOSING - {*fields_of("target")}
    assert {path.partition(".")[2] for path in paths} == {"kind", *ON_GPUS}


@pytest.mark.parametrize(("file", "path"), [(file, path) for file in ROWS for path in fields_of(file)])
def test_field_makes_exactly_its_stages_stale(stages_built: Built, file: str, path: str) -> None:
    _, expected, *values = ROWS[file][row_of(file, path)]
    value = values[0] if values else VALUES[path.rpartition(".")[2]]
    files: dict[str, Any] = {"target": copy.deepcopy(TARGET), "model": copy.deepcopy(MODEL)}
    name = "lexicon" if path.startswith("front_end") else "bert"
    if source := re.match(r"(checkpoint|front_end)(?:\.NAME)?\.sources(\[\w+\])", path):
        part = files["model"][source[1]]
        if (spec := SOURCES.get(source[1] + source[2])) is not None:
            (part if source[1] == "checkpoint" else part[name])["sources"] = [dict(spec)]
    recipe = stages_built.graph(**files).recipe
    _put(files[file], path.replace("NAME", name), value)
    if expected is None:
        with pytest.raises(ValidationError):
            stages_built.graph(**files)
        return
    graph = stages_built.graph(**files)
    assert graph.recipe != recipe, "the row needs another value"
    renamed = {f"other.{kind}" for kind in ("checkpoint", "reference", "front_end")}
    assert stages_built.stale(graph) == (expected | renamed if path == "model" else expected)


def test_padded_length_is_judged_like_another_model(stages_built: Built) -> None:
    stale = stages_built.stale(stages_built.graph(TARGET | {"length": "padded"}))
    assert stale == stages("export lower speak validate throughput bundle speech phonemes")


@pytest.mark.parametrize("field", ON_GPUS)
def test_fields_of_a_gpu_change_parameters(stages_built: Built, field: str) -> None:
    target: dict[str, Any] = {"kind": "cuda", "host": {"kind": "llvm", "mcpu": "znver5"}}
    value, expected = ON_GPUS[field]

    def parameters(target: dict[str, Any]) -> dict[str, Any]:
        graph = stages_built.graph(TARGET | {"target": target})
        return {stage.name.partition(".")[2]: stage.parameters for stage in graph.stages()}

    before, after = parameters(target), parameters(target | {field: value})
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    kinds = {name if name.startswith("machine") else name.partition(".")[0] for name in names}
    assert kinds == expected | {"bundle"}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_order_and_whitespace_make_nothing_stale(stages_built: Built, newline: str) -> None:
    for name, recipe in (("cpu", TARGET), ("kokoro-82m", MODEL)):
        text = yaml.safe_dump(_reversed(recipe), sort_keys=False, allow_unicode=True, width=10**6, indent=4)
        lines = [f"{line}  # {number}{newline}# ə" for number, line in enumerate(text.splitlines())]
        path = stages_built.tree.root / "recipes" / f"{name}.yaml"
        path.write_text(newline.join(lines) + newline, encoding="utf-8")
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
def test_tool_version_makes_its_stages_stale(
    stages_built: Built, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tool == "python":
        monkeypatch.setattr(versions.platform, "python_version", lambda: "3.11.99")
    elif tool == "LLVM":  # in a TVM of the same version
        for module in (versions, bundle):
            monkeypatch.setattr(module, "llvm_version", lambda: "99.0.0")
    elif tool == "the linker":
        monkeypatch.setattr(type(GNU), "version", lambda self: "g++ 99")
    else:
        original = versions._version
        monkeypatch.setattr(versions, "_version", lambda name: "99.0" if name == tool else original(name))
    assert stages_built.stale() == TOOLS[tool]


def test_tools_have_rows() -> None:
    assert set(TOOLS) == {*TORCH, *TVM, "python", "LLVM", "the linker"}


# Outputs, and the stages that become stale if a byte of one differs.
OUTPUTS = {
    ("checkpoint", "weights.safetensors"): stages("pack reference bundle"),
    ("checkpoint", "voices.safetensors"): stages("reference speak bundle"),
    ("checkpoint", "config.json"): stages("export reference speak validate throughput bundle"),
    ("front_end", "front_end.safetensors"): stages("phonemes bundle"),
    ("front_end", "tagger.zip"): stages("phonemes"),
    ("phonemes", "phonemes.json"): stages("bundle"),
    ("runtime", "libtvm_runtime.so"): stages("bundle"),
    ("machine", "machine.json"): stages("lower compile speak validate throughput bundle"),
    ("export.decoder-5120", "program.pt2"): stages("lower compile", "decoder"),
    ("lower.decoder-5120", "module.py"): stages("compile", "decoder"),
    ("lower.decoder-5120", "parameters.json"): stages("pack validate throughput speak bundle", "decoder"),
    ("compile.decoder-5120", "decoder-5120.so"): stages("validate throughput speak bundle", "decoder"),
    ("pack.decoder", "decoder.safetensors"): stages("validate throughput speak bundle", "decoder"),
    ("reference", "short.safetensors"): JUDGED,
    ("validate.decoder-5120", "validation.json"): stages("bundle"),
    ("bundle", "bundle.json"): stages("speech"),
    ("bundle", "provenance.json"): NONE,
}


@pytest.mark.parametrize(("kind", "output"), OUTPUTS)
def test_output_makes_its_readers_stale(
    stages_built: Built, kind: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Stage.sha256

    def sha256(self: Stage, file: str) -> str:
        is_changed = file == output and self.name.partition(".")[2] == kind
        return "0" * 64 if is_changed else original(self, file)

    monkeypatch.setattr(Stage, "sha256", sha256)
    assert stages_built.stale() == OUTPUTS[kind, output]


def _put(recipe: Any, path: str, value: Any) -> None:
    """Set a field: `a[kind].b` in the item of `a` of that kind, `a[].b` in the last item."""
    *above, last = path.split(".")
    for part in above:
        name, bracket, kind = part.rstrip("]").partition("[")
        recipe = recipe.setdefault(name, {})
        if bracket and isinstance(recipe, list):
            recipe = next(item for item in recipe if item["kind"] == kind) if kind else recipe[-1]
    recipe[last] = value


def _tuples(value: Any) -> Any:
    """Replace lists by tuples, as the reader of recipes does."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _reversed(value: Any) -> Any:
    """Reverse the order of all keys."""
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value
