// Vectors of two or four elements with a GPU's alignment.
#pragma once

#ifdef __aarch64__
typedef __fp16 half;  // GCC 12 has no _Float16 in C++ for arm64: sums and products are float32 until they are stored
#else
typedef _Float16 half;
#endif

namespace vectors {

#define EACH(statement) \
  for (int i = 0; i < N; ++i) statement

template <class T, int N>
struct Lanes;
template <class T>
struct Lanes<T, 2> {
  T x, y;
};
template <class T>
struct Lanes<T, 4> {
  T x, y, z, w;
};

template <class T, int N>
struct alignas(sizeof(T) * N) Vector : Lanes<T, N> {
  Vector() = default;
  Vector(const Vector&) = default;
  Vector& operator=(const Vector&) = default;
  explicit Vector(T value) { EACH((*this)[i] = value); }
  template <class... More>
  Vector(T first, T second, More... more) : Lanes<T, N>{first, second, static_cast<T>(more)...} {}
  template <class Other>
  explicit Vector(const Vector<Other, N>& other) {
    EACH((*this)[i] = static_cast<T>(other[i]));
  }
  T& operator[](int i) { return reinterpret_cast<T*>(this)[i]; }
  const T& operator[](int i) const { return reinterpret_cast<const T*>(this)[i]; }
};

#define OPERATOR(OP)                                                \
  template <class T, int N>                                         \
  Vector<T, N> operator OP(Vector<T, N> a, const Vector<T, N>& b) { \
    EACH(a[i] = a[i] OP b[i]);                                      \
    return a;                                                       \
  }
OPERATOR(+)
OPERATOR(-)
OPERATOR(*)
OPERATOR(/)
#undef OPERATOR
#undef EACH

}  // namespace vectors
