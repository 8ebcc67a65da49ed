"""A bundle as data: its manifest, its files and what is known of them before any of its code runs."""
