/* The TVM runtime, through the C ABI of tvm_ffi. All of it is called by the computing thread of a bundle. */
#ifndef KOKORO_TVM_H
#define KOKORO_TVM_H

#include "bundle.h"

/* A tensor. `object` is TVM's over the same memory. */
typedef struct array {
  const dtype *type;
  int extents;
  int64_t shape[EXTENTS];
  void *data;
  void *object;
} array;

int64_t elements_of(const array *each);

/* A zeroed array of `extents` extents on a 64-byte boundary, released with the call. Fails. */
array new_array(scope *s, const char *type, int extents, int64_t a, int64_t b, int64_t c);

/* TVM's tensor over memory that lives as long as the arena. Fails. */
void *wrap(scope *s, arena *with, const port *port, void *data);

/* Loads the TVM runtime once in a process: what is there already, that of TVM_LIBRARY_PATH, what the bundle
 * brings, or an installed one. Bundles are opened one at a time: until the call ends, others wait here. Fails. */
void load_runtime(scope *s, const manifest *bundle);

/* Lets compiled code that this thread calls use so many threads, on any core the process may use. Fails. */
void use_threads(scope *s, int count);
int usable_cores(scope *s);

/* Functions of a component in a library, whose bytes are compared with the manifest. Fails. */
void load_functions(scope *s, const manifest *bundle, const component *component, const library *library,
                    const char *const *names, void **functions, int count);

/* Calls a function with TVM's objects; results, at most `most`, live as long as the call. The reason where it
 * failed, in scratch memory, else NULL. */
const char *call(scope *s, void *function, void *const *objects, int count, array *results, int most, int *got);

/* Empties the allocator's pool, which hands back blocks of the very same size only. Fails. */
void release_memory(scope *s);

#endif
