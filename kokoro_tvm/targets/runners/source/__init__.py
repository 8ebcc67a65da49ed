"""Runs kernels for a GPU from their source, compiled as C++ for the machine that builds."""
