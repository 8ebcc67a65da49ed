/* Platform functions of TVM for WebAssembly inside JavaScript. */
#include <dlfcn.h>
#include <tvm/ffi/error.h>

#include <cstdint>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HOST(name) extern "C" __attribute__((import_module("host"), import_name(#name)))

/* The tag of C++ exceptions in WebAssembly, with the address of the thrown object. */
__asm__(
    ".globl __cpp_exception\n"
    ".tagtype __cpp_exception i32\n"
    "__cpp_exception:\n");

/* Libraries are WebAssembly modules that JavaScript instantiated in this memory. They have numbers from 1, looked up by
 * name. */
HOST(open_library) int open_library(const char* name);
HOST(find_symbol) void* find_symbol(int library, const char* name);

EXPORT void* dlopen(const char* name, int) { return reinterpret_cast<void*>(open_library(name)); }
EXPORT void* dlsym(void* library, const char* name) { return find_symbol(reinterpret_cast<intptr_t>(library), name); }
EXPORT int dlclose(void*) { return 0; }
EXPORT char* dlerror() {
  static char reason[] = "no module of that name was instantiated";
  return reason;
}

struct TVMParallelGroupEnv {
  void* sync_handle;
  int32_t num_task;
};
using Task = int (*)(int, TVMParallelGroupEnv*, void*);

/* Call `run` for every task. The host knows their number and writes it to `group`. */
HOST(launch) int launch(Task run, TVMParallelGroupEnv* group, void* data);

EXPORT int TVMBackendParallelLaunch(Task run, void* data, int) {
  TVMParallelGroupEnv group{nullptr, 0};
  return launch(run, &group, data);
}
EXPORT int TVMBackendParallelBarrier(int, TVMParallelGroupEnv*) {
  TVMFFIErrorSetRaisedFromCStr("NotImplementedError", "tasks of a parallel call cannot wait for each other");
  return -1;
}

/* Threads call only these two functions of TVM, which is compiled for one thread: a lock wraps them. `wasm.py` has
 * their names. */
extern "C" void* kokoro_alloc_workspace(int device_type, int device, uint64_t size, int code, int bits);
extern "C" int kokoro_free_workspace(int device_type, int device, void* data);

struct Alone {
  static inline int taken = 0;
  __attribute__((target("atomics"))) Alone() {
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE)) {
    }
  }
  __attribute__((target("atomics"))) ~Alone() { __atomic_store_n(&taken, 0, __ATOMIC_RELEASE); }
};

EXPORT void* TVMBackendAllocWorkspace(int device_type, int device, uint64_t size, int code, int bits) {
  Alone alone;
  return kokoro_alloc_workspace(device_type, device, size, code, bits);
}
EXPORT int TVMBackendFreeWorkspace(int device_type, int device, void* data) {
  Alone alone;
  return kokoro_free_workspace(device_type, device, data);
}

/* WebAssembly has no backtrace. */
EXPORT const TVMFFIByteArray* TVMFFIBacktrace(const char*, int, const char*, int) {
  static const TVMFFIByteArray none{"", 0};
  return &none;
}

/* TVM's only thread never ends, so its locals are never destroyed. */
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

namespace tvm {
namespace runtime {

void SaveBinaryToFile(const std::string& name, const std::string&) {
  TVM_FFI_THROW(RuntimeError) << "there are no files to write " << name << " to";
}
void LoadBinaryFromFile(const std::string& name, std::string*) {
  TVM_FFI_THROW(RuntimeError) << "there are no files to read " << name << " from";
}

}  // namespace runtime
}  // namespace tvm
