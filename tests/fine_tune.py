"""A fine-tune for tests, as a training run leaves one: a checkpoint, config.json, and voices of its own.

.venv/bin/python tests/fine_tune.py CHECKPOINT FOLDER: of the weights in CHECKPOINT, a folder that the stage
of that name has written.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import torch
import yaml

__all__ = ["VOICES", "fine_tune", "recipe_of"]

VOICES = {"anna": {"af_heart": 0.7, "bf_emma": 0.3}, "bernd": {"am_adam": 1.0}, "cleo": {"af_bella": 1.0}}
"""Voices of the fine-tune as mixes of those it began with; none has a name that says a language."""
MORE = "äöüß"  # symbols that the first vocabulary lacks
_SPREAD = 1e-3  # of what training changed, of each weight


def fine_tune(
    folder: Path, config: dict[str, Any], state: dict[str, torch.Tensor], voices: dict[str, torch.Tensor]
) -> None:
    """Write model.pth in Kokoro's own layout, config.json and voices/NAME.pt.

    Every weight is perturbed, the vocabulary has more symbols in another order, and the rows of the
    embeddings follow it; the last voice is one style for every length.
    """
    generator = torch.Generator().manual_seed(3)
    symbols = [*sorted(config["vocab"], reverse=True), *MORE]
    vocabulary = {symbol: place for place, symbol in enumerate(symbols, start=2)}
    count = len(vocabulary) + 5
    tuned = {}
    for name, value in state.items():
        noise = torch.randn(value.shape, generator=generator)
        tuned[name] = value * (1 + _SPREAD * noise) if value.dim() > 1 else value.clone()
        if value.shape and value.shape[0] == config["n_token"] and "embedding" in name:
            rows = 0.02 * torch.randn(count, *value.shape[1:], generator=generator)
            rows[0] = tuned[name][0]
            for symbol, place in vocabulary.items():
                if symbol in config["vocab"]:
                    rows[place] = tuned[name][config["vocab"][symbol]]
            tuned[name] = rows
    parts: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in tuned.items():
        part, _, key = name.partition(".")
        parts.setdefault(part, {})[f"module.{key}"] = value
    (folder / "voices").mkdir(parents=True)
    torch.save(parts, folder / "model.pth")
    text = json.dumps(config | {"n_token": count, "vocab": vocabulary}, ensure_ascii=False, indent=1)
    (folder / "config.json").write_text(text, encoding="utf-8")
    for name, mix in VOICES.items():
        table = torch.stack([weight * voices[voice] for voice, weight in mix.items()]).sum(0)
        torch.save(table[100] if name == "cleo" else table[:, None], folder / "voices" / f"{name}.pt")


def recipe_of(folder: Path) -> dict[str, Any]:
    """The model's recipe that docs/models.md shows, with the digests of this folder's files."""
    page = (Path(__file__).parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n# recipes/mine\.yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    recipe: dict[str, Any] = yaml.safe_load(shown)

    def pinned(name: str) -> str:
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    checkpoint = recipe["checkpoint"]
    checkpoint["config"]["sha256"] = pinned("config.json")
    checkpoint["voices"]["files"] = {name: pinned(f"voices/{name}.pt") for name in VOICES}
    checkpoint["sources"][0] |= {"path": f"{folder}/model.pth", "sha256": pinned("model.pth")}
    return recipe


if __name__ == "__main__":
    from safetensors.torch import load_file

    checkpoint, out = map(Path, sys.argv[1:])
    fine_tune(
        out,
        json.loads((checkpoint / "config.json").read_text(encoding="utf-8")),
        load_file(checkpoint / "weights.safetensors"),
        {
            name: table.reshape(510, -1)
            for name, table in load_file(checkpoint / "voices.safetensors").items()
        },
    )
    print(yaml.safe_dump(recipe_of(out), allow_unicode=True), end="")
