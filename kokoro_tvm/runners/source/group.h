// Runs the threads of a workgroup one after another on the CPU, each a fiber of its own where they wait for
// each other: a barrier lets nobody go on before all have come.
#pragma once
#undef _FORTIFY_SOURCE  // of longjmp, which would refuse to leave one stack for another
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace group {

enum class State { kRunning, kAtBarrier, kDone };

struct Fiber {
  ucontext_t context;
  jmp_buf place;
  bool started = false;
  State state = State::kRunning;
};

constexpr size_t kStack = 64 << 10;
constexpr size_t kShared = 256 << 10;

struct Group {
  std::vector<Fiber> fibers;
  std::vector<std::unique_ptr<char[]>> stacks;
  ucontext_t scheduler;
  jmp_buf back;
  int current = 0;
  void (*body)(void*, int);
  void* argument;
  alignas(64) char shared[kShared];
};

inline Group& here() {
  static thread_local Group* group = new Group;
  return *group;
}

inline void wait() {
  Fiber& fiber = here().fibers[here().current];
  fiber.state = State::kAtBarrier;
  if (!_setjmp(fiber.place)) _longjmp(here().back, 1);
}

inline void enter_body() {
  Group& group = here();
  group.body(group.argument, group.current);
  here().fibers[here().current].state = State::kDone;
  _longjmp(here().back, 1);
}

__attribute__((noinline)) inline void enter(Group& group, int thread) {
  group.current = thread;
  Fiber& fiber = group.fibers[thread];
  if (_setjmp(group.back)) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  swapcontext(&group.scheduler, &fiber.context);
}

// One workgroup: body(argument, thread) for each of its threads.
inline void run(int threads, void (*body)(void*, int), void* argument) {
  Group& group = here();
  memset(group.shared, 0xff, sizeof group.shared);  // not a number, as float
  while (static_cast<int>(group.stacks.size()) < threads) group.stacks.emplace_back(new char[kStack]);
  group.fibers.assign(threads, Fiber{});
  group.body = body;
  group.argument = argument;
  for (int i = 0; i < threads; ++i) {
    ucontext_t& context = group.fibers[i].context;
    getcontext(&context);
    context.uc_stack.ss_sp = group.stacks[i].get();
    context.uc_stack.ss_size = kStack;
    context.uc_link = nullptr;
    makecontext(&context, enter_body, 0);
  }
  for (int done = 0; done < threads;) {
    for (int i = 0; i < threads; ++i) {
      if (group.fibers[i].state != State::kRunning) continue;
      enter(group, i);
      done += group.fibers[i].state == State::kDone;
    }
    for (Fiber& fiber : group.fibers)
      if (fiber.state == State::kAtBarrier) fiber.state = State::kRunning;
  }
}

}  // namespace group
