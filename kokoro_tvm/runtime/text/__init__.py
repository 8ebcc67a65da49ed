"""From text to phonemes: markup, sentences, the front end of each language."""
