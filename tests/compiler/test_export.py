from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from lowering import parameters
from tiers import some_of
from torch.export import ExportedProgram

from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.export import (
    PLAIN_OPERATIONS,
    export_component,
    list_operations,
    load_program,
    save_program,
)
from kokoro_tvm.model.components import build_component
from kokoro_tvm.model.kokoro import build_model, load_shipped_config
from kokoro_tvm.model.patches import apply_patches
from kokoro_tvm.model.patches.weight_norm import fold_weight_norm
from kokoro_tvm.model.signatures import SIGNATURES

CONFIG = load_shipped_config()
RECIPE = yaml.safe_load(
    (Path(__file__).parents[2] / "recipes" / "kokoro-82m.yaml").read_text(encoding="utf-8")
)
PATCHES: dict[str, list[str]] = {name: part["patches"] for name, part in RECIPE["components"].items()}
BUCKET = 256

PADDED = pytest.mark.slow("the recipe cpu-padded alone has this policy")
SMALLER, DECODER = ("bert", "duration", "text_encoder", "f0n"), "the decoder is exported for seconds"

_programs: dict[tuple[str, str], ExportedProgram] = {}


def program(name: str, policy: str = "exact") -> ExportedProgram:
    if (name, policy) not in _programs:
        _programs[name, policy] = export_component(name, CONFIG, policy, BUCKET, PATCHES[name])
    return _programs[name, policy]


@pytest.mark.parametrize("policy", ["exact", "masked", pytest.param("padded", marks=PADDED)])
@pytest.mark.parametrize("name", COMPONENTS)
class TestEveryProgram:
    def test_program_has_semantic_and_plain_operations_only(self, name: str, policy: str) -> None:
        names = list_operations(program(name, policy))
        assert any(n.startswith("kokoro.") for n in names)
        assert {n for n in names if not n.startswith("kokoro.")} <= PLAIN_OPERATIONS

    def test_program_has_component_signature(self, name: str, policy: str) -> None:
        exported = program(name, policy)
        signature = SIGNATURES[name].resolved(policy, BUCKET)
        inputs = exported.graph_signature.user_inputs
        assert list(inputs) == [spec.name for spec in signature.inputs]
        nodes = {node.name: node for node in exported.graph.nodes}
        values = [nodes[n].meta["val"] for n in inputs]
        values += [nodes[n].meta["val"] for n in exported.graph_signature.user_outputs]
        for value, spec in zip(values, (*signature.inputs, *signature.outputs), strict=True):
            assert value.dtype == getattr(torch, spec.dtype)
            for extent, expected in zip(value.shape, spec.shape, strict=True):
                if isinstance(expected, int):
                    assert extent == expected
                else:
                    factor, _, _ = expected.rpartition("*")
                    assert isinstance(extent, torch.SymInt)
                    (symbol,) = extent.node.expr.free_symbols
                    assert extent.node.expr == int(factor or 1) * symbol

    def test_program_has_stock_parameters_only(self, name: str, policy: str) -> None:
        exported = program(name, policy)
        stock = fold_weight_norm(build_model(CONFIG, None, device="meta").state_dict())
        values = parameters(exported)
        assert {n: t.shape for n, t in values.items()} == {n: stock[n].shape for n in values}
        assert all(t.is_meta for t in exported.state_dict.values())
        assert set(exported.state_dict) == set(values)
        assert not list(exported.named_buffers())
        assert not exported.constants
        first = [spec.target for spec in exported.graph_signature.input_specs][: len(values)]
        assert first == list(values), "parameters come before the inputs"

    def test_program_file_does_not_depend_on_machine(self, name: str, policy: str, tmp_path: Path) -> None:
        path = tmp_path / "program.pt2"
        save_program(program(name, policy), path)
        data = path.read_bytes()
        assert len(data) < 1 << 20
        for word in (b".py", str(Path.cwd()).encode(), b"stack_trace"):
            assert word not in data


@pytest.mark.parametrize("name", some_of(COMPONENTS, SMALLER, DECODER))
def test_program_size_does_not_depend_on_bucket(name: str) -> None:
    for policy in ("exact", "masked"):
        small = export_component(name, CONFIG, policy, 8, PATCHES[name])
        assert list_operations(small) == list_operations(program(name, policy))


@pytest.mark.parametrize("name", COMPONENTS)
def test_program_allows_every_length(name: str) -> None:
    exported = program(name)
    lengths = {str(s): (r.lower, r.upper) for s, r in exported.range_constraints.items() if s.is_symbol}
    assert list(lengths.values()) == [(1, BUCKET)]
    for steps in (1, 2, 3, BUCKET):
        sized = {s.name: _Sized(s.at(steps).shape) for s in SIGNATURES[name].inputs}
        for guard in exported._guards_code:
            assert eval(guard, {"L": sized}), f"{guard} forbids {steps}"


