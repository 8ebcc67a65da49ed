"""Code that patches share."""
