/* Run a program of macOS on arm64 in a process of Linux: `darwin PROGRAM ARGUMENT...`.
 *
 * dyld.c binds imports from macOS' C library to Linux' functions of the same names. This file has the functions whose
 * arguments or results differ: dyld.c prefers `darwin_NAME` to `NAME`. It has as many as libkokoro needs. errno has
 * Linux' numbers, which equal macOS' up to 34. macOS' C library itself is not run. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "dyld.h"

/* On macOS, variadic arguments lie on the stack, each in 8 bytes, and a va_list points to the next. Linux passes
 * arguments beyond its registers the same way. */
#define FROM_STACK(place) {.__stack = (place), .__gr_offs = 0, .__vr_offs = 0}

int darwin_vsnprintf(char *to, size_t size, const char *format, void *arguments) {
  va_list list = FROM_STACK(arguments);
  return vsnprintf(to, size, format, list);
}

int darwin_vfprintf(FILE *to, const char *format, void *arguments) {
  va_list list = FROM_STACK(arguments);
  return vfprintf(to, format, list);
}

int darwin_vprintf(const char *format, void *arguments) { return darwin_vfprintf(stdout, format, arguments); }

/* The stack of a variadic call begins with the variadic arguments. A jmp_buf of macOS has 192 bytes, fewer than Linux'. */
__asm__(
    ".macro function name\n .globl \\name\n .type \\name, %function\n \\name:\n .endm\n"
    "function darwin_snprintf\n mov x3, sp\n b darwin_vsnprintf\n"
    "function darwin_fprintf\n mov x2, sp\n b darwin_vfprintf\n"
    "function darwin_printf\n mov x1, sp\n b darwin_vprintf\n"
    "function darwin_setjmp\n"
    " stp x19, x20, [x0]\n stp x21, x22, [x0, 16]\n stp x23, x24, [x0, 32]\n stp x25, x26, [x0, 48]\n"
    " stp x27, x28, [x0, 64]\n stp x29, x30, [x0, 80]\n mov x2, sp\n str x2, [x0, 96]\n"
    " stp d8, d9, [x0, 112]\n stp d10, d11, [x0, 128]\n stp d12, d13, [x0, 144]\n stp d14, d15, [x0, 160]\n"
    " mov w0, 0\n ret\n"
    "function darwin_longjmp\n"
    " ldp x19, x20, [x0]\n ldp x21, x22, [x0, 16]\n ldp x23, x24, [x0, 32]\n ldp x25, x26, [x0, 48]\n"
    " ldp x27, x28, [x0, 64]\n ldp x29, x30, [x0, 80]\n ldr x2, [x0, 96]\n mov sp, x2\n"
    " ldp d8, d9, [x0, 112]\n ldp d10, d11, [x0, 128]\n ldp d12, d13, [x0, 144]\n ldp d14, d15, [x0, 160]\n"
    " cmp w1, 0\n cinc w0, w1, eq\n ret\n");

int *darwin___error(void) { return &errno; }

FILE *darwin___stderrp;

/* Translate flags, or return -1 for unknown ones. */
static int flags_of(int darwin) {
  static const struct { int darwin, ours; } known[] = {{0x4, O_NONBLOCK}, {0x1000000, O_CLOEXEC}};
  int flags = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (darwin & known[i].darwin) darwin &= ~known[i].darwin, flags |= known[i].ours;
  return darwin ? (errno = EINVAL, -1) : flags;
}

int darwin_open(const char *path, int flags) { /* for reading: a mode would be variadic */
  int ours = flags_of(flags);
  return ours < 0 ? -1 : open(path, O_RDONLY | ours);
}

int darwin_mkostemps(char *path, int behind, int flags) {
  int ours = flags_of(flags);
  return ours < 0 ? -1 : mkostemps(path, behind, ours);
}

