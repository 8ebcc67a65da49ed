"""Runner of Windows code under Wine, at the speed of this CPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.native.toolchains.cc import MINGW
from kokoro_tvm.targets.runners import Start
from kokoro_tvm.targets.runners.served import Served, version_of_runner

_VERSION = re.compile(r"wine-(\d+(?:\.\d+)*)")
_LOADERS = ("wine64", "/usr/lib/wine/wine64", "wine")  # Debian's wine64 lies outside the path


class Wine(Served):
    """Wine with a server compiled by MinGW-w64. The C library is Wine's own."""

    compiler = MINGW
    package = "wine64"

    def __str__(self) -> str:
        return "wine"

    @property
    def program(self) -> str:
        """Return the path or the name of Wine's loader."""
        return next(filter(None, map(shutil.which, _LOADERS)), _LOADERS[0])

    def version(self) -> str:
        """Return Wine's version. Raises BuildError if it is not installed."""
        match = _VERSION.search(version_of_runner(self.program, self.package))
        return f"wine {match[1] if match else 'of unknown version'}"

    def _compiler_options(self, libraries: Sequence[Path]) -> list[str]:
        """Return the path of libtvm_ffi, the only library that the server is linked with."""
        return [str(path) for path in libraries if "tvm_ffi" in path.name]

    def _start(self, program: Path) -> Start:
        """Create an empty Wine folder; return how to start a program in it, whose end removes it."""
        # Setting the folder up as a Windows would take 7 s and 700 MB. Without that, Wine loads libraries
        # from its installation.
        folder = TemporaryDirectory(prefix="kokoro-tvm-wine-")
        Path(folder.name, ".update-timestamp").write_text("disable\n", encoding="ascii")
        environment = {"WINEPREFIX": folder.name, "WINEBOOTSTRAPMODE": "1"}
        environment |= {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=", "DISPLAY": ""}

        def clean() -> None:  # Wine's own server writes there at its end
            """Wait for Wine's server, then remove the folder."""
            server = Path(self.program).with_name("wineserver")
            subprocess.run([str(server), "--wait"], env=os.environ | environment, check=False)
            folder.cleanup()

        return Start([self.program, str(program.with_suffix(".exe"))], environment, clean)


WINE = Wine()
