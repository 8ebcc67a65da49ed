// Names that TVM imports into std for NVRTC; no kernel uses them.
#pragma once
namespace cuda::std {
template <class A, class B>
struct is_same;
template <class A, class B>
constexpr bool is_same_v = false;
template <class A>
constexpr bool is_same_v<A, A> = true;
template <class A>
struct is_integral;
template <class A>
struct is_signed;
template <class A>
struct is_unsigned;
template <class A>
struct is_floating_point;
template <bool condition, class A>
struct enable_if;
template <bool condition, class A, class B>
struct conditional;
}  // namespace cuda::std
