"""Compiler: from a patched PyTorch component to a library and its packed weights."""
