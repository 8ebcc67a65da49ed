"""One module per format that weights come in, each with `read(path, expected)`: stock keys, any float dtype.

A format's module holds what decides about the stored bytes; nothing of where a file is from belongs here.
"""

from __future__ import annotations
