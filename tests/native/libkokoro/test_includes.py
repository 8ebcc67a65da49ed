"""The include graph of libkokoro's sources."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

from kokoro_tvm.native.libkokoro import FOLDER

SOURCES = sorted(FOLDER.rglob("*.[ch]"))


def included_files(path: Path) -> list[Path]:
    """List the sources that a file includes, without generated headers."""
    names = re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    candidates = [(folder / name).resolve() for name in names for folder in (path.parent, FOLDER)]
    return [candidate for candidate in candidates if candidate in SOURCES]


def test_include_graph_of_modules_has_no_cycle() -> None:
    """A module is a source and the header of the same name."""
    graph: dict[Path, set[Path]] = {}
    for path in SOURCES:
        modules = {included.with_suffix("") for included in included_files(path)}
        graph.setdefault(path.with_suffix(""), set()).update(modules - {path.with_suffix("")})
    TopologicalSorter(graph).prepare()


def test_folder_is_included_by_its_header_alone() -> None:
    """Other folders include `base/base.h`, never another header of `base/`."""
    for path in SOURCES:
        for included in included_files(path):
            if included.parent not in (path.parent, FOLDER):
                assert included.stem == included.parent.name, f"{path} includes {included}"
