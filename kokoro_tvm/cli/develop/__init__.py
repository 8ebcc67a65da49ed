"""The commands that need the source: one module a command."""
