"""Is it right: metrics, gates, and artifacts compared with the stock model's references (no torch)."""
