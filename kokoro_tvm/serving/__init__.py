"""Serves speech to clients of other interfaces, over `kokoro_tvm.runtime`; needs starlette and uvicorn."""
