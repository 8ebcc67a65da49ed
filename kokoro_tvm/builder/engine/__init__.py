"""Engine of the build: keys, store, workers, events."""
