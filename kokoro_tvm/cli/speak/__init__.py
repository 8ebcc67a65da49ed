"""The commands of every installation: one module a command."""
