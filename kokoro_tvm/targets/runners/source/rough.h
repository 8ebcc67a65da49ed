// Elementary functions with the largest error that WGSL allows: kernels that need more accuracy fail. Source: the
// section "Floating Point Accuracy" of the WGSL specification. sqrt is exact.
#pragma once
#include <math.h>
#include <string.h>

namespace rough {

// Add an error below `error`, always in the same direction.
inline float off(float value, float error) { return value + 0.9f * error; }
inline float ulp(float value, float count) { return off(value, count * fabsf(value) * 0x1p-23f); }

inline float sin(float x) { return off(::sinf(x), 0x1p-11f); }
inline float cos(float x) { return off(::cosf(x), 0x1p-11f); }
inline float tan(float x) { return sin(x) / cos(x); }
inline float exp(float x) { return ulp(::expf(x), 3 + 2 * fabsf(x)); }
inline float exp2(float x) { return ulp(::exp2f(x), 3 + 2 * fabsf(x)); }
inline float log(float x) { return x < 0.5f || x > 2 ? ulp(::logf(x), 3) : off(::logf(x), 0x1p-21f); }
inline float log2(float x) { return x < 0.5f || x > 2 ? ulp(::log2f(x), 3) : off(::log2f(x), 0x1p-21f); }
inline float pow(float x, float y) { return exp2(y * log2(x)); }
inline float tanh(float x) { return off(::tanhf(x), 1e-5f); }
inline float atan(float x) { return ulp(::atanf(x), 4096); }
inline float atan2(float y, float x) { return ulp(::atan2f(y, x), 4096); }

inline float rsqrt(float x) { return 1 / ::sqrtf(x); }

template <class To, class From>
To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

inline float min(float a, float b) { return b < a ? b : a; }
inline float max(float a, float b) { return a < b ? b : a; }
inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}

}  // namespace rough
