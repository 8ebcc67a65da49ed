"""Draw a result: a panel for each text, a bar for each system."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.common.output import whole_file

if TYPE_CHECKING:
    from kokoro_tvm.tools.bench.results import Result

_OURS, _PEERS = "#d1495b", "#8d99ae"


def can_draw() -> bool:
    """Check whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_chart(path: Path, result: Result) -> None:
    """Draw the real-time factors into a PNG file. Raises InputError if it cannot be written."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    systems = [system for system in result.systems if system.texts]
    height = 1.6 + 0.32 * len(systems)
    width = max(6.0, 1.6 + 2.6 * len(result.texts))
    figure, axes = pyplot.subplots(1, len(result.texts), sharey=True, squeeze=False, figsize=(width, height))
    for panel, text in zip(axes[0], result.texts, strict=True):
        factors = {system.title: timing.rtf for system in systems if (timing := system.on(text.name))}
        colors = [_OURS if system.ours else _PEERS for system in systems if system.on(text.name)]
        bars = panel.barh(list(factors), list(factors.values()), color=colors)
        panel.bar_label(bars, fmt="%.3f", padding=3, fontsize=8)
        panel.set_title(f"{text.name} ({sum(text.tokens)} tokens)", fontsize=9)
        panel.set_xlim(0, 1.3 * max(factors.values(), default=1.0))
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0][0].invert_yaxis()
    figure.suptitle("Seconds of computing for a second of speech (less is faster)", fontsize=10)
    figure.supxlabel(f"{result.machine.cpu}, {result.threads} threads, {result.date}", fontsize=8)
    figure.tight_layout()
    try:
        with whole_file(path) as temporary:
            figure.savefig(temporary, format="png", dpi=110)
    finally:
        pyplot.close(figure)
