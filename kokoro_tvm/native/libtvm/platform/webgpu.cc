/* TVM's device `webgpu`: a GPU that JavaScript drives (kokoro_tvm/web/runtime/gpu.js).
 *
 * The GPU's memory consists of buffers with numbers in place of addresses. Calls are queued: nothing waits for the GPU,
 * and nothing is read from it. */
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#define GPU(name) extern "C" __attribute__((import_module("gpu"), import_name(#name)))

GPU(allocate) void* gpu_allocate(size_t bytes);
GPU(release) void gpu_release(void* buffer);
/* Return the number of a kernel, from 1, or 0 if the library has none of that name. */
GPU(find_kernel) int gpu_find_kernel(int library, const char* name);
GPU(launch_kernel) void gpu_launch_kernel(int kernel, const TVMFFIAny* arguments, int count);

namespace tvm {
namespace runtime {
namespace {

class WebGpu final : public DeviceAPI {
 public:
  void SetDevice(Device) final {}
  void GetAttr(Device, DeviceAttrKind, ffi::Any*) final {
    TVM_FFI_THROW(NotImplementedError) << "JavaScript knows the GPU's attributes";
  }
  void* AllocDataSpace(Device, size_t bytes, size_t, DLDataType) final { return gpu_allocate(bytes); }
  void FreeDataSpace(Device, void* buffer) final { gpu_release(buffer); }
  void StreamSync(Device, TVMStreamHandle) final {
    TVM_FFI_THROW(NotImplementedError) << "WebAssembly cannot wait for the GPU";
  }
};

/* The kernels that a library launches. */
class Kernels final : public ffi::ModuleObj {
 public:
  explicit Kernels(int library) : library_(library) {}
  const char* kind() const final { return "webgpu"; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    int kernel = gpu_find_kernel(library_, name.c_str());
    if (kernel == 0) return std::nullopt;
    return ffi::Function::FromPacked([kernel](ffi::PackedArgs arguments, ffi::Any*) {
      gpu_launch_kernel(kernel, reinterpret_cast<const TVMFFIAny*>(arguments.data()), arguments.size());
    });
  }

 private:
  int library_;
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("device_api.webgpu",
           []() -> void* {
             static WebGpu device;
             return static_cast<DeviceAPI*>(&device);
           })
      /* Give code the kernels of a library, by its number in JavaScript. The instructions, as which a library is
       * loaded, import the code. */
      .def("kokoro.import_kernels", [](ffi::Module instructions, int library) {
        instructions->imports()[0].cast<ffi::Module>()->ImportModule(ffi::Module(ffi::make_object<Kernels>(library)));
      });
}

}  // namespace runtime
}  // namespace tvm
