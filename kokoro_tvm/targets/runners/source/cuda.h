// The part of CUDA that TVM's kernels need to compile as C++; they include it as <cuda.h>.
#pragma once
#include "group.h"
#include "rough.h"
#include "vectors.h"

#define __device__
#define __host__
#define __align__(bytes) alignas(bytes)

#define threadIdx here.thread
#define blockIdx here.block
#define __syncthreads() here.barrier(__LINE__)
#define __activemask() 0xffffffffu

// Each lane reads from the lanes [first, end), or its own value if the source is outside.
#define __shfl_sync(mask, value, lane, width) \
  cuda::shuffle(here, __LINE__, value, cuda::segment(here, width) + (lane) % (width), 0, group::kSubgroup)
#define __shfl_up_sync(mask, value, delta, width) \
  cuda::shuffle(here, __LINE__, value, here.lane() - int(delta), cuda::segment(here, width), group::kSubgroup)
#define __shfl_down_sync(mask, value, delta, width) \
  cuda::shuffle(here, __LINE__, value, here.lane() + int(delta), 0, cuda::segment(here, width) + (width))
#define __shfl_xor_sync(mask, value, lanes, width) \
  cuda::shuffle(here, __LINE__, value, here.lane() ^ int(lanes), 0, cuda::segment(here, width) + (width))

namespace cuda {

inline int segment(const group::Thread& here, int width) { return here.lane() / width * width; }

template <class T>
T shuffle(const group::Thread& here, int line, T value, int source, int first, int end) {
  return here.exchange(line, value, source >= first && source < end ? source : here.lane());
}

}  // namespace cuda

#define sinf rough::sin
#define cosf rough::cos
#define tanf rough::tan
#define expf rough::exp
#define exp2f rough::exp2
#define logf rough::log
#define log2f rough::log2
#define powf rough::pow
#define tanhf rough::tanh
#define atanf rough::atan
#define atan2f rough::atan2
#define rsqrtf rough::rsqrt
#define __sinf rough::sin
#define __cosf rough::cos
#define __tanf rough::tan
#define __expf rough::exp
#define __logf rough::log
#define __log2f rough::log2
#define __powf rough::pow
#define __int_as_float rough::bits<float>
#define __float_as_int rough::bits<int>

using rough::max;
using rough::min;

typedef vectors::Vector<float, 2> float2;
typedef vectors::Vector<float, 4> float4;
typedef vectors::Vector<int, 2> int2;
typedef vectors::Vector<int, 4> int4;
typedef vectors::Vector<unsigned, 2> uint2;
typedef vectors::Vector<unsigned, 4> uint4;

inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
