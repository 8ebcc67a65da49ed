"""The stock model as the reference: its runs in float64 and float32, and the corpus of utterances."""
