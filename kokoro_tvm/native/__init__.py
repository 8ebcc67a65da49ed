"""C and C++: the library libkokoro, the TVM runtime, and the tools that compile and link."""
