"""Draw a result: the speed of every system over the fidelity of its speech."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.output import whole_file

if TYPE_CHECKING:
    from kokoro_tvm.tools.bench.results import Result, SystemResult


@dataclass(frozen=True)
class ChartColors:
    """Colours of a chart."""

    back: str
    ink: str
    ours: str
    peers: str

    @property
    def style(self) -> dict[str, str]:
        """The colours of paper and ink as matplotlib's parameters."""
        paper = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
        ink = (
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "axes.titlecolor",
            "xtick.color",
            "ytick.color",
        )
        return dict.fromkeys(paper, self.back) | dict.fromkeys(ink, self.ink)


LIGHT = ChartColors("#ffffff", "#1c1d20", "#b3471d", "#a9adb6")
DARK = ChartColors("#0d1117", "#e6e8ec", "#f09a6a", "#5d6470")

_TICKS = (0.5, 0.1, 0.01, 0.001, 0.0001)  # distances of a correlation from 1
_RADIUS = 5.0  # of a point, in pixels
_SIDES = (  # where a name may be: its shift from the point in points of 1/72 inch, and its alignment
    ((8, 0), "left", "center"),
    ((-8, 0), "right", "center"),
    ((0, 7), "center", "bottom"),
    ((0, -7), "center", "top"),
    ((5, 7), "left", "bottom"),
    ((5, -7), "left", "top"),
    ((-5, 7), "right", "bottom"),
    ((-5, -7), "right", "top"),
)


def can_draw() -> bool:
    """Check whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_chart(path: Path, result: Result, colors: ChartColors = LIGHT) -> None:
    """Draw speed over fidelity into a PNG file, a labelled point for each system that has both.

    Raises:
        InputError: The file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    points = _points(result)
    with pyplot.rc_context(colors.style):
        figure, axes = pyplot.subplots(figsize=(8.0, 5.0))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1.0, _TICKS[-1] / 2)  # what is like the stock model is to the right
        speeds = [speed for _, speed, _ in points] or [1.0]
        axes.set_ylim(0.6 * min(speeds), 1.5 * max(speeds))
        for distance, speed, system in points:
            color = colors.ours if system.ours else colors.peers
            axes.scatter(distance, speed, s=64 if system.ours else 40, color=color, zorder=3)
        axes.set_xticks(_TICKS, [f"{1 - distance:.5g}" for distance in _TICKS])
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}x")
        axes.minorticks_off()
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
        axes.set_xlabel("fidelity: correlation with the stock model in float64", fontsize=9)
        axes.set_ylabel("speed: seconds of speech a second", fontsize=9)
        axes.set_title("Speed and fidelity (up and to the right is better)", fontsize=10)
        figure.text(
            0.99,
            0.01,
            f"{result.machine.cpu}, {result.threads} threads, {result.date}",
            ha="right",
            fontsize=7,
        )
        figure.tight_layout(rect=(0, 0.02, 1, 1))
        if points:
            _label(axes, points)
        try:
            with whole_file(path) as temporary:
                figure.savefig(temporary, format="png", dpi=110)
        finally:
            pyplot.close(figure)


def _points(result: Result) -> list[tuple[float, float, SystemResult]]:
    """Return distance from the stock model and speed of each system that has both."""
    return [
        (_distance(system.fidelity), 1 / _mean_factor(system), system)
        for system in result.systems
        if system.texts and system.fidelity is not None
    ]


def _label(axes: Any, points: list[tuple[float, float, SystemResult]]) -> None:
    """Write the name of every system beside its point, on the first side where it covers nothing."""
    from matplotlib.transforms import Bbox

    centres = axes.transData.transform([(distance, speed) for distance, speed, _ in points])
    taken = [Bbox.from_extents(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in centres]
    for distance, speed, system in sorted(points, key=lambda point: not point[2].ours):
        for shift, horizontal, vertical in _SIDES:
            name = axes.annotate(
                system.title,
                (distance, speed),
                shift,
                textcoords="offset points",
                ha=horizontal,
                va=vertical,
                fontsize=9,
                weight="bold" if system.ours else "normal",
            )
            box = name.get_window_extent()
            is_inside = axes.bbox.x0 < box.x0 and box.x1 < axes.bbox.x1
            if is_inside and not any(box.overlaps(other) for other in taken):
                break
            name.remove()
        else:  # there is no room
            axes.add_artist(name)
        taken.append(box)


def _distance(fidelity: float) -> float:
    """Return how far a correlation is from 1, within the chart."""
    return min(max(1 - fidelity, _TICKS[-1]), 1.0)


def _mean_factor(system: SystemResult) -> float:
    """Return the mean real-time factor of a system's texts."""
    return sum(timing.rtf for timing in system.texts) / len(system.texts)
