"""Spoken pieces that are kept, by what decides about their sound."""
