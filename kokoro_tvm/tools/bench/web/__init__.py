"""Bundles for WebAssembly and ONNX Runtime Web on the same work, in Node, in turns."""
