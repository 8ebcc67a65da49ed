// Half precision for storage: conversions, and the needs of TVM's helper functions.
#pragma once

struct alignas(2) __half {
  unsigned short bits;
  __half() = default;
  __device__ __half(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ __half(int x) : __half(static_cast<float>(x)) {}
  __device__ operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};
typedef __half half;

struct alignas(4) __half2 {
  __half x, y;
};
typedef __half2 half2;

inline __device__ float __half2float(__half x) { return x; }
inline __device__ __half __float2half(float x) { return x; }
inline __device__ __half __float2half_rn(float x) { return x; }
inline __device__ bool __hgt(__half a, __half b) { return float(a) > float(b); }
inline __device__ bool __hlt(__half a, __half b) { return float(a) < float(b); }