class _Sized:
    """An input of which a guard reads only the size."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.size = lambda: shape


@pytest.mark.parametrize(
    "name",
    some_of(("text_encoder", "duration", "f0n"), ("text_encoder", "duration"), "runs one component more"),
)
def test_loaded_program_matches_component(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = build_model(CONFIG, None)
    component = build_component(name, model)
    path = tmp_path / "program.pt2"
    save_program(program(name), path)
    loaded = load_program(path)
    with apply_patches(PATCHES[name], component), torch.no_grad():
        weights = dict(component.named_parameters())
        for steps in (1, 2, 11):
            inputs = [
                torch.randint(178, s.shape) if s.dtype == "int64" else torch.randn(s.shape)
                for s in (spec.at(steps) for spec in SIGNATURES[name].inputs)
            ]
            actual = loaded.graph_module(*(weights[n] for n in parameters(loaded)), *inputs)
            for g, w in zip(actual, component(*inputs), strict=True):
                assert torch.equal(g, w)


@pytest.mark.parametrize("name", some_of(COMPONENTS, SMALLER, DECODER))
def test_load_program_restores_program(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    save_program(program(name, "masked"), path)
    loaded = load_program(path)
    assert list_operations(loaded) == list_operations(program(name, "masked"))
    assert list(parameters(loaded)) == list(parameters(program(name, "masked")))
    assert loaded.graph_signature.user_inputs == program(name, "masked").graph_signature.user_inputs


@pytest.mark.slow("exports in several processes")
def test_save_program_is_reproducible(tmp_path: Path) -> None:
    code = (
        "import sys, yaml; from pathlib import Path\n"
        "from kokoro_tvm.compiler.export import export_component, save_program\n"
        "from kokoro_tvm.model.kokoro import load_shipped_config\n"
        "patches = yaml.safe_load(Path(sys.argv[1]).read_text(encoding='utf-8'))['components']\n"
        "for name in ('decoder', 'bert'):\n"
        "    for policy in ('exact', 'masked'):\n"
        "        path = Path(sys.argv[2]) / f'{name}-{policy}.pt2'\n"
        "        of = patches[name]['patches']\n"
        f"        save_program(export_component(name, load_shipped_config(), policy, {BUCKET}, of), path)\n"
    )
    recipe = Path(__file__).parents[2] / "recipes" / "kokoro-82m.yaml"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, recipe, tmp_path / "other"], check=True, env=environment)
    for name in ("decoder", "bert"):
        for policy in ("exact", "masked"):
            path = tmp_path / f"{name}-{policy}.pt2"
            save_program(program(name, policy), path)
            assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()


def test_export_makes_bucket_of_one_static() -> None:
    exported = export_component("text_encoder", CONFIG, "exact", 1, PATCHES["text_encoder"])
    assert not exported.range_constraints
    with pytest.raises(BuildError, match="text_encoder cannot have a bucket of 0 tokens"):
        export_component("text_encoder", CONFIG, "exact", 0, PATCHES["text_encoder"])


@pytest.mark.parametrize(
    ("component", "length", "bucket", "patches", "message"),
    [
        ("vocoder", "exact", 8, [], "unknown component 'vocoder'"),
        (
            "bert",
            "exact",
            513,
            ["albert"],
            "cannot have a bucket of 513 tokens: choose at least 1 and at most 512",
        ),
        ("bert", "exact", 8, ["alber"], "unknown patch 'alber': did you mean albert"),
        (
            "text_encoder",
            "exact",
            8,
            ["weight_norm", "lstm"],
            "cannot be exported with the patches weight_norm, lstm",
        ),
    ],
)
def test_export_rejects_invalid_arguments(
    component: str, length: str, bucket: int, patches: list[str], message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        export_component(component, CONFIG, length, bucket, patches)


@pytest.mark.parametrize("component", ["text_encoder", "f0n"])
def test_export_without_weight_norm_names_the_patch(component: str) -> None:
    """All weights of a decoder were named: 3,077 characters."""
    patches = [patch for patch in PATCHES[component] if patch != "weight_norm"]
    with pytest.raises(BuildError, match=r"values of its own, .*: add the patch `weight_norm` to") as caught:
        export_component(component, CONFIG, "exact", BUCKET, patches)
    assert len(str(caught.value)) < 350


def test_export_names_the_line_of_a_mistake_in_a_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("kokoro_tvm.model.patches.text_encoder.ops")
    message = r"a patch has a mistake: NameError in .*text_encoder\.py, line \d+: name 'ops' is not defined"
    with pytest.raises(BuildError, match=message):
        export_component("text_encoder", CONFIG, "exact", 8, PATCHES["text_encoder"])


def test_export_rejects_foreign_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kokoro_tvm.compiler.export.PLAIN_OPERATIONS", PLAIN_OPERATIONS - {"aten.cat.default"}
    )
    with pytest.raises(BuildError, match=r"the exported duration contains aten\.cat\.default"):
        export_component("duration", CONFIG, "padded", 8, PATCHES["duration"])


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "another archive"])
def test_load_program_rejects_damaged_files(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    if damage == "empty":
        path.touch()
    elif damage == "truncated":
        save_program(program("text_encoder"), path)
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "another archive":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("hello", "world")
    with pytest.raises(BuildError, match=r"program\.pt2 cannot be read as an exported program"):
        load_program(path)
