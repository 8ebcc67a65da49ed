"""Derive programs from an exported one: with values as outputs, or of single operations."""

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

from kokoro_tvm.tools.lab.probe.values import name_operation

# Operations whose results have a private layout, so that no input can replace them.
_PRIVATE = frozenset({"moments"})


def with_outputs(program: ExportedProgram, nodes: Sequence[str]) -> ExportedProgram:
    """Return the program with these values as outputs, without unused nodes."""
    graph, copies = _copy_graph(program)
    return _make_program(program, graph, [copies[name] for name in nodes])


def cut_out(program: ExportedProgram, nodes: Sequence[str]) -> tuple[ExportedProgram, Mapping[str, str]]:
    """Return a program of these operations alone, which receive their tensors as inputs.

    Returns:
        The program, and the node of `program` for each new input. New inputs follow the program's own.
    """
    graph, copies = _copy_graph(program)
    last = [n for n in graph.nodes if n.op == "placeholder"][-1]
    origins: dict[str, str] = {}
    placeholders: dict[Node, Node] = {}
    operations = [copies[name] for name in nodes]

    def cut(node: Node) -> None:
        """Replace a node's computed inputs by new placeholders."""
        nonlocal last
        for source in node.all_input_nodes:
            if source.op == "placeholder" or not isinstance(source.meta.get("val"), torch.Tensor):
                continue
            if source.op == "call_function" and name_operation(source) in _PRIVATE:
                cut(source)
                continue
            if source not in placeholders:
                with graph.inserting_after(last):
                    last = graph.placeholder(f"given_{source.name}")
                last.meta["val"] = source.meta["val"]
                placeholders[source] = last
                origins[last.name] = source.name
            node.replace_input_with(source, placeholders[source])

    for node in operations:
        cut(node)
    return _make_program(program, graph, operations), origins


def _copy_graph(program: ExportedProgram) -> tuple[Graph, dict[str, Node]]:
    """Copy the graph without its output; also return the new nodes by their old names."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in program.graph.nodes:
        if node.op != "output":
            copies[node] = graph.node_copy(node, lambda n: copies[n])
    return graph, {node.name: copy for node, copy in copies.items()}


def _make_program(program: ExportedProgram, graph: Graph, outputs: Sequence[Node]) -> ExportedProgram:
    """Return a program with these outputs, without unused nodes and weights."""
    graph.output(tuple(outputs))
    graph.eliminate_dead_code()
    specs = {s.arg.name: s for s in program.graph_signature.input_specs}
    for node in [n for n in graph.nodes if n.op == "placeholder" and not n.users]:
        if node.name in specs and specs[node.name].kind is InputKind.PARAMETER:
            graph.erase_node(node)
    names = [n.name for n in graph.nodes if n.op == "placeholder"]
    inputs = [
        specs[name] if name in specs else InputSpec(InputKind.USER_INPUT, TensorArgument(name), None)
        for name in names
    ]
    results = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(n.name), None) for n in outputs]
    weights = {str(s.target) for s in inputs if s.kind is InputKind.PARAMETER}
    return ExportedProgram(
        root=torch.nn.Module(),
        graph=graph,
        graph_signature=ExportGraphSignature(inputs, results),
        state_dict={name: tensor for name, tensor in program.state_dict.items() if name in weights},
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        verifiers=program.verifiers,
    )
