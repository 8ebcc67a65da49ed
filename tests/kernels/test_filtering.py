from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.kernels.base.filtering import DIRECT, Filtering, transforms

MOST_POINTS = 14
FILTERINGS = [
    Filtering(outputs, taps)
    for outputs in range(1, MOST_POINTS + 1)
    for taps in range(1, MOST_POINTS + 2 - outputs)
]
COMPOSED = [
    Filtering(outputs, taps).of(Filtering(inner, inner))
    for outputs, taps, inner in [(2, 2, 6), (2, 2, 4), (2, 3, 4), (3, 3, 4), (1, 3, 2), (4, 2, 3), (1, 1, 4)]
]
CIRCLES = [
    Filtering(outputs, taps, circle=True)
    for outputs, taps in [(4, 3), (6, 3), (8, 3), (10, 3), (7, 6), (12, 7), (14, 7), (14, 11), (18, 11)]
]
named = pytest.mark.parametrize("filtering", FILTERINGS, ids=str)
any_named = pytest.mark.parametrize("filtering", FILTERINGS + COMPOSED + CIRCLES, ids=str)


def filtered(filtering: Filtering, taps: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Compute `outputs` results of a filter from as many products as there are points."""
    matrices = transforms(filtering)
    return matrices.output @ ((matrices.weight @ taps) * (matrices.signal @ samples))


@any_named
def test_transforms_have_expected_shapes(filtering: Filtering) -> None:
    matrices, points = transforms(filtering), filtering.points
    assert filtering.samples == filtering.outputs + filtering.taps - 1
    assert matrices.output.shape == (filtering.outputs, points)
    assert matrices.weight.shape == (points, filtering.taps)
    assert matrices.signal.shape == (points, filtering.samples)
    assert {m.dtype for m in (matrices.output, matrices.weight, matrices.signal)} == {np.dtype(np.float64)}


@named
def test_filtering_points_equal_samples(filtering: Filtering) -> None:
    assert filtering.points == filtering.samples
    assert (filtering.inner, filtering.outer) == (filtering, DIRECT)


def test_nested_filtering_multiplies_points() -> None:
    composed = Filtering(2, 3).of(Filtering(4, 4))
    assert (composed.outputs, composed.taps, composed.points) == (8, 12, 4 * 7)
    assert (composed.inner, composed.outer) == (Filtering(4, 4), Filtering(2, 3))
    assert str(composed) == "F(2, 3) of F(4, 4)"


def test_filtering_on_circle_has_three_points_for_two() -> None:
    on_circle = Filtering(14, 11, circle=True)
    assert (on_circle.samples, on_circle.points, str(on_circle)) == (24, 8 + 3 * 8, "F(14, 11) on the circle")
    assert Filtering(8, 3, circle=True).points == 6 + 3 * 2


@pytest.mark.parametrize(("outputs", "taps"), [(2, 3), (4, 2), (5, 7)])
def test_filtering_on_circle_needs_even_samples(outputs: int, taps: int) -> None:
    with pytest.raises(ValueError, match=rf"has {outputs + taps - 1} samples: expected 6, 8, 10"):
        transforms(Filtering(outputs, taps, circle=True))


def test_filtering_rejects_unequal_inner() -> None:
    with pytest.raises(ValueError, match=r"F\(6, 3\) cannot be nested"):
        Filtering(2, 2).of(Filtering(6, 3))


@any_named
def test_transforms_compute_every_product(filtering: Filtering) -> None:
    """Use unit taps and unit samples, which suffice because filtering is bilinear."""
    m, r, n = filtering.outputs, filtering.taps, filtering.samples
    for k, taps in enumerate(np.eye(r)):
        for i, samples in enumerate(np.eye(n)):
            want = [float(i == j + k) for j in range(m)]
            np.testing.assert_allclose(filtered(filtering, taps, samples), want, atol=1e-12 * 2 ** (n / 2))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_transforms_match_convolution(data: st.DataObject) -> None:
    filtering = data.draw(st.sampled_from(CIRCLES + [f for f in FILTERINGS + COMPOSED if f.inner.points <= 8]))
    numbers = st.floats(-1e3, 1e3)
    taps, samples = (
        np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)))
        for size in (filtering.taps, filtering.samples)
    )
    want = np.correlate(samples, taps, "valid")
    scale = max(np.abs(taps).max() * np.abs(samples).max(), 1e-300)
    assert np.abs(filtered(filtering, taps, samples) - want).max() <= 1e-12 * scale * filtering.points


def test_direct_filtering_has_one_product() -> None:
    matrices = transforms(DIRECT)
    assert [m.tolist() for m in (matrices.output, matrices.weight, matrices.signal)] == [[[1.0]]] * 3


@pytest.mark.parametrize("filtering", FILTERINGS + COMPOSED, ids=str)
def test_transforms_have_unit_gain(filtering: Filtering) -> None:
    """Expect gains of about one at every point, by powers of two."""
    # In a nested filtering both gains meet, and inner rows share samples.
    matrices, most = transforms(filtering), 2**0.5 if filtering.within is None else 4.0
    for vectors in (matrices.signal, matrices.output.T):
        gains = np.linalg.norm(vectors, axis=1)
        assert (gains >= 1 / most).all()
        assert (gains <= most).all()


@pytest.mark.parametrize(("outputs", "taps"), [(14, 2), (2, 14), (9, 7)])
def test_transforms_reject_too_many_points(outputs: int, taps: int) -> None:
    with pytest.raises(
        ValueError, match=rf"F\({outputs}, {taps}\) needs 15 points, the table has at most 14"
    ):
        transforms(Filtering(outputs, taps))


@pytest.mark.parametrize("filtering", FILTERINGS + CIRCLES, ids=str)
def test_transforms_halve_opposite_points(filtering: Filtering) -> None:
    """Expect half sums and half differences of opposite rows without common entries."""
    matrices = transforms(filtering)
    assert sorted(p for pair in matrices.opposites for p in pair) == list(range(filtering.points))
    signal, output = matrices.halves(matrices.signal), matrices.halves(matrices.output.T)
    for first, second in (pair for pair in matrices.opposites if len(pair) == 2):
        for rows, halved in ((matrices.signal, signal), (matrices.output.T, output)):
            assert not (halved[first] * halved[second]).any()
            np.testing.assert_array_equal(halved[first] + halved[second], rows[first])
            np.testing.assert_array_equal(halved[first] - halved[second], rows[second])


@pytest.mark.parametrize("filtering", CIRCLES, ids=str)
def test_transforms_derive_third_directions(filtering: Filtering) -> None:
    matrices = transforms(filtering)
    signal, output = matrices.halves(matrices.signal), matrices.halves(matrices.output.T)
    assert len(matrices.directions) == 2 * filtering.fours
    for first, second, third in matrices.directions:
        np.testing.assert_allclose(signal[third], signal[first] + signal[second], atol=1e-12)
        np.testing.assert_allclose(output[third], output[first] - output[second], atol=1e-12)


@pytest.mark.parametrize(
    ("filtering", "limit"),
    [
        (DIRECT, 1.0),
        (Filtering(4, 3), 2.2),
        (Filtering(4, 4), 3.1),
        (Filtering(6, 3), 4.6),
        (Filtering(5, 7), 15.3),
        (Filtering(8, 7), 58.3),
        (Filtering(6, 6), 15.1),
        (Filtering(2, 2).of(Filtering(4, 4)), 3.3),
        (Filtering(2, 3).of(Filtering(4, 4)), 4.0),
        (Filtering(2, 2).of(Filtering(6, 6)), 16.2),
        (Filtering(8, 3, circle=True), 1.47),
        (Filtering(10, 3, circle=True), 2.24),
        (Filtering(14, 7, circle=True), 1.43),
        (Filtering(14, 11, circle=True), 1.34),
    ],
    ids=str,
)
def test_transforms_loss_matches_measured_noise(filtering: Filtering, limit: float) -> None:
    """Compare with the stated loss, and with the noise of rounding to half as many bits."""
    matrices, outputs, taps = transforms(filtering), filtering.outputs, filtering.taps
    assert 0.95 * limit <= matrices.loss <= limit
    rng = np.random.default_rng(0)

    def rounded(values: np.ndarray) -> np.ndarray:
        return values * (1 + 1e-4 * rng.standard_normal(values.shape))

    weights, samples = rng.standard_normal((taps, 20_000)), rng.standard_normal((filtering.samples, 20_000))
    products = rounded(matrices.weight @ weights) * rounded(matrices.signal @ samples)
    lost = matrices.output @ products - np.stack(
        [(weights * samples[j : j + taps]).sum(0) for j in range(outputs)]
    )
    plain = 1e-4 * np.sqrt(2 * taps)
    assert np.sqrt(np.mean(lost**2)) / plain == pytest.approx(matrices.loss, rel=0.05)
