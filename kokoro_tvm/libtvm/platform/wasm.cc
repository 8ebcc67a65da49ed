/* What TVM's sources take from the platform, where that is WebAssembly inside JavaScript. */
#include <dlfcn.h>
#include <tvm/ffi/error.h>

#include <cstdint>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HOST(name) extern "C" __attribute__((import_module("host"), import_name(#name)))

/* What C++ exceptions are in WebAssembly: a tag with the address of what was thrown. */
__asm__(
    ".globl __cpp_exception\n"
    ".tagtype __cpp_exception i32\n"
    "__cpp_exception:\n");

/* Libraries are WebAssembly modules that JavaScript has instantiated in this memory: by their names, numbers from 1. */
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

EXPORT int TVMBackendParallelLaunch(int (*run)(int, TVMParallelGroupEnv*, void*), void* data, int) {
  TVMParallelGroupEnv alone{nullptr, 1};
  return run(0, &alone, data);
}
EXPORT int TVMBackendParallelBarrier(int, TVMParallelGroupEnv*) { return 0; }

/* Nobody can look up where a function was called from. */
EXPORT const TVMFFIByteArray* TVMFFIBacktrace(const char*, int, const char*, int) {
  static const TVMFFIByteArray none{"", 0};
  return &none;
}

/* The program has one thread, whose locals are destroyed when it ends: never. */
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
