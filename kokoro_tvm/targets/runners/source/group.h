// Executor of a kernel's workgroups on this machine's cores. The threads of a workgroup run one after another. If they
// wait for each other, each has its own stack, so that a barrier continues when all threads have reached it.
#pragma once
#include <tvm/ffi/c_api.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switch.h"

namespace group {

constexpr int kSubgroup = 32;
constexpr int kMostThreads = 1024;
// Not a power of two: stacks at equal offsets in their pages would share few cache lines.
constexpr size_t kStack = (32 << 10) + 9 * 64;
constexpr int kPoison = 0xff;  // NaN as float16 and as float32
constexpr size_t kZone = 64;   // bytes of poison around each array of shared memory
constexpr size_t kMostPosted = 48;  // maximum bytes that a thread passes to its subgroup

struct Index {
  unsigned x, y, z;
  size_t volume() const { return size_t(x) * y * z; }
  Index at(size_t i) const { return {unsigned(i % x), unsigned(i / x % y), unsigned(i / x / y)}; }
};

// An array of shared memory, in bytes.
struct Span {
  size_t start, end;
};

// The order in which threads and workgroups run. A result that depends on it is wrong.
enum Order : int64_t { kForwards, kBackwards, kShuffled, kEachLaunchAnother };

enum class State : int { kReady, kAtBarrier, kAtShuffle, kDone };

struct Fiber {
  group_place place;
  State state;
  int line;  // where it waits
  unsigned shuffles;
  // Indexed by the parity of the number of shuffles, so that each needs one rendezvous.
  alignas(16) char posted[2][kMostPosted];
};

struct Launch;
struct Touch;

// State of one core, which runs a workgroup at a time.
struct Group {
  const Launch* launch;
  Index block;
  int position;  // in the launch's order of threads
  group_place scheduler;
  Fiber fibers[kMostThreads];
  char* stacks;
  char* shared;
  size_t shared_bytes;
  Touch* touches;  // per byte at which an element starts, see races.h
  unsigned stretch;  // between barriers, counted over all workgroups
};

inline thread_local Group* current;

template <class T>
class Given;

inline group_place* next(Group* group);

struct Thread {
  Index thread, block;
  int number;  // in the workgroup
  Group* group;

  template <class Array>
  Array& shared(size_t start) const {
    return *reinterpret_cast<Array*>(group->shared + start);
  }

  void wait(State state, int line) const {
    Fiber& fiber = group->fibers[number];
    fiber.state = state;
    fiber.line = line;
    group_change(&fiber.place, next(group));
  }

  void barrier(int line) const { wait(State::kAtBarrier, line); }

  int lane() const { return number % kSubgroup; }

  // Return the values of all lanes of the subgroup, once all have arrived.
  template <class T>
  Given<T> give(int line, const T& value) const;

  // Return the value of a lane of the subgroup, or poison if there is no such thread.
  template <class T>
  T exchange(int line, T value, int source) const;
};

typedef void (*Body)(const Thread&, const void*);

struct Launch {
  const char* name;
  Index grid, block;
  const Span* arrays;
  int array_count;
  // Set when it runs.
  Body body;
  const void* closure;
  int threads;
  size_t groups;
  bool backwards;
  int order[kMostThreads];
  size_t taken;  // workgroups
  char failure[512];
};

constexpr int kMostCores = 64;
inline Group* groups[kMostCores];  // guarded by `busy`
inline int64_t chosen_order = kEachLaunchAnother;
#ifndef GROUP_CORES
#define GROUP_CORES 1
#endif
inline int64_t cores = GROUP_CORES;
inline uint64_t launches = 0;
inline pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

inline group_place* next(Group* group) {
  const Launch& launch = *group->launch;
  while (group->position < launch.threads) {
    Fiber& fiber = group->fibers[launch.order[group->position++]];
    if (fiber.state == State::kReady) return &fiber.place;
  }
  return &group->scheduler;
}

// By lane; valid until a thread of the subgroup has passed two more values.
template <class T>
class Given {
 public:
  Given(const Fiber* first, unsigned parity) : first_(first), parity_(parity) {}
  const T& operator[](int lane) const { return *reinterpret_cast<const T*>(first_[lane].posted[parity_]); }

