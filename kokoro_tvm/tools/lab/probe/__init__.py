"""Compare values inside a component between compiled code and PyTorch.

The component is exported again with the chosen values as outputs, and that program is lowered and compiled
as the artifact is. PyTorch runs the same graph in float32 and in float64. An operation can also be compiled
alone.
"""
