"""The stages of a build: one file each, with its inputs, its outputs and its function.

In the order of the data: checkpoint, machine, export, lower, compile, pack, speak, reference, validate,
throughput, bundle, speech, intelligibility, report. `declare` returns the `Stage`, and its worker process
calls `run`, which alone imports heavy packages. `kokoro_tvm.builder.graph` connects the stages.
"""
