// The part of the Metal Shading Language that TVM's kernels need to compile as C++.
#pragma once
#include "group.h"
#include "rough.h"
#include "vectors.h"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;

namespace metal {

typedef vectors::Vector<float, 2> float2;
typedef vectors::Vector<float, 4> float4;
typedef vectors::Vector<half, 2> half2;
typedef vectors::Vector<half, 4> half4;
typedef vectors::Vector<int, 2> int2;
typedef vectors::Vector<int, 4> int4;
typedef vectors::Vector<uint, 2> uint2;
typedef vectors::Vector<uint, 4> uint4;
typedef group::Index uint3;

// A position in a grid or a workgroup with the dimensions of the kernel's parameter.
struct Position {
  group::Index at;
  operator uint() const { return at.x; }
  operator uint2() const { return {at.x, at.y}; }
  operator uint3() const { return at; }
};

inline Position threadgroup_position_in_grid(const group::Thread& here) { return {here.block}; }
inline Position thread_position_in_threadgroup(const group::Thread& here) { return {here.thread}; }

using ::ceil;
using ::fabs;
using ::floor;
using ::fma;
using ::rint;
using ::round;
using ::sqrt;
using ::trunc;
using std::isinf;
using std::isnan;
using rough::atan;
using rough::atan2;
using rough::cos;
using rough::exp;
using rough::exp2;
using rough::log;
using rough::log2;
using rough::max;
using rough::min;
using rough::pow;
using rough::rsqrt;
using rough::sin;
using rough::tan;
using rough::tanh;

// In C, but not in Metal.
float nearbyint(float) = delete;
float erf(float) = delete;

template <class T>
T select(T no, T yes, bool condition) {
  return condition ? yes : no;
}
template <class To, class From>
To as_type(From from) {
  return rough::bits<To>(from);
}

}  // namespace metal

#define device
#define constant const
#define thread
#define threadgroup
#define threadgroup_barrier(flags) here.barrier(__LINE__)

// A lane outside of the subgroup gives poison; Metal leaves it undefined.
#define simd_shuffle(value, lane) here.exchange(__LINE__, value, int(lane))
#define simd_broadcast(value, lane) here.exchange(__LINE__, value, int(lane))
#define simd_shuffle_up(value, delta) here.exchange(__LINE__, value, here.lane() - int(delta))
#define simd_shuffle_down(value, delta) here.exchange(__LINE__, value, here.lane() + int(delta))
#define simd_shuffle_xor(value, lanes) here.exchange(__LINE__, value, here.lane() ^ int(lanes))
