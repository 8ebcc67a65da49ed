from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.filtering import DIRECT, Filtering, transforms
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan, fold_stride, packing, split_phases

FEATURES = {
    "avx512": Features(16, 32),
    "avx2": Features(8, 16),
    "neon": Features(4, 32, by_lane=True),
    "wasm": Features(4, 12, eager_memory=True),
}
FILTERINGS = [DIRECT, *(Filtering(*each) for each in [(4, 3), (4, 4), (6, 3), (5, 7), (8, 7), (6, 6)])]


def schedule_key(filtering: Filtering) -> ConvChoice:
    """Return the schedule's key of a layer."""
    return ConvChoice(filtering.outputs, filtering.taps)


plans = st.builds(
    ConvPlan,
    channels=st.integers(1, 9),
    outputs=st.integers(1, 70),
    taps=st.integers(1, 12),
    dilation=st.sampled_from([1, 2, 3, 5]),
    features=st.sampled_from(list(FEATURES.values())),
    choice=st.sampled_from([schedule_key(filtering) for filtering in FILTERINGS]),
)


def convolved(x: np.ndarray, weight: np.ndarray, stride: int = 1, dilation: int = 1) -> np.ndarray:
    """Convolve without padding: x (T, I), weight (O, I, K) -> (T', O)."""
    taps = weight.shape[2]
    steps = (len(x) - dilation * (taps - 1) - 1) // stride + 1
    return sum(
        x[k * dilation : k * dilation + stride * (steps - 1) + 1 : stride] @ weight[:, :, k].T
        for k in range(taps)
    )


def from_packed(packed: np.ndarray, plan: ConvPlan, x: np.ndarray, steps: int) -> np.ndarray:
    """Convolve as the kernels do with packed weights: x (T, I), zero-padded, -> (steps, columns)."""
    matrices, m, n = transforms(plan.filtering), plan.filtering.outputs, plan.filtering.points
    samples = plan.filtering.samples
    reach = plan.dilation * plan.groups * plan.filtering.taps
    x = np.concatenate([x, np.zeros((reach + m * plan.dilation, x.shape[1]))])
    y = np.zeros((steps + m * plan.dilation, plan.column_blocks * plan.columns))
    for first in range(steps):
        if first // plan.dilation % m:
            continue  # another row's result
        total = np.zeros((n, plan.column_blocks * plan.columns))
        for g in range(plan.groups):
            start = first + g * plan.filtering.taps * plan.dilation
            window = matrices.signal @ x[start : start + samples * plan.dilation : plan.dilation][:samples]
            for p in range(n):
                total[p] += np.einsum("bcv,c->bv", packed[:, p, g], window[p]).ravel()
        for j, combination in enumerate(matrices.output):
            y[first + j * plan.dilation] = combination @ total
    return y[:steps]


# Groups of taps are filtered too, which no choice of a schedule asks for.
ruled = st.builds(
    ConvPlan,
    channels=st.integers(1, 9),
    outputs=st.integers(1, 70),
    taps=st.integers(8, 12),
    dilation=st.sampled_from([1, 2, 3, 5]),
    features=st.sampled_from(list(FEATURES.values())),
    tolerant=st.just(True),
)


@given(plans | ruled, st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_packing_preserves_convolution(plan: ConvPlan, steps: int) -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((plan.outputs, plan.channels, plan.taps))
    x = rng.standard_normal((steps + plan.dilation * (plan.taps - 1), plan.channels))
    packed = packing("conv", plan, np.asarray).pack(weight)
    assert packed.shape == plan.packed_shape
    assert packed.dtype == np.float32
    actual = from_packed(packed.astype(np.float64), plan, x, steps)
    want = convolved(x, weight, dilation=plan.dilation)
    assert np.abs(actual[:, : plan.outputs] - want).max() <= 1e-5 * np.abs(want).max()
    assert not actual[:, plan.outputs :].any(), "columns that fill the last block are zeros"


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize(("taps", "transforms"), [(1, False), (3, True), (5, True), (12, False)])
def test_plan_stores_taps_of_wide_layers(taps: int, transforms: bool, features: Features) -> None:
    """Expect untransformed weights."""
    # Transformed weights would be two to three times as many. The kernel transforms one group of taps at a
    # time.
    plan = ConvPlan(512, 512, taps, 1, features, tolerant=True)
    assert plan.transforms_weights == transforms
    assert plan.packed_shape == (plan.column_blocks, 1, taps, 512, plan.columns)


def test_packing_rounds_transformed_weights_once() -> None:
    weight = np.random.default_rng(0).standard_normal((64, 8, 8)).astype(np.float32)
    plan = ConvPlan(8, 64, 8, 1, FEATURES["avx512"], choice=ConvChoice(4, 4))
    split = weight.astype(np.float64).reshape(2, 32, 8, 2, 4)
    exact = np.einsum("pk,bocgk->bpgco", transforms(plan.filtering).weight, split)
    packed = packing("conv", plan, np.asarray).pack(weight)
    assert (np.abs(packed - exact) <= 0.5001 * np.spacing(np.abs(exact).astype(np.float32))).all()


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 13), st.integers(2, 6), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_fold_stride_multiplies_channels(
    outputs: int, inputs: int, taps: int, stride: int, steps: int
) -> None:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((outputs, inputs, taps))
    x = rng.standard_normal((stride * (steps - 1) + taps, inputs))
    split = np.concatenate([x, np.zeros((-len(x) % stride + stride, inputs))])
    actual = convolved(split.reshape(-1, stride * inputs), fold_stride(weight, stride))[:steps]
    np.testing.assert_allclose(actual, convolved(x, weight, stride), atol=1e-12)


