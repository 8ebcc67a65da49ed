"""Formats of weights, one module each, with `read(path, expected)`: stock keys, any float dtype.

A format's module determines the stored bytes; it does not depend on the source of a file.
"""

from __future__ import annotations
