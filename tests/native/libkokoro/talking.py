"""Copies of the toy with the real front end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from toy_bundle import STYLE, edit_manifest, file_entry, write_safetensors

from kokoro_tvm.model.kokoro import SHIPPED_CONFIG
from kokoro_tvm.native.libkokoro import HEADER, Names, sources

VOICES = ("af_heart", "bf_emma", "ef_dora", "ff_siwis", "hf_alpha", "if_sara", "pf_dora")
VOCABULARY: dict[str, int] = json.loads(SHIPPED_CONFIG.read_text(encoding="utf-8"))["vocab"]


def with_front_end(bundle: Path, front_end_files: Path, folder: Path) -> Path:
    """Copy a toy to `folder` and add a front end."""
    shutil.copytree(bundle, folder)
    shutil.copy(front_end_files / "front_end.safetensors", folder)
    entry = file_entry(folder / "front_end.safetensors")
    edit_manifest(folder, lambda manifest: manifest.update(front_end=entry))
    return folder


def in_seven_languages(bundle: Path, folder: Path) -> Path:
    """Copy a toy to `folder` and add a voice of each language of libkokoro, and Kokoro's alphabet."""
    shutil.copytree(bundle, folder)
    rng = np.random.default_rng(7)
    voices = {name: rng.standard_normal((510, 2 * STYLE)).astype(np.float32) for name in VOICES}
    write_safetensors(folder / "voices.safetensors", voices)
    new = {"voices": file_entry(folder / "voices.safetensors"), "vocabulary": VOCABULARY}
    edit_manifest(folder, lambda manifest: manifest.update(new))
    return folder


def add_program(bundle: Path, built: Path, names: Names, libraries: list[Path]) -> list[Path]:
    """Add libkokoro of the folder `built` and the TVM runtime to a toy; return libkokoro's files."""
    header = next(path for path in sources() if path.name == HEADER)
    files = [built / names.library, built / names.program, header]
    for path in (*files, *libraries):
        Path(shutil.copyfile(path, bundle / path.name)).chmod(0o444)
    new: dict[str, Any] = {"libkokoro": [file_entry(bundle / path.name) for path in files]}
    for role in ("ffi", "runtime"):
        for path in libraries:
            if f"tvm_{role}" in path.name:
                new[role] = file_entry(bundle / path.name)
    edit_manifest(bundle, lambda manifest: manifest.update(new))
    return [bundle / path.name for path in files]
