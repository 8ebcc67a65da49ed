"""Draw a result: a panel for each text, a bar for each system."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

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


def can_draw() -> bool:
    """Check whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_chart(path: Path, result: Result, colors: ChartColors = LIGHT) -> None:
    """Draw the real-time factors into a PNG file, the fastest system first, all texts on one scale.

    Raises:
        InputError: The file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    systems = sorted((system for system in result.systems if system.texts), key=_mean_factor)
    height = 1.6 + 0.32 * len(systems)
    width = max(6.0, 1.6 + 2.6 * len(result.texts))
    most = max((timing.rtf for system in systems for timing in system.texts), default=1.0)
    with pyplot.rc_context(colors.style):
        figure, axes = pyplot.subplots(
            1, len(result.texts), sharex=True, sharey=True, squeeze=False, figsize=(width, height)
        )
        for panel, text in zip(axes[0], result.texts, strict=True):
            timings = [system.on(text.name) for system in systems]
            bars = panel.barh(
                [system.title for system in systems],
                [timing.rtf if timing else 0.0 for timing in timings],
                color=[colors.ours if system.ours else colors.peers for system in systems],
            )
            labels = [f"{timing.rtf:.2f}" if timing else "not run" for timing in timings]
            panel.bar_label(bars, labels, padding=3, fontsize=8)
            panel.set_title(f"{text.name} ({sum(text.tokens)} tokens)", fontsize=9)
            panel.set_xlim(0, 1.2 * most)
            panel.tick_params(labelsize=8)
            panel.spines[["top", "right"]].set_visible(False)
        axes[0][0].invert_yaxis()
        figure.suptitle(
            "Seconds of computing for a second of speech (less is faster; float32 if nothing else is said)",
            fontsize=10,
        )
        figure.supxlabel(f"{result.machine.cpu}, {result.threads} threads, {result.date}", fontsize=8)
        figure.tight_layout()
        try:
            with whole_file(path) as temporary:
                figure.savefig(temporary, format="png", dpi=110)
        finally:
            pyplot.close(figure)


def _mean_factor(system: SystemResult) -> float:
    """Return the mean real-time factor of a system's texts."""
    return sum(timing.rtf for timing in system.texts) / len(system.texts)
