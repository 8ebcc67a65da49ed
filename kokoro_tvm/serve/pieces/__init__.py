"""Spoken pieces that are kept, by what decides about their sound."""

from kokoro_tvm.serve.pieces.cache import PieceCache, check_cache, open_cache
from kokoro_tvm.serve.pieces.store import DamagedError, PieceStore

__all__ = ["DamagedError", "PieceCache", "PieceStore", "check_cache", "open_cache"]
