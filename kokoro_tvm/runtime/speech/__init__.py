"""From phonemes to audio: divided, planned, rendered and joined, whole or as a stream."""
