#include "model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tvm/ffi/c_api.h>

enum { DEVICE_0 = 0, POOLED = 2, SHARE_ALL_CORES = -3, ALIGNMENT = 64, MOST_CORES = 1024 };

typedef struct loaded { /* a library stays loaded until the process ends, as TVM keeps it */
  struct loaded *next;
  arena kept;
  TVMFFIAny module;
  char sha256[65];
} loaded;

/* State of the process, guarded by `opening`. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static loaded *libraries;
static char runtime_sha256[65];
static struct {
  int (*get_global)(const TVMFFIByteArray *, TVMFFIObjectHandle *);
  int (*call)(TVMFFIObjectHandle, TVMFFIAny *, int32_t, TVMFFIAny *);
  int (*decrease)(TVMFFIObjectHandle);
  int (*from_dlpack)(DLManagedTensor *, int32_t, int32_t, TVMFFIObjectHandle *);
  void (*move_error)(TVMFFIObjectHandle *);
} ffi;

/* The cell of an object follows its header. */
static void *cell_of(void *object) { return (char *)object + sizeof(TVMFFIObject); }

static void drop(void *object) { ffi.decrease(object); }

static void keep_value(scope *s, arena *with, TVMFFIAny value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) give(s, with, drop, value.v_obj);
}

/* Return the first line of TVM's error. */
static const char *read_error(scope *s) {
  TVMFFIObjectHandle error = NULL;
  ffi.move_error(&error);
  if (!error) return "no reason was given";
  const TVMFFIErrorCell *cell = cell_of(error);
  give(s, &s->scratch, drop, error);
  size_t size = cell->message.size > 400 ? 400 : cell->message.size;
  const char *end = memchr(cell->message.data, '\n', size);
  return format(s, &s->scratch, "%.*s", end ? (int)(end - cell->message.data) : (int)size, cell->message.data);
}

static TVMFFIAny any_value(int32_t type, int64_t content) {
  TVMFFIAny value;
  memset(&value, 0, sizeof value);
  value.type_index = type;
  value.v_int64 = content;
  return value;
}

static TVMFFIAny text_value(const char *content) {
  TVMFFIAny value = any_value(kTVMFFIRawStr, 0);
  value.v_c_str = content;
  return value;
}

/* Call a global function of TVM. The result lives as long as the arena. Return NULL, or the reason of an error. */
static const char *try_global(scope *s, arena *with, const char *name, TVMFFIAny *arguments, int count,
                              TVMFFIAny *result) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  *result = any_value(kTVMFFINone, 0);
  if (ffi.get_global(&key, &function) || !function)
    return format(s, &s->scratch, "the TVM runtime has no function %s", name);
  int status = ffi.call(function, arguments, count, result);
  drop(function);
  if (status) return read_error(s);
  keep_value(s, with, *result);
  return NULL;
}

static TVMFFIAny call_global(scope *s, const char *name, TVMFFIAny *arguments, int count) {
  TVMFFIAny result;
  const char *why = try_global(s, &s->scratch, name, arguments, count, &result);
  if (why) fail(s, KOKORO_BUNDLE, "The TVM runtime failed (%s: %s). Open the bundle in a process of its own.", name, why);
  return result;
}

/* Return a path by which the dynamic loader loads exactly these bytes of an open file. It is valid during the call. */
static const char *check_out(scope *s, const file *element, const char *content) {
  os_checked *result = take(s, &s->scratch, 1, sizeof *result);
  int code = os_check_out(element->path, content, (size_t)element->size, result);
  if (code)
    fail(s, code, "%s cannot be loaded (%s).%s", element->path, os_load_error(),
         code == OS_REFUSED ? " Build the bundle for this kind of machine." : "");
  give(s, &s->scratch, os_check_in, result);
  return result->path;
}

