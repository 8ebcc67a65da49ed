"""Execution of compiled code: libraries, buckets, devices and threads."""
