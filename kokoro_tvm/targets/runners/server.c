/* Server that executes compiled code for another process: requests on standard input, replies on standard output.
 *
 * A request is a line of words. An array is a line `DEVICE CODE BITS NDIM EXTENT... PLACE`, followed by its bytes:
 *
 *   features                           return one array: the CPU's features by LLVM's names, empty for an unknown CPU
 *   open ID vm|module DEVICE           load a library's virtual machine, or its functions; three lines follow: its path,
 *                                      that of the GPU kernels that it launches, and the prefix of a system library,
 *                                      which registers itself in TVM when it is loaded
 *   keep ID                            keep the array that follows
 *   call ID FUNCTION COUNT results|arguments
 *                                      call a function; COUNT times `kept ID` or an array follow
 *
 * A reply is `ok COUNT` and as many arrays (of `call`: its results, or its arguments after the call), or `error SIZE`
 * and as many bytes. PLACE is where an array lies in memory: `aligned` to 64 bytes, `end` right before or `start`
 * right after an inaccessible page. DEVICE is `cpu`, or a GPU whose kernels are code for this CPU and whose memory is
 * this process'. The server needs C99, libtvm_ffi, and POSIX or Windows.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tvm/ffi/c_api.h>

#include "cpu_features.h"

static void die(const char *format, ...);

/* Operating system: memory in whole pages, and the end of a crashing process. */
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <windows.h>
static size_t page_size(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}
static void *map_memory(size_t size) { return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }
static void unmap_memory(void *memory, size_t size) { (void)size, VirtualFree(memory, 0, MEM_RELEASE); }
static int protect_memory(void *memory, size_t size) {
  DWORD old;
  return !VirtualProtect(memory, size, PAGE_NOACCESS, &old);
}
/* Exit with a shell's status of the signal; no debugger is attached. */
static LONG WINAPI crashed(EXCEPTION_POINTERS *pointers) {
  DWORD code = pointers->ExceptionRecord->ExceptionCode;
  int illegal = code == EXCEPTION_ILLEGAL_INSTRUCTION, divided = code == EXCEPTION_INT_DIVIDE_BY_ZERO;
  int memory = code == EXCEPTION_ACCESS_VIOLATION || code == EXCEPTION_STACK_OVERFLOW;
  TerminateProcess(GetCurrentProcess(), 128 + (illegal ? 4 : divided ? 8 : memory ? 11 : 6));
  return EXCEPTION_EXECUTE_HANDLER;
}
static void prepare(void) {
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
  SetUnhandledExceptionFilter(crashed);
  if (_setmode(STDIN_FILENO, _O_BINARY) < 0 || _setmode(STDOUT_FILENO, _O_BINARY) < 0) die("no binary streams");
  if (!LoadLibraryA("tvm_runtime.dll")) die("tvm_runtime.dll cannot be loaded: error %lu", GetLastError());
}
#else
#include <sys/mman.h>
static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static void *map_memory(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}
static void unmap_memory(void *memory, size_t size) { munmap(memory, size); }
static int protect_memory(void *memory, size_t size) { return mprotect(memory, size, PROT_NONE); }
static void prepare(void) {}
#endif

enum { LIBRARIES = 64, KEPT = 4096, ARGUMENTS = 4096, EXTENTS = 8, LINE = 4096, ALIGNMENT = 64 };

typedef struct {
  DLManagedTensor dl;
  int64_t shape[EXTENTS], strides[EXTENTS];
  void *memory;
  size_t mapped;
} Array;

static const struct { const char *name; DLDeviceType type; } DEVICES[] = {
    {"cpu", kDLCPU}, {"cuda", kDLCUDA}, {"metal", kDLMetal}};

static FILE *replies;
static TVMFFIAny libraries[LIBRARIES], kept[KEPT];

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(3);
}

/* The cell of an object follows its header. */
static void *cell_of(TVMFFIObjectHandle object) { return (char *)object + sizeof(TVMFFIObject); }

static void read_line(char *line) {
  if (!fgets(line, LINE, stdin)) die("the request ends in the middle");
  line[strcspn(line, "\n")] = 0;
}

static int64_t size_of(const DLTensor *tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->ndim; ++i) count *= tensor->shape[i];
  return count * (tensor->dtype.bits / 8);
}

