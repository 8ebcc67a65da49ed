"""Validation: the stock model's references, metrics and gates, the report."""
