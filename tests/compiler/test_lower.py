from __future__ import annotations

import json

import pytest
import tvm
from lowering import BUCKET, PASSES, lowered, lowered_program, parameters, program

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.lower import Parameter

SMALL = [("duration", "exact"), ("text_encoder", "exact"), ("text_encoder", "masked"), ("bert", "padded")]
PADDED = pytest.mark.slow("the recipe cpu-padded alone has this policy")
POLICIES = ["exact", "masked", pytest.param("padded", marks=PADDED)]


@pytest.mark.slow("TVM takes seconds to parse a component's text")
@pytest.mark.parametrize(("component", "policy"), SMALL)
def test_lowered_script_parses_back(component: str, policy: str) -> None:
    module = lowered(component, policy)[0].module
    again = tvm.script.from_source(module.script(show_meta=True))
    tvm.ir.assert_structural_equal(again, module)


@pytest.mark.parametrize("component", ["bert", "duration", "text_encoder", "f0n", "decoder"])
@pytest.mark.parametrize("policy", POLICIES)
def test_lower_prefixes_functions(component: str, policy: str) -> None:
    """Expect disjoint names of two components, so that they can be linked into one library."""
    module = lowered(component, policy)[0].module
    names = [variable.name_hint for variable in module.get_global_vars()]
    assert {f"{component}_forward", f"{component}_manifest"} <= set(names)
    assert all(name.startswith(f"{component}_") for name in names)
    symbols = {
        v.name_hint: f.attrs["global_symbol"]
        for v, f in module.functions.items()
        if "global_symbol" in f.attrs
    }
    assert symbols == {name: name for name in names}


@pytest.mark.parametrize("component", ["bert", "duration", "text_encoder", "f0n", "decoder"])
@pytest.mark.parametrize("policy", POLICIES)
def test_lowered_module_has_no_constants(component: str, policy: str) -> None:
    """Expect weights as arguments only: every bucket's library would repeat a constant."""
    assert "GenericConst" not in lowered(component, policy)[0].module.script(show_meta=False)


@pytest.mark.parametrize(("component", "policy"), SMALL)
def test_lower_lists_parameters_of_program(component: str, policy: str) -> None:
    result = lowered(component, policy)[0]
    expected = parameters(program(component, policy))
    assert [p.name for p in result.parameters] == list(expected)
    function = result.module[f"{component}_forward"]
    shapes = [tuple(int(e) for e in p.ty.shape) for p in function.params[-len(result.parameters) :]]
    assert [p.shape for p in result.parameters] == shapes
    for parameter in result.parameters:
        shape = tuple(expected[parameter.name].shape)
        layout = parameter.packing.layout(shape) if parameter.packing else (shape, "float32")
        assert (parameter.shape, parameter.dtype) == layout
        assert Parameter.from_json(json.loads(json.dumps(parameter.to_json()))) == parameter
    assert any(p.packing for p in result.parameters)


def test_lowered_size_does_not_depend_on_bucket() -> None:
    """Expect a loop for the LSTM: nothing grows with the length."""
    text = lowered("text_encoder", "masked")[0].module.script(show_meta=True)
    from lowering import CONFIG, RECIPE

    from kokoro_tvm.compiler.export import export_component

    patches = RECIPE["components"]["text_encoder"]["patches"]
    longer = lowered_program(
        export_component("text_encoder", CONFIG, "masked", 8 * BUCKET, patches), "text_encoder"
    )
    assert len(longer.module.script(show_meta=True).splitlines()) == len(text.splitlines())


def test_lower_dumps_passes_in_order() -> None:
    seen: list[str] = []
    lowered_program(program("text_encoder"), "text_encoder", dump=lambda name, module: seen.append(name))
    assert seen == ["import", *PASSES]


def test_lower_is_deterministic() -> None:
    again = lowered_program(program("duration"), "duration").module
    assert again.script(show_meta=True) == lowered("duration")[0].module.script(show_meta=True)


def test_lower_rejects_unknown_passes() -> None:
    with pytest.raises(
        BuildError,
        match="unknown pass 'fusion'; there are: fuse, fuse_moments, halve, legalize, narrow, "
        "plan_memory, schedule_gpu, select_kernels, share_launches",
    ):
        lowered_program(program("text_encoder"), "text_encoder", [*PASSES, "fusion"])


def test_lower_rejects_missing_select_kernels() -> None:
    with pytest.raises(
        BuildError, match=r"text_encoder: the pass list \['legalize', 'fuse'\] has no select_kernels"
    ):
        lowered_program(program("text_encoder"), "text_encoder", ["legalize", "fuse"])


def test_lower_rejects_late_functions() -> None:
    with pytest.raises(BuildError, match=r"duration: the functions .* are not named after the component"):
        lowered_program(program("duration"), "duration", ["select_kernels", "legalize"])


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_lower_adds_seeded_entry(policy: str) -> None:
    module = lowered("decoder", policy)[0].module
    forward_parameters, seeded = (module[f"decoder_{entry}"].params for entry in ("forward", "seeded"))
    names = [parameter.name for parameter in forward_parameters]
    assert [p.name for p in seeded] == ["seed" if name == "noise" else name for name in names]
    (seed,) = (p for p in seeded if p.name == "seed")
    assert (str(seed.ty.dtype), [int(extent) for extent in seed.ty.shape]) == ("uint32", [3])
