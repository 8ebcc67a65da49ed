"""State of a build and its reasons, what a build would run, and what this machine lacks."""
