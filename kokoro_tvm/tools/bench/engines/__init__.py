"""One module per system; each imports its library only when it is opened."""
