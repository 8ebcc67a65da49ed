// Emulation of matrix units.
#pragma once
#include <string.h>

#include "group.h"
#include "vectors.h"

#define multiply_m16n8k16(sums, a, b) cuda::multiply(here, __LINE__, sums, a, b)

namespace cuda {

// A lane's part of 16 x 16 and of 16 x 8 elements, in PTX's order.
struct Elements {
  float a[8], b[4];
};

inline void widen(float* to, const int* words, int count) {
  half values[8];
  memcpy(values, words, count * sizeof(half));
  for (int i = 0; i < count; ++i) to[i] = values[i];
}

// Sums over the channels in order, in float32. A GPU adds several products at once and truncates them.
inline void multiply(const group::Thread& here, int line, float* sums, const int* a, const int* b) {
  Elements own;
  widen(own.a, a, 8);
  widen(own.b, b, 4);
  const group::Given<Elements> given = here.give(line, own);
  const int row = here.lane() / 4, column = here.lane() % 4;
  for (int i = 0; i < 4; ++i) {
    const int below = i / 2, output = 2 * column + i % 2;
    float sum = sums[i];
    for (int c = 0; c < 16; ++c) {
      const int holds = c % 8 / 2, later = c / 8, second = c % 2;
      sum += given[4 * row + holds].a[4 * later + 2 * below + second] * given[4 * output + holds].b[2 * later + second];
    }
    sums[i] = sum;
  }
}

}  // namespace cuda
