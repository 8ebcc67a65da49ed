"""Looks inside a component: values on its way, as compiled code and PyTorch compute them, side by side.

The component is exported once more, the wanted values become outputs of its program, and that is lowered and
compiled as the artifact itself is. PyTorch runs the same graph, operation by operation, in float32 and in
float64. An operation can also be compiled alone, given what it receives in the component.
"""
