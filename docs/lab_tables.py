"""The tables and the picture of docs/accuracy.md that tell what the fidelity lab found about padding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_tables import put

__all__ = ["put_lab"]

Row = dict[str, Any]


def put_lab(page: Path, results: Path, picture: Path) -> None:
    """From the JSON files of the commands; `lengths*.json` and `tails*.json` are put together."""
    put(page, "prefix-f0n", _prefix_table(_read(results / "prefix-f0n.json")["rows"]))
    put(page, "tail", _tail_table(_read(results / "tail.json")["rows"]))
    sizes = _read(results / "buckets.json")["rows"]
    put(page, "buckets", _bucket_table(sizes))
    lengths = [_read(path) for path in sorted(results.glob("lengths*.json"))]
    put(page, "lengths", _lengths_table(lengths))
    put(page, "edges", _edges_table(lengths))
    trials = [row for path in sorted(results.glob("tails*.json")) for row in _read(path)["trials"]]
    put(page, "tails", _tails_table(trials))
    _draw(picture, [row for row in sizes if row["utterance"] == sizes[0]["utterance"]])


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _prefix_table(rows: list[Row]) -> Iterator[list[str]]:
    yield ["utterance", "F0N is given", "f0 off by at most", "f0, SNR", "n, SNR", "spectra of the audio"]
    for row in rows:
        m = row["metrics"]
        given = {
            "padded": f"{row['bucket']} frames, padding as speech",
            "prefix only": f"its {row['frames']} frames",
            "masked": f"{row['bucket']} frames, masked",
        }[row["variant"]]
        numbers = [f"{m['f0_max_abs']:.2g} Hz", *(f"{m[name]:.1f} dB" for name in ("f0_snr_db", "n_snr_db"))]
        yield [row["utterance"], given, *numbers, f"{m['magnitude_correlation']:.6f}"]


def _tail_table(rows: list[Row]) -> Iterator[list[str]]:
    yield ["utterance", "bucket", "behind it", "`padded`: SNR", "spectra", "`masked`: SNR", "moved by"]
    for row in rows:
        if row["regime"] != "pt.padded":
            continue
        masked = _same(rows, row, "pt.masked", row["variant"])["metrics"]
        moved = "not a bit" if masked["moved_max_abs"] == 0 else f"{masked['moved_max_abs']:.2g}"
        cells = [*_two(row, 3), f"{masked['snr_db']:.1f} dB", moved]
        yield [f"{row['utterance']}, {row['frames']} frames", str(row["bucket"]), row["variant"], *cells]


def _bucket_table(rows: list[Row]) -> Iterator[list[str]]:
    """Padded and masked, the decoder alone and behind F0N; then what needs no bucket, and the bundle."""
    yield [
        "utterance",
        "bucket",
        "`padded`: SNR",
        "spectra",
        "with F0N: SNR",
        "spectra",
        "`masked`: SNR",
        "with F0N: SNR",
    ]
    for row in rows:
        if row["variant"] != "decoder" or row["regime"] == "pt.masked":
            continue
        label = f"{row['utterance']}, {row['frames']} frames"
        if row["regime"] == "tvm":
            where = "exact" if row["bucket"] is None else str(row["bucket"])
            yield [label, f"{where}, the bundle", *["–"] * 4, _snr(row), "–"]
            continue
        both = _same(rows, row, row["regime"], "f0n and decoder")
        if row["regime"] == "pt.exact":
            yield [label, "exact", *["–"] * 4, _snr(row), _snr(both)]
        else:
            masked = [_same(rows, row, "pt.masked", v) for v in ("decoder", "f0n and decoder")]
            yield [label, f"{row['bucket']}", *_two(row), *_two(both), *map(_snr, masked)]


def _same(rows: list[Row], like: Row, regime: str, variant: str) -> Row:
    """The row of another regime or variant at the same utterance and bucket."""
    (found,) = (
        row
        for row in rows
        if (row["regime"], row["variant"]) == (regime, variant)
        and all(row[key] == like[key] for key in ("utterance", "bucket"))
    )
    return found


def _snr(row: Row) -> str:
    return f"{row['metrics']['snr_db']:.1f} dB"


def _two(row: Row, digits: int = 4) -> list[str]:
    return [_snr(row), f"{row['metrics']['magnitude_correlation']:.{digits}f}"]


def _lengths_table(reports: list[Any]) -> Iterator[list[str]]:
    """The worst of every output, one line for each policy."""
    yield [
        "policy",
        "component, output",
        "lengths",
        "least SNR",
        "at",
        "PyTorch float32 there",
        "gate missed at",
    ]
    for policy in dict.fromkeys(report["length"] for report in reports):
        rows = [row for report in reports if report["length"] == policy for row in report["lengths"]]
        for key in dict.fromkeys((row["component"], row["output"]) for row in rows):
            of = [row for row in rows if (row["component"], row["output"]) == key]
            worst = min(of, key=lambda row: row["metrics"]["snr_db"])
            failed = [str(row["length"]) for row in of if row["status"] == "failed"]
            ours, theirs = (f"{worst['metrics'][name]:.1f} dB" for name in ("snr_db", "pytorch_snr_db"))
            lengths = f"{len(of)}, {min(r['length'] for r in of)} to {max(r['length'] for r in of)}"
            cells = [
                ours,
                str(worst["length"]),
                theirs,
                ", ".join(failed) or "none",
            ]
            yield [policy, f"`{key[0]}` {key[1]}", lengths, *cells]


def _edges_table(reports: list[Any]) -> Iterator[list[str]]:
    """One line for each bucket of a policy and an axis: what the lengths about it came to, all components."""
    yield ["policy", "components", "bucket", "lengths", "run in", "as expected"]
    for policy in dict.fromkeys(report["length"] for report in reports):
        edges = [edge for report in reports if report["length"] == policy for edge in report["edges"]]
        sets: dict[tuple[str, ...], list[Row]] = {}
        for component in dict.fromkeys(edge["component"] for edge in edges):
            of = [edge for edge in edges if edge["component"] == component]
            sets.setdefault(tuple(str(edge["bucket"]) for edge in of), []).extend(of)
        for of in sets.values():
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(edge["component"] for edge in of))
            for bucket in dict.fromkeys(edge["bucket"] for edge in of):
                about = [edge for edge in of if edge["bucket"] == bucket]
                wanted = dict.fromkeys((edge["length"], edge["expected"]) for edge in about)
                ran = ", ".join("refused" if e is None else str(e) for _, e in wanted)
                passed = sum(edge["status"] == "passed" for edge in about)
                lengths = ", ".join(str(length) for length, _ in wanted)
                yield [policy, names, str(bucket), lengths, ran, f"{passed} of {len(about)}"]


def _tails_table(trials: list[Row]) -> Iterator[list[str]]:
    yield ["artifact", "valid lengths", "random tails", "outputs bit for bit equal", "behind the valid part"]
    for key in dict.fromkeys((row["component"], row["bucket"]) for row in trials):
        of = [row for row in trials if (row["component"], row["bucket"]) == key]
        tails, equal = (sum(row[name] for row in of) for name in ("tails", "equal"))
        behind = "zeros" if all(row["silent"] for row in of) else "not zeros"
        lengths = ", ".join(str(row["length"]) for row in of)
        yield [f"`{key[0]}-{key[1]}`", lengths, f"{tails}", f"{equal}", behind]


def _draw(path: Path, rows: list[Row]) -> None:
    """How much the spectra of one utterance are alike, by bucket, from the decoder alone."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from PIL import Image

    figure, axis = pyplot.subplots(figsize=(7, 3.0), layout="constrained")
    for regime, style in (("pt.masked", "o-"), ("pt.padded", "s--")):
        chosen = [row for row in rows if (row["regime"], row["variant"]) == (regime, "decoder")]
        heights = [row["metrics"]["magnitude_correlation"] for row in chosen]
        label = regime.removeprefix("pt.")
        axis.semilogx([row["bucket"] for row in chosen], heights, style, label=label)
    ticks = sorted({row["bucket"] for row in rows if row["regime"] == "pt.masked"})
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel(f"bucket of the decoder, frames; the utterance has {rows[0]['frames']}")
    axis.set_ylabel("correlation of spectra\nwith the truth")
    axis.set_ylim(-0.05, 1.05)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=90)
    with Image.open(path) as drawn:  # a palette looks the same at half the size
        drawn.convert("RGB").quantize(64).save(path, optimize=True)
