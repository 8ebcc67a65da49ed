"""What a kernel may use of the machine it is compiled for; never the machine's name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Features"]


@dataclass(frozen=True)
class Features:
    """lanes: float32 values in one vector register; registers: how many such registers there are."""

    lanes: int
    registers: int

    @property
    def tile_channels(self) -> int:
        """Output channels a convolution tile keeps in registers."""
        return 8 if self.registers >= 32 else 4

    @property
    def tile_vectors(self) -> int:
        """Vectors of time steps a convolution tile keeps in registers: most that leave room for operands."""
        return 2 if self.registers >= 32 else 3
