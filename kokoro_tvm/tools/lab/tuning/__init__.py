"""What `kokoro-tvm tune` does: tries on this machine what the rules of the convolution kernels only guess."""
