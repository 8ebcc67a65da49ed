"""The build: what each task depends on, whether it is current, and how it is run."""
