"""The tables of docs/lab/accuracy.md that `kokoro-tvm validate lengths` and `tails` measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_tables import put

__all__ = ["put_lab"]

Row = dict[str, Any]


def put_lab(page: Path, results: Path) -> None:
    """From the JSON files of the commands; `lengths*.json` and `tails*.json` are put together."""
    lengths = [_read(path) for path in sorted(results.glob("lengths*.json"))]
    put(page, "lengths", _lengths_table(lengths))
    put(page, "edges", _edges_table(lengths))
    trials = [row for path in sorted(results.glob("tails*.json")) for row in _read(path)["trials"]]
    put(page, "tails", _tails_table(trials))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


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
