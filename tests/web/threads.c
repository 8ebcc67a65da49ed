/* Functions with parallel calls like compiled code, whose tasks do what kernels do, or what they must not do. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MAIN_STACK (1 << 20) /* the runtime's own stack comes first in its memory */

typedef struct {
  void* handle;
  int32_t tasks;
} Group;
typedef int (*Task)(int, Group*, void*);
typedef struct {
  int32_t type, unused;
  int64_t value;
} Any;

/* TVM sets these when it loads the library */
EXPORT int (*__TVMBackendParallelLaunch)(Task, void*, int);
EXPORT void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
EXPORT int (*__TVMBackendFreeWorkspace)(int, int, void*);

static int met, counted, initial = 7;

/* Return when every thread is in a task. */
static void meet(Group* group) {
  __atomic_add_fetch(&met, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&met, __ATOMIC_SEQ_CST) < group->tasks) {
  }
}

static int is_other_thread(void) {
  volatile char here = 0;
  return (uintptr_t)&here > MAIN_STACK;
}

static int allocate(int task, Group* group, void* data) {
  for (int i = 0; i < 200; ++i) {
    volatile int* memory = __TVMBackendAllocWorkspace(1, 0, 4000 * (1 + i % 5), 2, 32);
    *memory = task;
    for (volatile int wait = 0; wait < 50; ++wait) {
    }
    if (*memory != task) return 1; /* another thread has it too */
    __TVMBackendFreeWorkspace(1, 0, (void*)memory);
    __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
  }
  return 0;
}
static int join(int task, Group* group, void* data) {
  meet(group);
  __atomic_add_fetch((int*)data, is_other_thread(), __ATOMIC_SEQ_CST);
  return 0;
}
static int trap(int task, Group* group, void* data) {
  meet(group);
  if (is_other_thread()) __builtin_trap();
  return 0;
}
static int stay(int task, Group* group, void* data) {
  meet(group);
  while (is_other_thread() && __atomic_load_n(&met, __ATOMIC_SEQ_CST) > 0) {
  }
  return 0;
}

static int result(Any* out, int value) {
  out->type = 1;
  out->value = value;
  return 0;
}

/* Return the number of separate blocks of working memory in the tasks of 50 calls. */
EXPORT int __tvm_ffi_allocated(void* self, const Any* given, int count, Any* out) {
  counted = 0;
  for (int i = 0; i < 50; ++i) {
    int status = __TVMBackendParallelLaunch(allocate, 0, 0);
    if (status) return status;
  }
  return result(out, counted);
}
/* Return the number of tasks outside of the caller's thread, with one task per thread. */
EXPORT int __tvm_ffi_others(void* self, const Any* given, int count, Any* out) {
  int others = met = 0;
  __TVMBackendParallelLaunch(join, &others, 0);
  return result(out, others);
}
/* Data that a thread would have overwritten by writing the library's initial data again. */
EXPORT int __tvm_ffi_changed(void* self, const Any* given, int count, Any* out) { return result(out, initial++); }
EXPORT int __tvm_ffi_traps(void* self, const Any* given, int count, Any* out) {
  met = 0;
  return __TVMBackendParallelLaunch(trap, 0, 0);
}
EXPORT int __tvm_ffi_stays(void* self, const Any* given, int count, Any* out) {
  met = 0;
  return __TVMBackendParallelLaunch(stay, 0, 0);
}
