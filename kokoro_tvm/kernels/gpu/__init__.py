"""Code that GPU kernels share: launches, reductions, convolution, compensated arithmetic."""