static int refuse(const char *message, size_t size) {
  fprintf(replies, "error %zu\n", size);
  fwrite(message, 1, size, replies);
  return fflush(replies);
}

/* Return 1 after an error of TVM, which is sent as the reply. */
static int failed(int status) {
  if (status == 0) return 0;
  TVMFFIObjectHandle raised = NULL;
  TVMFFIErrorMoveFromRaised(&raised);
  if (!raised) return refuse("an error without a message", 26), 1;
  const TVMFFIErrorCell *cell = cell_of(raised);
  refuse(cell->message.data, cell->message.size);
  TVMFFIObjectDecRef(raised);
  return 1;
}

static void release(TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
  memset(value, 0, sizeof *value);
}

static TVMFFIAny text(const char *content) {
  TVMFFIAny value = {0};
  value.type_index = kTVMFFIRawStr;
  value.v_c_str = content;
  return value;
}

static TVMFFIAny number(int64_t content) {
  TVMFFIAny value = {0};
  value.type_index = kTVMFFIInt;
  value.v_int64 = content;
  return value;
}

static int call_global(const char *name, TVMFFIAny *arguments, int count, TVMFFIAny *result) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  memset(result, 0, sizeof *result);
  int status = TVMFFIFunctionGetGlobal(&key, &function);
  if (status == 0 && !function) die("libtvm_runtime has no function %s", name);
  if (status == 0) status = TVMFFIFunctionCall(function, arguments, count, result);
  if (function) TVMFFIObjectDecRef(function);
  return status;
}

static int function_of(TVMFFIAny module, const char *name, TVMFFIAny *function) {
  TVMFFIAny arguments[3] = {module, text(name), {0}};
  arguments[2].type_index = kTVMFFIBool;
  return call_global("ffi.ModuleGetFunction", arguments, 3, function);
}

static int call_of(TVMFFIAny module, const char *name, TVMFFIAny *arguments, int count, TVMFFIAny *result) {
  TVMFFIAny function;
  memset(result, 0, sizeof *result);
  int status = function_of(module, name, &function);
  if (status == 0 && function.type_index != kTVMFFIFunction) die("there is no function %s", name);
  if (status == 0) status = TVMFFIFunctionCall(function.v_obj, arguments, count, result);
  release(&function);
  return status;
}

static DLDeviceType device_of(const char *name) {
  for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; ++i)
    if (strcmp(DEVICES[i].name, name) == 0) return DEVICES[i].type;
  die("no device: %s", name);
  return kDLCPU;
}

static void free_array(DLManagedTensor *tensor) {
  Array *array = tensor->manager_ctx;
  unmap_memory(array->memory, array->mapped);
  free(array);
}

/* Read an array's description and its bytes. */
static TVMFFIAny read_array(const char *description) {
  Array *array = calloc(1, sizeof *array);
  DLTensor *tensor = &array->dl.dl_tensor;
  int code, bits, at, used;
  char device[16], place[16];
  if (!array || sscanf(description, "%15s %d %d %d%n", device, &code, &bits, &tensor->ndim, &at) != 4)
    die("no array: %s", description);
  if (tensor->ndim < 0 || tensor->ndim > EXTENTS) die("an array of %d extents", tensor->ndim);
  for (int i = 0; i < tensor->ndim; ++i, at += used)
    if (sscanf(description + at, "%" SCNd64 "%n", &array->shape[i], &used) != 1) die("no extents: %s", description);
  if (sscanf(description + at, "%15s", place) != 1) die("no place: %s", description);
  for (int64_t i = tensor->ndim - 1, stride = 1; i >= 0; stride *= array->shape[i--]) array->strides[i] = stride;
  tensor->shape = array->shape;
  tensor->strides = array->strides;
  tensor->device.device_type = device_of(device);
  tensor->dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
  array->dl.manager_ctx = array;
  array->dl.deleter = free_array;

  size_t page = page_size(), size = (size_t)size_of(tensor);
  size_t whole = (size + page - 1) / page * page;
  array->mapped = whole + 2 * page;
  array->memory = map_memory(array->mapped);
  if (!array->memory) die("no memory for %zu bytes", size);
  char *first = (char *)array->memory + page;
  if (strcmp(place, "end") == 0) first += whole - size;
  if (strcmp(place, "aligned") != 0 &&
      (protect_memory(array->memory, page) || protect_memory((char *)array->memory + page + whole, page)))
    die("no page can be protected");
  tensor->data = first;
  if (fread(first, 1, size, stdin) != size) die("an array ends in the middle");

  TVMFFIAny value = {0};
  value.type_index = kTVMFFITensor;
  TVMFFIObjectHandle handle = NULL;
  if (TVMFFITensorFromDLPack(&array->dl, 0, 1, &handle)) die("TVM does not take the array %s", description);
  value.v_obj = handle;
  return value;
}

