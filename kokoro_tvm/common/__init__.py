"""What wings have in common: errors, constants, digests and the like."""
