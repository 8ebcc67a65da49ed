"""Which Python packages the project needs for what, and what to do about one that is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kokoro_tvm.common.errors import BuildError

__all__ = [
    "advice",
    "folder_of",
    "install_stock_packages",
    "is_installed",
    "missing",
    "require_build",
    "requirements",
]

STOCK = Path(__file__).with_name("stock.txt")
"""Requirements of the stock model's packages, with the SHA-256 of their wheels."""

_STOCK_PACKAGES = ("kokoro", "misaki")
_STOCK_EXCLUDES = (3, 13)  # the first Python that their metadata excludes

_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Modules whose package has another name.
_PACKAGES = {
    "yaml": "PyYAML",
    "tvm": "apache-tvm",
    "tvm_ffi": "apache-tvm-ffi",
    "google": "protobuf",
    "cyclonedx": "cyclonedx-python-lib",
    "packageurl": "packageurl-python",
}


def requirements() -> list[tuple[str, str]]:
    """(requirement, extra that wants it, "" for all), as the installed kokoro-tvm names them."""
    lines = importlib.metadata.requires("kokoro-tvm") or []
    split = (line.partition(";") for line in lines)
    return [(r.strip(), marker.partition("extra == ")[2].strip("\"' ")) for r, _, marker in split]


def advice(missing: Iterable[str]) -> str:
    """What to install for packages, or modules of packages, that are missing."""
    extras = {_bare(_NAME.match(r)[0]): extra for r, extra in reversed(requirements())}  # type: ignore[index]
    wanted = {extras.get(_bare(_PACKAGES.get(name, name)), "") for name in missing}
    named = ",".join(sorted(wanted - {""}))
    return f"pip install 'kokoro-tvm[{named}]'" if named else f"pip install {' '.join(missing)}"


@cache
def missing(extra: str) -> tuple[str, ...]:
    """The packages of an extra that are not installed."""
    names = [_NAME.match(r)[0] for r, wanted in requirements() if wanted == extra]  # type: ignore[index]
    return tuple(name for name in names if not is_installed(name))


def require_build() -> None:
    """Raises BuildError where a package that builds need is not installed."""
    install_stock_packages()
    if names := missing("build"):
        what = "packages are" if len(names) > 1 else "package is"
        raise BuildError(
            f"The {what} not installed that builds need: {', '.join(names)}. Run `{advice(names)}`."
        )


def install_stock_packages() -> None:
    """Install kokoro and misaki into this environment if their metadata excludes this Python.

    Both are pure Python and run on it, but `pip install '.[build]'` would refuse them.

    Raises:
        BuildError: pip failed.
    """
    if sys.version_info < _STOCK_EXCLUDES or all(map(is_installed, _STOCK_PACKAGES)):
        return
    names = " and ".join(_STOCK_PACKAGES)
    print(f"{names}: installing the wheels that {STOCK.name} pins", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--ignore-requires-python"]
    command += ["--require-hashes", "--requirement", str(STOCK)]
    pip = subprocess.run(command, capture_output=True, text=True, check=False)
    if pip.returncode != 0:
        reason = next(reversed(pip.stderr.strip().splitlines()), "pip printed no reason")
        raise BuildError(
            f"{names} cannot be installed: {reason}. Run `{shlex.join(command)}`; builds need both."
        )
    importlib.invalidate_caches()
    missing.cache_clear()


def folder_of(module: str) -> Path:
    """The folder of an installed package, found without importing it. Raises BuildError."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise BuildError(f"{module} is not installed: `pip install -e '.[build]'` brings it")
    return Path(found.origin).parent


def is_installed(name: str) -> bool:
    """Whether a distribution is installed; nothing of it is imported."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _bare(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
