"""Bundles in other places: how a place is named, what lies there, and how one is fetched and verified."""
