"""Metrics and gates: artifacts and bundles compared with the stock model's references, without torch."""