/* Return the folder of installed libraries, or NULL. */
static const char *find_folder(scope *s) {
  char *folder = os_variable("TVM_LIBRARY_PATH");
  if (folder) give(s, &s->scratch, free, folder);
  return folder && *folder ? folder : NULL;
}

static void *open_library(scope *s, const char *name, const file *brought) {
  const char *folder = find_folder(s);
  void *result = os_loaded(name);
  if (!result && folder) result = os_load(format(s, &s->scratch, "%s/%s", folder, name));
  if (!result && brought->path) {
    result = os_load(check_out(s, brought, read_file(s, brought)));
    if (!result)
      fail(s, KOKORO_BUNDLE, "%s cannot be loaded (%s). Build the bundle for this kind of machine.", brought->path,
           os_load_error());
  }
  if (!result) result = os_load(name);
  if (!result)
    fail(s, KOKORO_BUNDLE,
         "%s was not found (%s). Point TVM_LIBRARY_PATH to the folder that holds it, or build the bundle with "
         "`runtime: {c: true}`, which brings it.",
         name, os_load_error());
  return result;
}

static void find_symbol(scope *s, void *library, const char *name, void *pointer) {
  void *result = os_symbol(library, name);
  if (!result) fail(s, KOKORO_BUNDLE, "%s has no function %s. Use the version that the bundle names.", OS_FFI, name);
  memcpy(pointer, &result, sizeof result); /* ISO C has no conversion from a pointer to a function */
}

static void unlock(void *mutex) { pthread_mutex_unlock(mutex); }

void load_runtime(scope *s, const manifest *bundle) {
  pthread_mutex_lock(&opening);
  give(s, &s->scratch, unlock, &opening);
  if (!ffi.move_error) {
    os_set_default("TVM_THREAD_POOL_SPIN_COUNT", "0"); /* see kokoro_tvm/runtime/session/tvm_runtime.py */
    void *library = open_library(s, OS_FFI, &bundle->ffi);
    find_symbol(s, library, "TVMFFIFunctionGetGlobal", &ffi.get_global);
    find_symbol(s, library, "TVMFFIFunctionCall", &ffi.call);
    find_symbol(s, library, "TVMFFIObjectDecRef", &ffi.decrease);
    find_symbol(s, library, "TVMFFITensorFromDLPack", &ffi.from_dlpack);
    int exists = os_loaded(OS_RUNTIME) != NULL;
    open_library(s, OS_RUNTIME, &bundle->runtime);
    if (!exists && bundle->runtime.path && !find_folder(s)) strcpy(runtime_sha256, bundle->runtime.sha256);
    find_symbol(s, library, "TVMFFIErrorMoveFromRaised", &ffi.move_error);
  }
  if (bundle->runtime.path && *runtime_sha256 && strcmp(runtime_sha256, bundle->runtime.sha256))
    fail(s, KOKORO_BUNDLE,
         "%s is another TVM runtime than the one this process has loaded. Open this bundle in a process of its own.",
         bundle->runtime.path);
}

int usable_cores(scope *s) {
  int *cores = take(s, &s->scratch, MOST_CORES, sizeof *cores), count = os_cores(cores, MOST_CORES);
  return count ? count : 1;
}

void use_threads(scope *s, int count) {
  int *cores = take(s, &s->scratch, MOST_CORES, sizeof *cores), exists = os_cores(cores, MOST_CORES);
  if (!exists) fail(s, KOKORO_SYSTEM, "The usable cores are not known.");
  int total = exists > count ? exists : count;
  TVMFFIAny *names = take(s, &s->scratch, (size_t)total, sizeof *names);
  for (int i = 0; i < total; ++i) /* the list bounds the pool, so cores repeat if there are more threads */
    names[i] = text_value(format(s, &s->scratch, "%d", cores[i % exists]));
  TVMFFIAny arguments[3] = {any_value(kTVMFFIInt, SHARE_ALL_CORES), any_value(kTVMFFIInt, count),
                            call_global(s, "ffi.Array", names, total)};
  call_global(s, "runtime.config_threadpool", arguments, 3);
}

