// Switch between stacks, for a waiting thread of a workgroup. C and C++.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(GROUP_PORTABLE)

// A stack pointer; other registers that a call preserves are on the stack. The system's swapcontext asks the
// kernel for the signal mask each time, which takes longer than most threads compute between barriers.
typedef void* group_place;

#ifdef __cplusplus
extern "C"
#endif
    void group_switch(group_place* from, group_place to) __asm__("group_switch");

#if defined(__x86_64__)
__asm__(
    ".text\n"
    "group_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  retq\n");

// Prepare a stack on which `body` is entered like a called function: its pointer is 8 off a multiple of 16.
static inline void group_prepare(group_place* place, char* stack, size_t size, void (*body)()) {
  uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
  void** saved = (void**)top - 8;
  saved[6] = (void*)body;
  saved[7] = NULL;
  *place = saved;
}
#else
__asm__(
    ".text\n"
    ".align 2\n"
    "group_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");

static inline void group_prepare(group_place* place, char* stack, size_t size, void (*body)()) {
  uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
  void** saved = (void**)top - 20;
  saved[10] = NULL;
  saved[11] = (void*)body;
  *place = saved;
}
#endif

static inline void group_change(group_place* from, group_place* to) { group_switch(from, *to); }

#else
#include <ucontext.h>

typedef ucontext_t group_place;

static inline void group_prepare(group_place* place, char* stack, size_t size, void (*body)()) {
  getcontext(place);
  place->uc_stack.ss_sp = stack;
  place->uc_stack.ss_size = size;
  place->uc_link = NULL;
  makecontext(place, body, 0);
}

static inline void group_change(group_place* from, group_place* to) { swapcontext(from, to); }

#endif