 private:
  const Fiber* first_;
  unsigned parity_;
};

template <class T>
Given<T> Thread::give(int line, const T& value) const {
  static_assert(sizeof(T) <= kMostPosted, "no such type is given");
  Fiber& fiber = group->fibers[number];
  const unsigned parity = fiber.shuffles++ % 2;
  memcpy(fiber.posted[parity], &value, sizeof value);
  wait(State::kAtShuffle, line);
  return {&group->fibers[number - lane()], parity};
}

template <class T>
T Thread::exchange(int line, T value, int source) const {
  const Given<T> given = give(line, value);
  if (source >= 0 && source < kSubgroup && number - lane() + source < group->launch->threads) return given[source];
  memset(&value, kPoison, sizeof value);
  return value;
}

inline void fail(Group* group, const char* format, ...) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  char reason[256];
  va_list values;
  va_start(values, format);
  vsnprintf(reason, sizeof reason, format, values);
  va_end(values);
  Launch& launch = *const_cast<Launch*>(group->launch);
  pthread_mutex_lock(&one);
  if (!launch.failure[0])
    snprintf(launch.failure, sizeof launch.failure, "%s, workgroup (%u, %u, %u): %s", launch.name, group->block.x,
             group->block.y, group->block.z, reason);
  pthread_mutex_unlock(&one);
}

