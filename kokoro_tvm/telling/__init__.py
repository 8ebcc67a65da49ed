"""What a build says of itself: its state and why, what it would do, and whether this machine is fit."""
