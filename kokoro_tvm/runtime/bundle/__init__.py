"""A bundle as data: manifest, files, voices and verification; none of its code is executed."""
