/* Included before every source: parts that the C++ library lacks for programs with one thread. */
#ifndef KOKORO_TVM_SINGLE_H
#define KOKORO_TVM_SINGLE_H

#include <chrono>
#include <mutex>

namespace std {

struct mutex {
  constexpr mutex() noexcept = default;
  void lock() {}
  void unlock() {}
  bool try_lock() { return true; }
};
struct recursive_mutex : mutex {};
template <class... Mutexes>
struct scoped_lock {
  explicit scoped_lock(Mutexes&...) {}
};
template <class... Mutexes>
scoped_lock(Mutexes&...) -> scoped_lock<Mutexes...>;

namespace this_thread {
template <class Duration>
void sleep_for(const Duration&) {}
}  // namespace this_thread

}  // namespace std

#endif