typedef struct {
  int32_t device;
  uint16_t mode, links;
  uint64_t number;
  uint32_t user, group;
  int32_t special;
  struct timespec read, written, changed, made;
  int64_t size, blocks;
  int32_t block;
  uint32_t flags, generation;
  int32_t spare;
  int64_t spares[2];
} Status;

_Static_assert(sizeof(Status) == 144, "as <sys/stat.h> of macOS has it");

static int convert(int failed, const struct stat *found, Status *status) {
  if (failed) return failed;
  memset(status, 0, sizeof *status);
  status->device = (int32_t)found->st_dev;
  status->mode = (uint16_t)found->st_mode;
  status->links = (uint16_t)found->st_nlink;
  status->number = found->st_ino;
  status->user = found->st_uid;
  status->group = found->st_gid;
  status->read = found->st_atim;
  status->written = found->st_mtim;
  status->changed = found->st_ctim;
  status->size = found->st_size;
  status->blocks = found->st_blocks;
  status->block = (int32_t)found->st_blksize;
  return 0;
}

int darwin_stat(const char *path, Status *status) {
  struct stat found;
  return convert(stat(path, &found), &found, status);
}

int darwin_fstat(int descriptor, Status *status) {
  struct stat found;
  return convert(fstat(descriptor, &found), &found, status);
}

int darwin_sysctlbyname(const char *name, void *value, size_t *size, const void *given, size_t given_size) {
  int count = get_nprocs();
  (void)given_size;
  if (strcmp(name, "hw.logicalcpu") != 0 || given || *size < sizeof count) return errno = ENOENT, -1;
  memcpy(value, &count, *size = sizeof count);
  return 0;
}

/* A mutex of macOS has 64 bytes. The first 8 are a signature, the rest is zero after static initialization: Linux'
 * mutex lies there. A condition variable has 48 bytes on both. */
enum { WHAT_IT_IS = 8 };
_Static_assert(sizeof(pthread_mutex_t) <= 64 - WHAT_IT_IS && sizeof(pthread_cond_t) <= 48, "room for Linux' own");

static pthread_mutex_t *inside(void *mutex) { return (pthread_mutex_t *)((char *)mutex + WHAT_IT_IS); }

int darwin_pthread_mutex_init(void *mutex, const void *attributes) {
  return attributes ? EINVAL : pthread_mutex_init(inside(mutex), NULL);
}
int darwin_pthread_mutex_destroy(void *mutex) { return pthread_mutex_destroy(inside(mutex)); }
int darwin_pthread_mutex_lock(void *mutex) { return pthread_mutex_lock(inside(mutex)); }
int darwin_pthread_mutex_unlock(void *mutex) { return pthread_mutex_unlock(inside(mutex)); }
int darwin_pthread_cond_wait(pthread_cond_t *condition, void *mutex) {
  return pthread_cond_wait(condition, inside(mutex));
}

/* Signal handlers are saved and restored only: Linux' struct is larger than macOS'. */
typedef struct {
  struct sigaction *ours;
  uint32_t mask, flags;
} Action;

int darwin_sigaction(int number, const Action *next, Action *before) {
  static struct sigaction kept;
  if (before) before->ours = &kept;
  return sigaction(number, next ? next->ours : NULL, before ? &kept : NULL);
}

/* macOS' TVM runtime needs macOS' C++ library, so Linux' runtime of this process replaces it. */
void *darwin_dlopen(const char *path, int flags) {
  enum { NOLOAD = 0x10 };
  char name[256];
  const char *suffix = strstr(path, ".dylib");
  if (!(flags & NOLOAD)) return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  snprintf(name, sizeof name, "%.*s.so", suffix ? (int)(suffix - path) : 0, path);
  return dyld_loaded(name);
}

int main(int count, char **words) {
  darwin___stderrp = stderr;
  if (count < 2) return fputs("usage: darwin PROGRAM ARGUMENT...\n", stderr), 127;
  return dyld_run(words[1], count - 1, words + 1);
}
