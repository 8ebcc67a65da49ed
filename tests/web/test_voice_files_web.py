"""Voice files in pages compared with Python: tables and refusals."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.voice_files import SUFFIXES, encode_voice, read_voices

MODULE = Path(__file__).with_name("voice_files.test.mjs")
WIDTH = 4
TABLE = np.random.default_rng(5).standard_normal((510, WIDTH)).astype(np.float32)


def good(folder: Path) -> None:
    for suffix in SUFFIXES:
        (folder / f"af_{suffix[1:]}{suffix}").write_bytes(encode_voice(TABLE, suffix))
    for name, values in (("half", TABLE.astype(np.float16)), ("double", TABLE[0].astype(np.float64))):
        torch.save(torch.from_numpy(values), folder / f"{name}.pt")
        np.save(folder / f"{name}.npy", values)
    save_file({"one": TABLE, "two": TABLE[:1]}, folder / "many.safetensors")
    torch.save(torch.from_numpy(np.stack([TABLE, TABLE])).transpose(0, 1)[:, 1:], folder / "view.pt")
    TABLE[0].tofile(folder / "flat.bin")


def bad(folder: Path) -> None:
    nan = TABLE.copy()
    nan[7, 1] = np.nan
    (folder / "nan.pt").write_bytes(encode_voice(nan, ".pt"))
    (folder / "rows.npy").write_bytes(encode_voice(TABLE[:9], ".npy"))
    (folder / "my-voice.bin").write_bytes(encode_voice(TABLE, ".bin"))
    (folder / "odd.bin").write_bytes(b"abc")
    (folder / "cut.npy").write_bytes(encode_voice(TABLE, ".npy")[:-4])
    (folder / "cut.safetensors").write_bytes(b"{}" * 3 + bytes(6))
    (folder / "empty.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    torch.save({"style": torch.ones(WIDTH)}, folder / "state.pt")
    torch.save(torch.ones(WIDTH, dtype=torch.bfloat16), folder / "bfloat16.pt")
    made = io.BytesIO()
    torch.save(torch.ones(WIDTH), made, _use_new_zipfile_serialization=False)
    (folder / "old.pt").write_bytes(made.getvalue())
    with zipfile.ZipFile(folder / "code.pt", "w") as file:
        file.writestr("x/data.pkl", pickle.dumps(Code(), protocol=2))


class Code:
    """A pickle that would run a command."""

    def __reduce__(self) -> Any:
        return os.system, ("exit",)


def test_voice_files_match_python(tmp_path: Path) -> None:
    for name, write in (("good", good), ("bad", bad)):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    tables = {
        path.name: [[name, len(t), t.ravel().tolist()] for name, t in read_voices(path, WIDTH).items()]
        for path in (tmp_path / "good").iterdir()
    }
    messages = {}
    for path in (tmp_path / "bad").iterdir():
        with pytest.raises(InputError) as caught:
            read_voices(path, WIDTH)
        messages[path.name] = str(caught.value).replace(f"{path.parent}{os.sep}", "")
    (tmp_path / "tables.json").write_text(json.dumps(tables))
    (tmp_path / "messages.json").write_text(json.dumps(messages))
    environment = os.environ | {"VOICE_FILES": str(tmp_path)}
    run = subprocess.run(
        ["node", "--test", str(MODULE)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
