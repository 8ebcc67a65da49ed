// The part of CUDA's half precision that TVM's kernels and its helper functions need.
#pragma once
#include "vectors.h"

typedef half __half;
struct alignas(4) __half2 {
  half x, y;
};
typedef __half2 half2;

inline bool __hgt(half a, half b) { return a > b; }
inline bool __hlt(half a, half b) { return a < b; }
inline float __half2float(half x) { return x; }
inline half __float2half(float x) { return half(x); }
inline half __float2half_rn(float x) { return half(x); }
