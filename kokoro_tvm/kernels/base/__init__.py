"""Code that kernels of every kind share: expressions, loops, packings, the registry of operations."""
