"""A bundle for WebAssembly and what people run today in a browser, on the same work: in Node, in turns."""