/* Load the module of exactly these bytes, or return the one loaded before. */
static const char *load_module(scope *s, const file *element, const char *content, TVMFFIAny *module) {
  TVMFFIAny arguments[2], none;
  for (loaded *known = libraries; known; known = known->next)
    if (strcmp(known->sha256, element->sha256) == 0) return *module = known->module, NULL;
  arguments[0] = text_value(check_out(s, element, content));
  arguments[1] = text_value("so");
  loaded *result = calloc(1, sizeof *result);
  if (!result) fail_memory(s);
  const char *why = try_global(s, &result->kept, "ffi.Module.load_from_file.so", arguments, 2, module);
  if (!why) why = try_global(s, &s->scratch, "ffi.ModuleGlobalsAdd", module, 1, &none);
  if (why) return release(&result->kept), free(result), why;
  strcpy(result->sha256, element->sha256);
  result->module = *module;
  result->next = libraries;
  libraries = result;
  return NULL;
}

static const char *method(scope *s, arena *with, TVMFFIAny module, const char *name, TVMFFIAny *function) {
  TVMFFIAny arguments[3] = {module, text_value(name), any_value(kTVMFFIBool, 0)};
  const char *why = try_global(s, with, "ffi.ModuleGetFunction", arguments, 3, function);
  if (why || function->type_index == kTVMFFIFunction) return why;
  return format(s, &s->scratch, "it has no function %s", name);
}

static const char *call_method(scope *s, TVMFFIAny module, const char *name, TVMFFIAny *arguments, int count,
                               TVMFFIAny *result) {
  TVMFFIAny function;
  const char *why = method(s, &s->scratch, module, name, &function);
  if (why) return why;
  *result = any_value(kTVMFFINone, 0);
  if (ffi.call(function.v_obj, arguments, count, result)) return read_error(s);
  keep_value(s, s->kept, *result);
  return NULL;
}

void load_functions(scope *s, const manifest *bundle, const component *component, const library *library,
                    const char *const *names, void **functions, int count) {
  const char *content = read_file(s, &library->file);
  check_library(s, bundle, component, library, content);
  TVMFFIAny module, machine, none, function;
  TVMFFIAny options[3] = {any_value(kTVMFFIInt, kDLCPU), any_value(kTVMFFIInt, DEVICE_0),
                          any_value(kTVMFFIInt, POOLED)};
  const char *why = load_module(s, &library->file, content, &module);
  if (!why) why = call_method(s, module, "vm_load_executable", NULL, 0, &machine);
  if (!why) why = call_method(s, machine, "vm_initialization", options, 3, &none);
  for (int i = 0; !why && i < count; ++i) {
    why = method(s, s->kept, machine, names[i], &function);
    functions[i] = function.v_obj;
  }
  if (why)
    fail(s, KOKORO_BUNDLE,
         "%s cannot be loaded as a compiled %s (%s). Build the bundle again on this kind of machine.",
         library->file.path, component->name, why);
}

typedef struct holder { /* deleter: TVM calls it when nothing refers to the tensor any more */
  DLManagedTensor dl;
  int64_t shape[EXTENTS], strides[EXTENTS];
} holder;

static void free_holder(DLManagedTensor *tensor) { free(tensor->manager_ctx); }

/* Return a holder of `data`, or of `room` zeroed bytes on a 64-byte boundary. */
static holder *new_holder(scope *s, const dtype *type, int extents, const int64_t *shape, size_t room, void *data) {
  holder *result = calloc(1, sizeof *result + room + ALIGNMENT);
  if (!result) fail_memory(s);
  DLTensor *tensor = &result->dl.dl_tensor;
  char *own = (char *)(result + 1);
  tensor->data = data ? data : own + (ALIGNMENT - (uintptr_t)own % ALIGNMENT) % ALIGNMENT;
  tensor->ndim = extents;
  tensor->shape = result->shape;
  tensor->strides = result->strides;
  tensor->device.device_type = kDLCPU;
  tensor->dtype.code = (uint8_t)type->code;
  tensor->dtype.bits = (uint8_t)(8 * type->width);
  tensor->dtype.lanes = 1;
  int64_t stride = 1;
  for (int i = extents - 1; i >= 0; stride *= shape[i--]) result->shape[i] = shape[i], result->strides[i] = stride;
  result->dl.manager_ctx = result;
  result->dl.deleter = free_holder;
  return result;
}

