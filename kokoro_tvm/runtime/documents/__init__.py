"""Files around speech: documents that are read, audio and captions that are written, players."""
