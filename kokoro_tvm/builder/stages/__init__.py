"""The stages of a build, one a file: what it reads, what it writes, and what it does.

In the order of the data: checkpoint, machine, export, lower, compile, pack, speak, reference, validate,
throughput, bundle, speech, intelligibility, report. Each has `declare`, which makes the `Stage`, and `run`,
which its child process calls; heavy packages are imported by `run` alone. `kokoro_tvm.builder.graph` puts
them together.
"""
