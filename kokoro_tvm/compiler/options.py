"""A recipe's options for TVM's passes: in force while a module is lowered and while its code is generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm

from kokoro_tvm.errors import BuildError

__all__ = ["pass_options"]

_ENTRY = "tirx.AnnotateEntryFunc"
# It makes the only function of a module its `main`, and every kernel is the only one of its module.


def pass_options(pass_context: Mapping[str, Any]) -> Any:
    """TVM's PassContext for `pass_context`: opt_level, disabled_passes and config, as recipes name them.

    Raises BuildError for an option that TVM does not know, or a value of another type than it wants.
    """
    try:
        return tvm.transform.PassContext(
            opt_level=pass_context["opt_level"],
            disabled_pass=[*pass_context["disabled_passes"], _ENTRY],
            config=dict(pass_context["config"]),
        )
    except (AttributeError, ValueError, TypeError) as error:
        raise BuildError(f"pass_context: TVM refuses the config: {error}") from error