// An array of shared memory; its elements as another type; its preparation by `watch`.
#ifdef GROUP_RACES
}  // namespace group
#include "races.h"
namespace group {
#else
#define SHARED(T, name, count, start) auto& name = here.shared<T[count]>(start)
#define SHARED_AS(T, name) ((T*)name)
inline void watch(Group*) {}
#endif

// Resume threads whose wait is over; return false if there are none, because all are done or stuck.
inline bool release(Group* group) {
  const int threads = group->launch->threads;
  Fiber* fibers = group->fibers;
  bool shuffled = false;
  for (int first = 0; first < threads; first += kSubgroup) {
    const int end = first + kSubgroup < threads ? first + kSubgroup : threads;
    int waiting = 0, line = 0;
    for (int i = first; i < end; ++i)
      if (fibers[i].state == State::kAtShuffle) ++waiting, line = fibers[i].line;
    if (!waiting) continue;
    for (int i = first; i < end; ++i) {
      if (fibers[i].state != State::kAtShuffle || fibers[i].line != line)
        return fail(group, "of the subgroup that starts with thread %d, thread %d does not reach the shuffle in line %d",
                    first, i, line),
               false;
      fibers[i].state = State::kReady;
    }
    shuffled = true;
  }
  if (shuffled) return true;
  int waiting = 0, line = 0;
  for (int i = 0; i < threads; ++i)
    if (fibers[i].state == State::kAtBarrier) ++waiting, line = fibers[i].line;
  if (!waiting) return false;
  for (int i = 0; i < threads; ++i) {
    if (fibers[i].state == State::kDone)
      return fail(group, "thread %d ends without reaching the barrier in line %d, where %d of %d threads wait", i, line,
                  waiting, threads),
             false;
    if (fibers[i].line != line)
      return fail(group, "thread %d waits at the barrier in line %d, others at that in line %d", i, fibers[i].line, line),
             false;
    fibers[i].state = State::kReady;
  }
  ++group->stretch;
  return true;
}

inline void begin_fiber() {
  Group* group = current;
  const int number = group->launch->order[group->position - 1];
  const Thread thread{group->launch->block.at(number), group->block, number, group};
  group->launch->body(thread, group->launch->closure);
  Fiber& fiber = group->fibers[number];
  fiber.state = State::kDone;
  group_change(&fiber.place, next(group));
}

inline void check_shared(Group* group) {
  const Launch& launch = *group->launch;
  size_t at = 0;
  for (int i = 0; i <= launch.array_count; ++i) {
    const size_t end = i < launch.array_count ? launch.arrays[i].start : at + kZone;
    for (; at < end; ++at)
      if (group->shared[at] != char(kPoison)) return fail(group, "it writes outside its shared arrays");
    if (i < launch.array_count) at = launch.arrays[i].end;
  }
}

// Run the remaining workgroups, with a stack for each thread or on the caller's stack.
template <bool kWaits>
void run_groups(Launch& launch, Group* group) {
  current = group;
  group->launch = &launch;
  const size_t shared_bytes = (launch.array_count ? launch.arrays[launch.array_count - 1].end : 0) + kZone;
  if (group->shared_bytes < shared_bytes) {
    free(group->shared);
    group->shared = static_cast<char*>(aligned_alloc(64, (shared_bytes + 63) / 64 * 64));
    group->shared_bytes = shared_bytes;
    watch(group);
  }
  if (kWaits && !group->stacks) group->stacks = static_cast<char*>(malloc(kMostThreads * kStack));
  for (;;) {
    const size_t taken = __atomic_fetch_add(&launch.taken, 1, __ATOMIC_RELAXED);
    if (taken >= launch.groups || launch.failure[0]) return;
    group->block = launch.grid.at(launch.backwards ? launch.groups - 1 - taken : taken);
    memset(group->shared, kPoison, shared_bytes);
    ++group->stretch;
    if (kWaits) {
      for (int i = 0; i < launch.threads; ++i) {
        Fiber& fiber = group->fibers[i];
        fiber.state = State::kReady;
        fiber.shuffles = 0;
        group_prepare(&fiber.place, group->stacks + i * kStack, kStack, begin_fiber);
      }
      do {
        group->position = 0;
        group_change(&group->scheduler, next(group));
      } while (release(group));
    } else {
      for (int i = 0; i < launch.threads; ++i) {
        const int number = launch.order[i];
        launch.body({launch.block.at(number), group->block, number, group}, launch.closure);
      }
    }
    if (launch.array_count) check_shared(group);
  }
}

template <bool kWaits>
struct Worker {
  Launch* launch;
  Group* group;
  static void* run(void* self) {
    run_groups<kWaits>(*static_cast<Worker*>(self)->launch, static_cast<Worker*>(self)->group);
    return nullptr;
  }
};

inline void arrange(Launch& launch) {
  const uint64_t number = launches++;
  const int64_t order = chosen_order == kEachLaunchAnother ? int64_t(number % 3) : chosen_order;
  launch.backwards = order == kBackwards;
  for (int i = 0; i < launch.threads; ++i) launch.order[i] = launch.backwards ? launch.threads - 1 - i : i;
  if (order != kShuffled) return;
  uint64_t random = number * 2 + 1;
  for (int i = launch.threads - 1; i > 0; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int j = int((random >> 33) % unsigned(i + 1));
    const int other = launch.order[j];
    launch.order[j] = launch.order[i];
    launch.order[i] = other;
  }
}

// Run a launch for TVM: return 0, or -1 with an error that TVM raises.
template <bool kWaits, class Closure>
int run(Launch& launch, TVMFFIAny* result, const Closure& closure) {
  launch.body = [](const Thread& thread, const void* c) { (*static_cast<const Closure*>(c))(thread); };
  launch.closure = &closure;
  launch.groups = launch.grid.volume();
  launch.taken = 0;
  launch.failure[0] = 0;
  if (launch.block.volume() > kMostThreads) {
    snprintf(launch.failure, sizeof launch.failure, "%s: %zu threads, a workgroup has at most %d", launch.name,
             launch.block.volume(), kMostThreads);
    launch.groups = 0;
  }
  launch.threads = launch.groups ? int(launch.block.volume()) : 0;
  pthread_mutex_lock(&busy);
  arrange(launch);
  size_t count = size_t(cores);
  if (count > kMostCores) count = kMostCores;
  if (count > launch.groups) count = launch.groups;
  if (launch.groups * launch.threads < 4096) count = 1;  // a second core would start too late
  Worker<kWaits> workers[kMostCores];
  pthread_t threads[kMostCores];
  size_t started = 0;
  for (size_t i = 0; i < (count ? count : 1); ++i) {
    if (!groups[i]) groups[i] = static_cast<Group*>(calloc(1, sizeof(Group)));
    workers[i] = {&launch, groups[i]};
  }
  while (started + 1 < count && !pthread_create(&threads[started], nullptr, Worker<kWaits>::run, &workers[started + 1]))
    ++started;
  Worker<kWaits>::run(&workers[0]);
  while (started) pthread_join(threads[--started], nullptr);
  pthread_mutex_unlock(&busy);
  result->type_index = kTVMFFINone;
  if (!launch.failure[0]) return 0;
  TVMFFIErrorSetRaisedFromCStr("RuntimeError", launch.failure);
  return -1;
}

// Conversion of TVM's arguments.
template <class T>
struct As {
  static T from(const TVMFFIAny& given) { return static_cast<T>(given.v_int64); }
};
template <>
struct As<float> {
  static float from(const TVMFFIAny& given) { return static_cast<float>(given.v_float64); }
};
template <class T>
struct As<T*> {
  static T* from(const TVMFFIAny& given) { return static_cast<T*>(given.v_ptr); }
};

}  // namespace group

// Equal in every file of a library.
extern "C" __attribute__((visibility("default"), weak)) int __tvm_ffi_choose(
    void*, const TVMFFIAny* given, int32_t, TVMFFIAny* result) {
  group::chosen_order = given[0].v_int64;
  group::cores = given[1].v_int64;
  group::launches = 0;
  result->type_index = kTVMFFINone;
  return 0;
}
