"""Code that CPU kernels share: vectors, threads, convolution, bfloat16 and AMX."""
