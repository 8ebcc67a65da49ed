"""This project and its peers on the same work: same phonemes, voice and threads, taking turns.

Every system computes in a process of its own (kokoro_tvm.tools.bench.child), so that its memory is its own
and what it imports meets nothing else; what such a process imports of this package is small on purpose.
"""
