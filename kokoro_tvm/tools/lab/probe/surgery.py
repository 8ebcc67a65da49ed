"""Other programs made of an exported one: with values as outputs, or with operations cut out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, Node

__all__ = ["cut_out", "with_outputs"]

# What an operation receives in a layout that is its producer's own affair cannot be given from outside.
_PRIVATE = frozenset({"moments"})


def with_outputs(program: ExportedProgram, nodes: Sequence[str]) -> ExportedProgram:
    """The same program with these values as its outputs, and nothing that none of them needs."""
    graph, copies = _copy(program)
    return _finish(program, graph, [copies[name] for name in nodes], {})


def cut_out(program: ExportedProgram, nodes: Sequence[str]) -> tuple[ExportedProgram, Mapping[str, str]]:
    """A program of these operations alone, each given its tensors as inputs of the program.

    Returned besides: input -> the value of `program` that stands for it. They come behind the program's own
    inputs, in this order; the weights stay weights.
    """
    graph, copies = _copy(program)
    last = [n for n in graph.nodes if n.op == "placeholder"][-1]
    given: dict[str, str] = {}
    stand_ins: dict[Node, Node] = {}
    chosen = [copies[name] for name in nodes]

    def cut(node: Node) -> None:
        nonlocal last
        for source in node.all_input_nodes:
            if source.op == "placeholder" or not isinstance(source.meta.get("val"), torch.Tensor):
                continue
            if _name(source) in _PRIVATE:
                cut(source)
                continue
            if source not in stand_ins:
                with graph.inserting_after(last):
                    last = graph.placeholder(f"given_{source.name}")
                last.meta["val"] = source.meta["val"]
                stand_ins[source] = last
                given[last.name] = source.name
            node.replace_input_with(source, stand_ins[source])

    for node in chosen:
        cut(node)
    return _finish(program, graph, chosen, given), given


def _copy(program: ExportedProgram) -> tuple[Graph, dict[str, Node]]:
    """The graph without its output, and its nodes by the name they had."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in program.graph.nodes:
        if node.op != "output":
            copies[node] = graph.node_copy(node, lambda n: copies[n])
    return graph, {node.name: copy for node, copy in copies.items()}


def _finish(
    program: ExportedProgram, graph: Graph, outputs: Sequence[Node], given: Mapping[str, str]
) -> ExportedProgram:
    graph.output(tuple(outputs))
    graph.eliminate_dead_code()
    specs = {s.arg.name: s for s in program.graph_signature.input_specs}
    for node in [n for n in graph.nodes if n.op == "placeholder" and not n.users]:
        if node.name in specs and specs[node.name].kind is InputKind.PARAMETER:
            graph.erase_node(node)
    held = [n.name for n in graph.nodes if n.op == "placeholder"]
    inputs = [
        specs[name] if name in specs else InputSpec(InputKind.USER_INPUT, TensorArgument(name), None)
        for name in held
    ]
    wanted = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(n.name), None) for n in outputs]
    weights = {str(s.target) for s in inputs if s.kind is InputKind.PARAMETER}
    return ExportedProgram(
        root=torch.nn.Module(),
        graph=graph,
        graph_signature=ExportGraphSignature(inputs, wanted),
        state_dict={name: tensor for name, tensor in program.state_dict.items() if name in weights},
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        verifiers=program.verifiers,
    )


def _name(node: Node) -> str:
    return str(node.target).split(".")[1] if node.op == "call_function" else ""