static void write_array(const DLTensor *tensor) {
  fprintf(replies, "%d %d %d", tensor->dtype.code, tensor->dtype.bits, tensor->ndim);
  for (int i = 0; i < tensor->ndim; ++i) fprintf(replies, " %" PRId64, tensor->shape[i]);
  fputc('\n', replies);
  fwrite((char *)tensor->data + tensor->byte_offset, 1, (size_t)size_of(tensor), replies);
}

static int write_features(void) {
  char words[LINE] = "";
#ifdef CPU_FEATURE_COUNT
  for (size_t i = 0; i < CPU_FEATURE_COUNT; ++i)
    if (cpu_has(&CPU_FEATURES[i])) strcat(strcat(words, " "), CPU_FEATURES[i].name);
#endif
  return fprintf(replies, "ok 1\n1 8 1 %zu\n%s", strlen(words), words) < 0;
}

/* Let TVM take the memory of this process for a GPU's. */
static int stand_in(const char *device) {
  static const char *const CPU = "device_api.cpu";
  char name[32];
  TVMFFIByteArray key = {CPU, strlen(CPU)};
  TVMFFIObjectHandle memory = NULL;
  int status = TVMFFIFunctionGetGlobal(&key, &memory);
  if (status == 0 && !memory) die("libtvm_runtime has no function %s", CPU);
  key = (TVMFFIByteArray){name, (size_t)snprintf(name, sizeof name, "device_api.%s", device)};
  if (status == 0) status = TVMFFIFunctionSetGlobal(&key, memory, 1);
  if (memory) TVMFFIObjectDecRef(memory);
  return status;
}

/* Get the modules that a module imports. */
static int imports_of(TVMFFIAny module, TVMFFIAny *imports) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(module.type_index);
  for (int32_t i = 0; i < type->num_fields; ++i) {
    const TVMFFIFieldInfo *field = &type->fields[i];
    if (field->name.size == 8 && memcmp(field->name.data, "imports_", 8) == 0)
      return field->getter((char *)module.v_obj + field->offset, imports);
  }
  die("modules have no field imports_");
  return -1;
}

/* Load kernels for a library's code, which the instructions of a virtual machine import. */
static int load_kernels(TVMFFIAny library, int is_machine, const char *path) {
  TVMFFIAny imports = {0}, code = library, none, loaded = {0}, arguments[2] = {text(path), text("so")};
  int status = is_machine ? imports_of(library, &imports) : 0;
  if (status == 0 && is_machine) {
    TVMFFIAny first[2] = {imports, number(0)};
    status = call_global("ffi.ArrayGetItem", first, 2, &code);
  }
  if (status == 0) status = call_global("ffi.Module.load_from_file.so", arguments, 2, &loaded);
  if (status == 0) {
    TVMFFIAny both[2] = {code, loaded};
    status = call_global("ffi.ModuleImportModule", both, 2, &none);
  }
  release(&loaded);
  if (is_machine) release(&code), release(&imports);
  return status;
}

