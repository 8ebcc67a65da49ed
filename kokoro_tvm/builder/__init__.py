"""The build: stages, the engine that runs them, and diagnostics."""
