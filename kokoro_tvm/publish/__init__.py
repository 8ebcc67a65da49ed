"""Bundles for others: wheels, archives, releases, sites, registries."""
