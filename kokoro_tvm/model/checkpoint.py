"""Fetching of a checkpoint: download from a source, verify against the recipe's digests, convert."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.loading import load
from kokoro_tvm.model.checkpoint_files import hash_values, write_checkpoint
from kokoro_tvm.model.kokoro import list_shapes
from kokoro_tvm.model.pins import check_sha256
from kokoro_tvm.model.sources import Log, Material, describe, obtain, try_sources
from kokoro_tvm.model.state import complete_state
from kokoro_tvm.model.voices import find_voice_file, read_voices
from kokoro_tvm.model.yields import compute_yield
from kokoro_tvm.recipe.checkpoint import Checkpoint, Source, SyntheticSource

HOW_TO_SUPPLY = (
    "To supply a file yourself, download kokoro-v1_0.pth and the folder voices/ (hexgrad/Kokoro-82M on the "
    "Hugging Face hub) on any machine, put them side by side, and add to `checkpoint: sources:` of the model "
    "recipe an entry with `kind: file`, `path: <file>` and `sha256: <its sha256>` (.pth, .safetensors and "
    ".onnx files are understood)"
)

HOW_TO_FIX = (
    "Put the file where `checkpoint: sources:` of the model's recipe has it (a relative path starts from the "
    "folder with recipes/), or correct the recipe"
)


def fetch(checkpoint: Checkpoint, out: Path, *, root: Path | None = None, log: Log | None = None) -> None:
    """Write the files of a checkpoint (`checkpoint_files.FILES`) from the first source that answers.

    Args:
        checkpoint: Sources and digests.
        out: Empty folder, which holds downloads meanwhile.
        root: Folder that relative paths of a `file` source start from; the working directory by default.
        log: Called with lines of progress.

    Raises:
        BuildError: No source answers, or a source has other files than the pinned ones; later sources are not
            tried then.
    """
    log = log or (lambda line: None)
    config = _read_shipped_config(checkpoint)
    start = time.monotonic()
    first = checkpoint.sources[0]
    if isinstance(first, SyntheticSource):  # which is the only source
        label = _write_synthetic(checkpoint, first, config, out, log)
    else:

        def obtain_and_store(source: Source, work: Path) -> None:
            """Obtain the files of a source, check their digests and write the checkpoint."""
            assert not isinstance(source, SyntheticSource)
            config_name = None if config is not None else checkpoint.config.file
            material = obtain(source, checkpoint.voices.all_names, config_name, work, root or Path(), log)
            _write_verified(material, checkpoint, compute_yield(checkpoint, source), config, out, log)

        labelled = [(describe(source), source) for source in checkpoint.sources]
        advice = HOW_TO_FIX if config is None else HOW_TO_SUPPLY
        label = try_sources("the checkpoint", labelled, obtain_and_store, out / "downloads", log, advice)
    log(f"checkpoint ready after {time.monotonic() - start:.0f} s, from {label}")


def _read_shipped_config(checkpoint: Checkpoint) -> bytes | None:
    """Return the configuration, or None if this package ships no file of its name.

    Raises BuildError if its SHA-256 is not the pinned one.
    """
    path = Path(__file__).with_name(checkpoint.config.file)
    if not path.is_file():
        return None
    check_sha256(path, checkpoint.config.sha256, f"the shipped configuration {checkpoint.config.file}")
    return path.read_bytes()


def _write_synthetic(
    checkpoint: Checkpoint, source: SyntheticSource, config: bytes | None, out: Path, log: Log
) -> str:
    """Write random weights and voices as a checkpoint; return their description.

    Raises BuildError without a configuration.
    """
    from kokoro_tvm.model.synthetic import draw

    if config is None:
        raise BuildError(
            f"synthetic weights are drawn for a configuration that this package ships, and it ships "
            f"no {checkpoint.config.file!r} (checkpoint: config: file)"
        )
    label = describe(source)
    log(f"drawing weights, {label}: what is built of them does not speak")
    write_checkpoint(out, *draw(source.size, source.seed, config), compute_yield(checkpoint, source))
    return label


def _write_verified(
    material: Material,
    checkpoint: Checkpoint,
    yielded: dict[str, Any],
    config: bytes | None,
    out: Path,
    log: Log,
) -> None:
    """Verify the files of a source, convert them and write the checkpoint.

    Raises BuildError if a digest is not the pinned one.
    """
    if material.config is not None:
        check_sha256(material.config, checkpoint.config.sha256, str(material.config))
        config = material.config.read_bytes()
    assert config is not None
    check_sha256(material.weights, yielded["weights"], str(material.weights))
    for name, sha256 in checkpoint.voices.files.items():
        path = find_voice_file(material.voices, name)
        check_sha256(path, sha256, str(path))
    voices = read_voices(material.voices, checkpoint.voices.all_names)
    expected, actual = checkpoint.voices.sha256, hash_values(voices)
    if expected is not None and actual != expected:
        raise BuildError(
            f"the voices in {material.voices} are not the pinned ones: expected sha256 {expected} of their "
            f"values, got {actual}"
        )
    log(f"reading the weights out of {material.weights.name}")
    shapes = list_shapes(json.loads(config))
    read: Callable[..., Any] = load(f"kokoro_tvm.model.formats.{yielded['format']}").read
    state = complete_state(read(material.weights, shapes), shapes, str(material.weights))
    write_checkpoint(out, state, voices, config, yielded)
