"""Cache of spoken pieces, by everything that decides about their sound."""