static void *object_of(scope *s, arena *with, holder *result) {
  TVMFFIObjectHandle object = NULL;
  if (ffi.from_dlpack(&result->dl, 0, 1, &object)) {
    free(result);
    fail(s, KOKORO_BUNDLE, "The TVM runtime does not take a tensor (%s).", read_error(s));
  }
  give(s, with, drop, object);
  return object;
}

int64_t elements_of(const array *element) {
  int64_t count = 1;
  for (int i = 0; i < element->extents; ++i) count *= element->shape[i];
  return count;
}

array new_array(scope *s, const char *name, int extents, int64_t a, int64_t b, int64_t c) {
  const dtype *type = find_dtype(name);
  array result = {type, extents, {a, b, c}, NULL, NULL};
  size_t count = (size_t)elements_of(&result);
  if (count > (size_t)-1 / 16) fail_memory(s);
  holder *own = new_holder(s, type, extents, result.shape, count * (size_t)type->width, NULL);
  result.data = own->dl.dl_tensor.data;
  result.object = object_of(s, &s->scratch, own);
  return result;
}

void *wrap(scope *s, arena *with, const port *port, void *data) {
  return object_of(s, with, new_holder(s, find_dtype(port->dtype), (int)port->extents, port->shape, 0, data));
}

static int as_array(TVMFFIAny value, array *result) {
  if (value.type_index != kTVMFFITensor) return 0;
  const DLTensor *tensor = cell_of(value.v_obj);
  if (tensor->ndim > EXTENTS || tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32) return 0;
  int64_t stride = 1;
  for (int i = tensor->ndim - 1; i >= 0; stride *= tensor->shape[i--])
    if (tensor->strides && tensor->shape[i] != 1 && tensor->strides[i] != stride) return 0;
  memset(result, 0, sizeof *result);
  result->type = find_dtype("float32");
  result->extents = tensor->ndim;
  for (int i = 0; i < tensor->ndim; ++i) result->shape[i] = tensor->shape[i];
  result->data = (char *)tensor->data + tensor->byte_offset;
  result->object = value.v_obj;
  return 1;
}

const char *call(scope *s, void *function, void *const *objects, int count, array *results, int most, int *got) {
  TVMFFIAny result = any_value(kTVMFFINone, 0), size, item;
  TVMFFIAny *arguments = take(s, &s->scratch, (size_t)count, sizeof *arguments);
  for (int i = 0; i < count; ++i) {
    arguments[i] = any_value(kTVMFFITensor, 0);
    arguments[i].v_obj = objects[i];
  }
  if (ffi.call(function, arguments, count, &result)) return read_error(s);
  keep_value(s, &s->scratch, result);
  *got = 0;
  if (result.type_index == kTVMFFITensor) return as_array(result, results) ? *got = 1, NULL : "it gave no float32";
  size = call_global(s, "ffi.ArraySize", &result, 1);
  for (int64_t i = 0; i < size.v_int64; ++i) {
    TVMFFIAny place[2] = {result, any_value(kTVMFFIInt, i)};
    item = call_global(s, "ffi.ArrayGetItem", place, 2);
    if (*got == most || !as_array(item, &results[(*got)++])) return "it gave other results than its signature has";
  }
  return NULL;
}

void release_memory(scope *s) { call_global(s, "vm.builtin.memory_manager.clear", NULL, 0); }
