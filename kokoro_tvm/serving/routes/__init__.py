"""Routes: one module for each interface that clients know."""
