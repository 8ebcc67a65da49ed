"""Remote bundles: addresses, OCI registries and layouts, download and verification."""
