"""The fidelity lab: utterances through every regime, compared; what `kokoro-tvm validate` shows.

`validate` knows how to compute and to measure; here it is put together with a bundle, its recipe, the
checkpoint and the references of any utterance.
"""
