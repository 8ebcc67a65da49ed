"""Measure bundles and other systems on the same work: same phonemes, voice and threads, in turns.

Every system runs in a process of its own, so that neither its memory nor its imports affect another one.
"""