static int open_library(int id, const char *kind, const char *device, const char *path, const char *kernels,
                        const char *prefix) {
  TVMFFIAny module, machine, none, arguments[2] = {text(path), text("so")};
  DLDeviceType type = device_of(device);
  int is_machine = strcmp(kind, "vm") == 0;
  int status = type == kDLCPU ? 0 : stand_in(device);
  if (status == 0) status = call_global("ffi.Module.load_from_file.so", arguments, 2, &module);
  if (status == 0 && *prefix) {
    TVMFFIAny name = text(prefix); /* the library itself stays loaded: dyld.c unloads none */
    release(&module);
    status = call_global("ffi.SystemLib", &name, 1, &module);
  }
  if (status == 0 && type != kDLCPU) status = load_kernels(module, is_machine, kernels);
  if (status == 0 && is_machine) {
    status = call_of(module, "vm_load_executable", NULL, 0, &machine);
    if (status == 0) {
      TVMFFIAny cpu[3] = {number(kDLCPU), number(0), number(2)}; /* the first CPU, with a pool of memory */
      TVMFFIAny devices[6] = {number(type), cpu[1], cpu[2], cpu[0], cpu[1], cpu[2]};
      status = call_of(machine, "vm_initialization", devices, type == kDLCPU ? 3 : 6, &none);
      release(&none);
      libraries[id] = machine;
    }
  } else if (status == 0) {
    libraries[id] = module;
  }
  return status;
}

/* Write the result of a call: a tensor, several, or nothing. */
static int write_result(TVMFFIAny result) {
  if (result.type_index == kTVMFFINone) return fprintf(replies, "ok 0\n"), 0;
  if (result.type_index == kTVMFFITensor) {
    fprintf(replies, "ok 1\n");
    write_array(cell_of(result.v_obj));
    return 0;
  }
  TVMFFIAny size, item;
  int status = call_global("ffi.ArraySize", &result, 1, &size);
  if (status) return status;
  fprintf(replies, "ok %" PRId64 "\n", size.v_int64);
  for (int64_t i = 0; i < size.v_int64; ++i) {
    TVMFFIAny arguments[2] = {result, number(i)};
    if (call_global("ffi.ArrayGetItem", arguments, 2, &item) || item.type_index != kTVMFFITensor)
      die("result %" PRId64 " is no tensor", i);
    write_array(cell_of(item.v_obj));
    release(&item);
  }
  return 0;
}

static int call(int id, const char *name, int count, const char *what) {
  static TVMFFIAny arguments[ARGUMENTS], owned[ARGUMENTS];
  static char line[LINE];
  TVMFFIAny result, none;
  int status, which;
  if (count > ARGUMENTS) die("%d arguments", count);
  for (int i = 0; i < count; ++i) {
    read_line(line);
    memset(&owned[i], 0, sizeof owned[i]);
    if (sscanf(line, "kept %d", &which) == 1 && which >= 0 && which < KEPT)
      arguments[i] = kept[which];
    else
      arguments[i] = owned[i] = read_array(line);
  }
  /* The pool reuses blocks of equal size only, so blocks of other lengths would stay. */
  status = call_global("vm.builtin.memory_manager.clear", NULL, 0, &none);
  if (status == 0) status = call_of(libraries[id], name, arguments, count, &result);
  if (status == 0 && strcmp(what, "arguments") == 0) {
    fprintf(replies, "ok %d\n", count);
    for (int i = 0; i < count; ++i) write_array(cell_of(arguments[i].v_obj));
  } else if (status == 0) {
    status = write_result(result);
  }
  for (int i = 0; i < count; ++i) release(&owned[i]);
  if (status == 0) release(&result);
  return status;
}

int main(void) {
  static char line[LINE], word[LINE], path[LINE], kernels[LINE], prefix[LINE], device[16];
  int id, count, status;
  prepare();
  replies = fdopen(dup(STDOUT_FILENO), "wb"); /* other output must not mix with replies */
  if (!replies || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) die("no standard output");
  while (fgets(line, LINE, stdin)) {
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "features") == 0) {
      status = write_features();
    } else if (sscanf(line, "open %d %s %15s", &id, word, device) == 3 && id >= 0 && id < LIBRARIES) {
      read_line(path), read_line(kernels), read_line(prefix);
      status = open_library(id, word, device, path, kernels, prefix);
      if (status == 0) fprintf(replies, "ok 0\n");
    } else if (sscanf(line, "keep %d", &id) == 1 && id >= 0 && id < KEPT) {
      read_line(line);
      release(&kept[id]);
      kept[id] = read_array(line);
      status = fprintf(replies, "ok 0\n") < 0;
    } else if (sscanf(line, "call %d %s %d %s", &id, word, &count, path) == 4 && id >= 0 && id < LIBRARIES) {
      status = call(id, word, count, path);
    } else {
      die("not understood: %s", line);
    }
    if (!failed(status) && fflush(replies)) die("nobody reads the replies");
  }
  return 0;
}
