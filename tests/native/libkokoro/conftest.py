"""libkokoro and its program, compiled once, and the TVM runtime."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calls import Speaker
from sharing import once
from talking import in_seven_languages, with_front_end

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.libkokoro import FOLDER, LINUX, compile_libkokoro, library_sources
from kokoro_tvm.native.libkokoro.generated import tables
from kokoro_tvm.native.toolchains.cc import CCompiler, linux_compiler

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
SANITIZED = (*STRICT, "-g", "-O1", "-fno-omit-frame-pointer")
SANITIZED += ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="session")
def here() -> CCompiler:
    """Return the C compiler of this machine."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc (Debian: apt-get install gcc)")
    return linux_compiler(os.uname().machine)


@pytest.fixture(scope="session")
def built(here: CCompiler, shared_folder: Path) -> Path:
    """Return the folder of libkokoro.so and speak."""
    folder = shared_folder / "libkokoro"
    with once(shared_folder / "libkokoro-built") as first:
        if first:
            folder.mkdir()
            compile_libkokoro(here, folder, *STRICT)
    return folder


@pytest.fixture(scope="session")
def sanitized(here: CCompiler, shared_folder: Path) -> Callable[[Path], Path]:
    """Return a function that compiles a program with libkokoro's sources under sanitizers.

    The library is compiled once for all programs and workers, with its internal functions.
    """
    folder = shared_folder / "sanitized"
    library = folder / "library.o"
    with once(shared_folder / "sanitized-library") as first:
        if first:
            folder.mkdir()
            for name, content in tables().items():
                (folder / name).write_text(content, encoding="ascii")
            sources = [*library_sources(LINUX), *sorted(folder.glob("*.c"))]
            here.compile(sources, library, f"-I{FOLDER}", f"-I{folder}", *SANITIZED, "-r")

    def make(source: Path) -> Path:
        program = folder / source.stem
        with once(shared_folder / f"sanitized-{source.stem}") as first:
            if first:
                options = (f"-I{FOLDER}", f"-I{folder}", *SANITIZED, "-lpthread", "-ldl", "-lm")
                try:
                    here.compile([source, library], program, *options)
                except BuildError as error:
                    if "libasan" in str(error) or "libubsan" in str(error):
                        pytest.skip("gcc has no sanitizers here")
                    raise
        return program

    return make


@pytest.fixture(scope="session")
def text_program(sanitized: Callable[[Path], Path]) -> Path:
    """Return the program that reads texts, with sanitizers."""
    return sanitized(Path(__file__).parent / "programs" / "text.c")


@pytest.fixture(scope="session")
def tvm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed libtvm_runtime and libtvm_ffi."""
    folder = tmp_path_factory.mktemp("tvm")
    for package, name in (("tvm", "libtvm_runtime.so"), ("tvm_ffi", "libtvm_ffi.so")):
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        (folder / name).symlink_to(Path(spec.origin).with_name("lib") / name)
    return folder


@pytest.fixture(scope="session")
def talking(
    compiled: Callable[[str], Path], front_end_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the toy with the real front end."""
    return with_front_end(compiled("exact"), front_end_files, tmp_path_factory.mktemp("talking") / "bundle")


@pytest.fixture(scope="session")
def polyglot(talking: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy with the real front end, voices of seven languages, and Kokoro's alphabet."""
    return in_seven_languages(talking, tmp_path_factory.mktemp("polyglot") / "bundle")


@pytest.fixture
def speaker(built: Path, tvm: Path, tmp_path: Path) -> Speaker:
    """Return `speak` in a folder of the test."""
    return Speaker(built / "speak", tvm, tmp_path)


@pytest.fixture(scope="session")
def noise() -> np.ndarray:
    """Return more noise than any utterance takes."""
    return np.random.default_rng(5).standard_normal(1 << 20, dtype=np.float32)
