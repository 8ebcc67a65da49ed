// Enough of CUDA for the kernels that TVM prints to compile as C++.
#pragma once
#include "group.h"

#include <tuple>

typedef unsigned int uint;

#define __global__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
};
inline thread_local dim3 blockIdx;

inline void __syncthreads() { group::wait(); }
template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
inline float __int_as_float(int x) {
  float y;
  memcpy(&y, &x, sizeof y);
  return y;
}

template <int I, class... P>
auto argument_of(void (*)(P...)) {
  return typename std::tuple_element<I, std::tuple<P...>>::type{};
}
