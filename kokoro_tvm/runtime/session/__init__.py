"""Arrays through a bundle's compiled code: libraries loaded, lengths routed to buckets, threads."""
