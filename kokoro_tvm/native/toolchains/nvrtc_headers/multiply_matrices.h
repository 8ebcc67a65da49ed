// Matrix units: see `GpuKernel.multiply_matrices`.
#pragma once

// sums (16 x 8) += a (16 x 16) b (16 x 8) for a warp: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".
inline __device__ void multiply_m16n8k16(float* sums, const int* a, const int* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
