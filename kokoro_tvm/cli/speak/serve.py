"""kokoro-tvm serve: speech over HTTP."""

from __future__ import annotations

import inspect
from operator import getitem
from pathlib import Path
from typing import Annotated, Any

import typer

from kokoro_tvm.cli._speech import without_blas_threads
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.settings import Setting, read_settings, settings

__all__ = ["serve"]

_CONFIG = typer.Option(
    "--config", metavar="FILE", help="YAML file of settings, named as the options, with `_` for `-`."
)


def serve(config: Path | None = None, **flags: Any) -> None:
    """Serve speech over HTTP to clients of OpenAI's interface."""
    chosen = read_settings(flags, file=config)
    without_blas_threads()
    try:
        from kokoro_tvm.serving.server import serve as run
    except ModuleNotFoundError as error:
        raise InputError(
            f"Serving needs {error.name}, which is not installed. Run `pip install 'kokoro-tvm[serve]'`."
        ) from error
    run(chosen)


def _parameter(setting: Setting) -> inspect.Parameter:
    """The option of a setting; it has no default of its own, because others may have given the value."""
    kind: Any = list[str] if setting.kind is tuple else setting.kind
    option = typer.Option(
        setting.flag,
        metavar=setting.metavar,
        help=setting.about,
        show_default=_shown(setting.default),
    )
    annotation = getitem(Annotated, (kind | None, option))
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _shown(default: Any) -> str | bool:
    return False if default in (None, (), False) else str(default)


# What typer reads: one option for each setting, so that there is no second list of them.
_CONFIG_PARAMETER = inspect.Parameter(
    "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, _CONFIG]
)
serve.__signature__ = inspect.Signature([*map(_parameter, settings()), _CONFIG_PARAMETER])  # type: ignore[attr-defined]
serve.__annotations__ = {
    p.name: p.annotation
    for p in serve.__signature__.parameters.values()  # type: ignore[attr-defined]
}
