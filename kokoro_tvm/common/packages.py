"""Python packages of the project and of its extras, and what to install for a missing one."""

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

STOCK = Path(__file__).with_name("stock.txt")
"""Requirements of the stock model's packages, with the SHA-256 of their wheels."""

_STOCK_PACKAGES = ("kokoro", "misaki")
_STOCK_EXCLUDES = (3, 13)  # the first Python that their metadata excludes

_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Module -> package of another name.
_PACKAGES = {
    "yaml": "PyYAML",
    "tvm": "apache-tvm",
    "tvm_ffi": "apache-tvm-ffi",
    "google": "protobuf",
    "cyclonedx": "cyclonedx-python-lib",
    "packageurl": "packageurl-python",
}


def requirements() -> list[tuple[str, str]]:
    """Return (requirement, extra) of the installed kokoro-tvm; the extra is "" for its dependencies."""
    lines = importlib.metadata.requires("kokoro-tvm") or []
    split = (line.partition(";") for line in lines)
    return [(r.strip(), marker.partition("extra == ")[2].strip("\"' ")) for r, _, marker in split]


def advice(missing: Iterable[str]) -> str:
    """Return the pip command that installs missing packages, or the packages of missing modules."""
    extras = {_normalize_name(_NAME.match(r)[0]): extra for r, extra in reversed(requirements())}  # type: ignore[index]
    needed = {extras.get(_normalize_name(_PACKAGES.get(name, name)), "") for name in missing}
    listed = ",".join(sorted(needed - {""}))
    return f"pip install 'kokoro-tvm[{listed}]'" if listed else f"pip install {' '.join(missing)}"


@cache
def list_missing_packages(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not installed."""
    names = [_NAME.match(r)[0] for r, owner in requirements() if owner == extra]  # type: ignore[index]
    return tuple(name for name in names if not is_installed(name))


def ensure_build_packages() -> None:
    """Install the stock model's packages if need be, and check the others of the extra `build`.

    Raises:
        BuildError: pip failed, or another package is not installed.
    """
    install_stock_packages()
    if names := list_missing_packages("build"):
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
    list_missing_packages.cache_clear()


def find_package_folder(module: str) -> Path:
    """Return the folder of an installed package without importing it. Raises BuildError if it is missing."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise BuildError(f"{module} is not installed: `pip install -e '.[build]'` brings it")
    return Path(spec.origin).parent


def is_installed(name: str) -> bool:
    """Return whether a distribution is installed, without importing it."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _normalize_name(name: str) -> str:
    """Return the normalized name of a distribution (PEP 503): `PyYAML` is `pyyaml`."""
    return re.sub(r"[-_.]+", "-", name).lower()