@given(
    st.integers(1, 5),
    st.integers(1, 20),
    st.sampled_from([2, 4, 6, 10]),
    st.sampled_from([1, 8, 16]),
    st.integers(1, 20),
)
@settings(max_examples=60, deadline=None)
def test_split_phases_multiplies_outputs(
    inputs: int, outputs: int, stride: int, columns: int, steps: int
) -> None:
    """Expect that phases in the later half of a stride read the input a step later."""
    rng = np.random.default_rng(0)
    weight, x = rng.standard_normal((inputs, outputs, 2 * stride)), rng.standard_normal((steps, inputs))
    whole = np.zeros((stride * (steps + 1), outputs))
    for t in range(steps):
        whole[t * stride : (t + 2) * stride] += np.einsum("i,iok->ko", x[t], weight)
    want = whole[stride // 2 : stride // 2 + stride * steps]

    split = split_phases(weight, stride, columns)
    width = -(-outputs // columns) * columns
    assert split.shape == (stride * width, inputs, 2)
    padded = np.concatenate([np.zeros((1, inputs)), x, np.zeros((1, inputs))])
    actual = convolved(padded, split).reshape(steps + 1, stride, width)
    for phase in range(stride):
        late = int(phase + stride // 2 >= stride)
        np.testing.assert_allclose(
            actual[late : late + steps, phase, :outputs], want[phase::stride], atol=1e-12
        )
        assert not actual[:, phase, outputs:].any()


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())
@pytest.mark.parametrize("filtering", FILTERINGS, ids=lambda f: f"F({f.outputs},{f.taps})")
@pytest.mark.parametrize("channels", [1, 22, 128, 256, 1090, 2048])
@pytest.mark.parametrize("dilation", [1, 3, 5])
def test_plan_sizes_are_consistent(
    channels: int, dilation: int, filtering: Filtering, features: Features
) -> None:
    """Expect whole dilations in tiles, free registers for operands, and blocks of at least one tile."""
    plan = ConvPlan(channels, 40, 11, dilation, features, choice=schedule_key(filtering))
    assert plan.tile_rows * plan.vectors <= features.registers - 4
    assert plan.rows % plan.tile_rows == 0
    assert filtering == DIRECT or plan.rows % dilation == 0
    assert plan.rows >= 1
    assert plan.tiles >= 1
    assert plan.groups * filtering.taps >= plan.taps > (plan.groups - 1) * filtering.taps
    assert plan.column_blocks * plan.columns >= plan.outputs > (plan.column_blocks - 1) * plan.columns
    assert plan.row_floats > channels


machines = pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())


@machines
@pytest.mark.parametrize("taps", range(1, 13))
@pytest.mark.parametrize("dilation", [1, 3, 5, 6, 7, 13])
def test_plan_rules_choose_allowed_filterings(dilation: int, taps: int, features: Features) -> None:
    plan = ConvPlan(128, 128, taps, dilation, features, tolerant=True)
    assert plan.allows(plan.filtering)
    assert plan.rows >= 1
    assert plan.tiles >= 1
    assert (plan.filtering == DIRECT) == (taps == 1 or dilation > 6)


@machines
@pytest.mark.parametrize("taps", [3, 7, 8, 11])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_plan_allows_choices_of_rules(precision: str, taps: int, features: Features) -> None:
    features = replace(features, precision=precision)
    rule = ConvPlan(128, 128, taps, 1, features, tolerant=True)
    again = replace(rule, choice=schedule_key(rule.filtering))
    assert again.filtering == rule.filtering
    assert again.packed_shape == rule.packed_shape
    assert again.layout == rule.layout


@machines
def test_plan_does_not_filter_intolerant_layers(features: Features) -> None:
    assert ConvPlan(128, 128, 7, 1, features).filtering == DIRECT


@machines
def test_plan_nests_filterings_on_measured_lanes(features: Features) -> None:
    filtering = ConvPlan(128, 128, 11, 1, features, tolerant=True).filtering
    assert filtering == (Filtering(2, 2).of(Filtering(6, 6)) if features.lanes == 16 else Filtering(6, 6))


@machines
def test_plan_filters_seven_taps_with_most_points_on_measured_lanes(features: Features) -> None:
    filtering = ConvPlan(128, 128, 7, 1, features, tolerant=True).filtering
    assert filtering == (Filtering(8, 7) if features.lanes >= 8 else Filtering(5, 7))


def test_plan_uses_fewer_points_for_rounded_weights() -> None:
    features = replace(FEATURES["avx512"], precision="float16")
    assert ConvPlan(128, 128, 7, 1, features, tolerant=True).filtering == Filtering(5, 7)


@machines
def test_plan_does_not_filter_strided_layers(features: Features) -> None:
    assert ConvPlan(128, 128, 3, 1, features, tolerant=True, stride=2).filtering == DIRECT


@machines
def test_plan_stores_taps_of_phases(features: Features) -> None:
    """Expect that the kernel transforms two taps to read three steps, the first two or the last two."""
    plan = ConvPlan(128, 1280, 2, 1, features, tolerant=True, phases=10)
    assert plan.filtering == Filtering(6, 3)
    assert plan.packed_shape[1:3] == (1, 2)
    assert not plan.allows(Filtering(2, 2))  # sees two steps only


@machines
def test_plan_allows_groups_of_whole_rows_only(features: Features) -> None:
    plan = ConvPlan(128, 128, 11, 1, features, tolerant=True)
    assert plan.allows(Filtering(4, 4))
    assert plan.allows(DIRECT)
    assert not plan.allows(Filtering(4, 3))
    assert not plan.allows(Filtering(6, 12))  # more points than are known
    assert not ConvPlan(128, 128, 11, 1, features).allows(Filtering(4, 4))
