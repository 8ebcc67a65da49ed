"""A model of one's own, from a training run's files to a bundle, as docs/models.md says."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from fine_tune import VOICES, fine_tune, recipe_of
from safetensors.torch import load_file
from toys import REPOSITORY, doit

from kokoro_tvm import Synthesizer
from kokoro_tvm import model as package
from kokoro_tvm.cli import main
from kokoro_tvm.recipe import ModelFile, check_file
from kokoro_tvm.runtime import SpeechWarning, read_bundle

PUBLIC = sorted((REPOSITORY / "recipes" / "models").glob("*.yaml"))


def tuned(checkpoint: Path, folder: Path) -> None:
    """The files of a fine-tune of a fetched checkpoint."""
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    voices = load_file(checkpoint / "voices.safetensors")
    state = load_file(checkpoint / "weights.safetensors")
    fine_tune(folder, config, state, {name: table.reshape(510, -1) for name, table in voices.items()})


def written(root: Path, base: str, target: str) -> None:
    """Recipes of the fine-tune in root/mine, over others."""
    recipe = recipe_of(root / "mine") | {"extends": base}
    for name, content in (("mine", recipe), ("mine-cpu", {"extends": target, "model": "mine"})):
        text = yaml.safe_dump(content, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")


def check(bundle: Path) -> None:
    """What a bundle of the fine-tune says of itself, and that it speaks."""
    found = read_bundle(bundle)
    config = json.loads((bundle.parents[1] / "mine" / "config.json").read_text(encoding="utf-8"))
    assert found.vocabulary == config["vocab"]
    assert (found.model, found.synthetic, list(found.languages)) == ("mine", False, ["d"])
    tts = Synthesizer(bundle)
    assert tts.voices.names == tuple(VOICES) and tts.voices.default == "anna"
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpeechWarning)  # no voice names a language, and there is one alone
        speeches = [tts.from_phonemes("ɡˈutən tˈäk.", voice) for voice in (None, "bernd", "anna(2)+cleo")]
    for speech in speeches:
        assert np.isfinite(speech.audio).all() and 0.001 < np.abs(speech.audio).max() < 10
    with pytest.warns(SpeechWarning, match=r"does not know them: '≠' \(U\+2260\)"):
        tts.from_phonemes("ɡˈutən ≠ tˈäk.")


@pytest.mark.slow("builds another toy")
def test_a_fine_tune_of_the_toy(toy_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuned(toy_copy / "artifacts" / "checkpoint" / "toy-model", toy_copy / "mine")
    written(toy_copy, "toy-model", "toy")
    done = doit(toy_copy, "mine-cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    check(toy_copy / "artifacts" / "mine-cpu")
    with pytest.raises(SystemExit):
        main(["voices", "--bundle", str(toy_copy / "artifacts" / "mine-cpu")])
    assert capsys.readouterr().out.splitlines()[0].split() == ["anna", "German", "unknown"]
    other = toy_copy / "mine" / "voices" / "anna.pt"
    other.write_bytes((toy_copy / "mine" / "voices" / "bernd.pt").read_bytes())
    recipe = yaml.safe_load((toy_copy / "recipes" / "mine.yaml").read_text(encoding="utf-8"))
    recipe["checkpoint"]["voices"]["files"]["bernd"] = "0" * 64  # so that it is fetched again
    (toy_copy / "recipes" / "mine.yaml").write_text(
        yaml.safe_dump(recipe, allow_unicode=True), encoding="utf-8"
    )
    refused = doit(toy_copy, "mine-cpu")
    assert "anna.pt is not the pinned file" in " ".join((refused.stdout + refused.stderr).split())


@pytest.mark.slow("builds Kokoro-82M, perturbed: 7 minutes of two cores")
def test_a_fine_tune_of_kokoro(real_bundle: Path, tmp_path: Path) -> None:
    """KOKORO_TVM_CACHE shares what does not depend on the vocabulary."""
    (tmp_path / "recipes").mkdir()
    for name in ("dodo.py", "recipes/kokoro-82m.yaml", "recipes/cpu.yaml"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    tuned(real_bundle.parent / "checkpoint" / "kokoro-82m", tmp_path / "mine")
    written(tmp_path, "kokoro-82m", "cpu")
    done = doit(tmp_path, "mine-cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    check(tmp_path / "artifacts" / "mine-cpu")


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "recipes" / "models").glob("*.yaml")), ids=lambda p: p.stem
)
def test_recipes_of_public_fine_tunes(path: Path) -> None:
    """Checked, not built: what they extend resolves, and the vocabulary has what the utterances say."""
    (model,) = check_file(path, REPOSITORY / "recipes")
    assert isinstance(model, ModelFile)
    config = json.loads(
        (Path(package.__file__).parent / model.checkpoint.config.file).read_text(encoding="utf-8")
    )
    for utterance in model.utterances:
        assert set(utterance.phonemes) <= set(config["vocab"])
    assert "not built here" in " ".join(path.read_text(encoding="utf-8").lower().split())
