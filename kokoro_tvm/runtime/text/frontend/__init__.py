"""From text to phonemes: normalisation, tagging, lexicon, letter-to-sound."""
