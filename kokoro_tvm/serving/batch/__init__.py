"""Utterances of a manifest, each a file of its own: by processes here, or by the workers of a cluster."""
