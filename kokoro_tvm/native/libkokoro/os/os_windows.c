/* os.h on Windows. Functions with paths and text are called in their wide form (UTF-16). */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include <shellapi.h>

const char OS_FFI[] = "tvm_ffi.dll", OS_RUNTIME[] = "tvm_runtime.dll";

static char load_error[512];

/* Return UTF-16, or NULL for invalid UTF-8. */
static wchar_t *to_utf16(const char *text) {
  int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *result = size ? malloc((size_t)size * sizeof *result) : NULL;
  if (result) MultiByteToWideChar(CP_UTF8, 0, text, -1, result, size);
  else errno = size ? ENOMEM : EINVAL;
  return result;
}

static char *to_utf8(const wchar_t *text) {
  int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
  char *result = malloc((size_t)size + 1);
  if (result) WideCharToMultiByte(CP_UTF8, 0, text, -1, result, size, NULL, NULL);
  return result;
}

/* Translate Windows' error to errno and return -1. */
static int set_errno(void) {
  DWORD why = GetLastError();
  int missing = why == ERROR_FILE_NOT_FOUND || why == ERROR_PATH_NOT_FOUND;
  errno = missing ? ENOENT : why == ERROR_DISK_FULL ? ENOSPC : why == ERROR_NOT_ENOUGH_MEMORY ? ENOMEM : EACCES;
  return -1;
}

/* While it is open, nobody can write, replace or delete the file: the verified bytes are the loaded ones. */
int os_open(const char *path) {
  wchar_t *name = to_utf16(path);
  int descriptor = name ? _wsopen(name, _O_RDONLY | _O_BINARY | _O_NOINHERIT, _SH_DENYWR) : -1;
  free(name);
  return descriptor;
}

void os_close(int descriptor) { _close(descriptor); }

static int64_t nanoseconds(int64_t ticks) { /* ticks: units of 100 ns since 1601 */
  return ticks ? (ticks - 116444736000000000) * 100 : 0;
}

int os_status_of(int descriptor, os_status *status) {
  HANDLE file = (HANDLE)_get_osfhandle(descriptor);
  BY_HANDLE_FILE_INFORMATION result;
  FILE_BASIC_INFO times;
  if (!GetFileInformationByHandle(file, &result)) return set_errno();
  if (!GetFileInformationByHandleEx(file, FileBasicInfo, &times, sizeof times)) return set_errno();
  status->is_file = GetFileType(file) == FILE_TYPE_DISK && !(result.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
  status->size = (int64_t)((uint64_t)result.nFileSizeHigh << 32 | result.nFileSizeLow);
  status->device = result.dwVolumeSerialNumber;
  status->number = (uint64_t)result.nFileIndexHigh << 32 | result.nFileIndexLow;
  status->written = nanoseconds(times.LastWriteTime.QuadPart);
  status->changed = nanoseconds(times.ChangeTime.QuadPart); /* 0 on FAT */
  return 0;
}

int os_is_folder(const char *path) {
  wchar_t *name = to_utf16(path);
  DWORD result = name ? GetFileAttributesW(name) : INVALID_FILE_ATTRIBUTES;
  free(name);
  return result == INVALID_FILE_ATTRIBUTES ? -1 : (result & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

int os_is_stream(const char *path) { return (void)path, 0; } /* folders contain no pipes on Windows */

int64_t os_read(int descriptor, void *to, size_t most, int64_t place) {
  if (_lseeki64(descriptor, place, SEEK_SET) < 0) return -1;
  return _read(descriptor, to, most > 1 << 30 ? 1 << 30 : (unsigned)most);
}

void *os_map(int descriptor, size_t size) {
  HANDLE mapping = CreateFileMappingW((HANDLE)_get_osfhandle(descriptor), NULL, PAGE_READONLY, 0, 0, NULL);
  void *start = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size) : NULL;
  if (!start) set_errno();
  if (mapping) CloseHandle(mapping);
  return start;
}

void os_unmap(void *start, size_t size) { (void)size, UnmapViewOfFile(start); }

char *os_real_path(const char *path) {
  enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, ROOM = 1 << 15 };
  wchar_t *name = to_utf16(path), *real = malloc(ROOM * sizeof *real);
  HANDLE file = INVALID_HANDLE_VALUE;
  if (name && real) file = CreateFileW(name, 0, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  DWORD size = file == INVALID_HANDLE_VALUE ? 0 : GetFinalPathNameByHandleW(file, real, ROOM, 0);
  char *result = size && size < ROOM ? to_utf8(real) : NULL;
  if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
  free(name);
  free(real);
  return result;
}

char *os_cache_folder(void) {
  char *value = os_variable("XDG_CACHE_HOME");
  if (value && *value) return value;
  free(value);
  return os_variable("LOCALAPPDATA");
}

void os_make_folder(const char *path) { /* in the user's own folder, which has no other readers */
  wchar_t *name = to_utf16(path);
  if (name) CreateDirectoryW(name, NULL);
  free(name);
}

FILE *os_fopen(const char *path, const char *mode) {
  wchar_t *name = to_utf16(path), *how = to_utf16(mode);
  FILE *opened = name && how ? _wfopen(name, how) : NULL;
  free(name);
  free(how);
  return opened;
}

int os_replace(const char *from, const char *to) {
  wchar_t *old = to_utf16(from), *new = to_utf16(to);
  int done = old && new && MoveFileExW(old, new, MOVEFILE_REPLACE_EXISTING) ? 0 : set_errno();
  free(old);
  free(new);
  return done;
}

void os_remove(const char *path) {
  wchar_t *name = to_utf16(path);
  if (name) DeleteFileW(name);
  free(name);
}

char *os_variable(const char *name) {
  enum { ROOM = 1 << 15 };
  wchar_t *key = to_utf16(name), *value = malloc(ROOM * sizeof *value);
  SetLastError(0);
  DWORD size = key && value ? GetEnvironmentVariableW(key, value, ROOM) : ROOM;
  char *result = size < ROOM && (size || GetLastError() != ERROR_ENVVAR_NOT_FOUND) ? to_utf8(value) : NULL;
  free(key);
  free(value);
  return result;
}

/* TVM's C library is another one and copied the environment when the process started: set it there. */
void os_set_default(const char *name, const char *value) {
  char *exists = os_variable(name);
  HMODULE library = exists ? NULL : LoadLibraryW(L"ucrtbase.dll");
  void *result = library ? os_symbol(library, "_putenv_s") : NULL;
  int (*set)(const char *, const char *);
  memcpy(&set, &result, sizeof set);
  if (set) set(name, value);
  free(exists);
}

long os_process(void) { return (long)GetCurrentProcessId(); }

char **os_arguments(int *count, char **words) {
  wchar_t **all = CommandLineToArgvW(GetCommandLineW(), count);
  char **result = all ? malloc(((size_t)*count + 1) * sizeof *result) : NULL;
  SetConsoleOutputCP(CP_UTF8);
  if (!result) return words;
  for (int i = 0; i < *count; ++i) result[i] = to_utf8(all[i]);
  result[*count] = NULL;
  return result;
}

int os_cores(int *cores, int most) {
  DWORD_PTR usable = 0, all = 0;
  int count = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &usable, &all)) return 0;
  if (!usable) { /* more than the 64 cores of a group: all may be used */
    while (count < most && count < (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)) cores[count] = count, ++count;
    return count;
  }
  for (int core = 0; core < 64 && count < most; ++core)
    if (usable >> core & 1) cores[count++] = core;
  return count;
}

/* TVM ends its pool when the thread of the pool ends. Windows runs that with the loader lock held, which the threads of
 * the pool need to end: a deadlock. */
int os_threads_stay(void) {
  HMODULE own;
  return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                            (const wchar_t *)(const void *)load_error, &own), 1;
}

static void *set_load_error(HMODULE library) {
  if (library) return library;
  DWORD code = GetLastError();
  wchar_t text[256] = L"";
  FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text, 256, NULL);
  text[wcscspn(text, L"\r\n")] = 0;
  char *words = to_utf8(text);
  snprintf(load_error, sizeof load_error, "error %lu of Windows: %s", code, words ? words : "");
  free(words);
  return NULL;
}

/* Return the whole path with backslashes, which LoadLibrary requires. */
static wchar_t *full_path(const char *path) {
  enum { ROOM = 1 << 15 };
  wchar_t *name = to_utf16(path), *result = name ? malloc(ROOM * sizeof *result) : NULL;
  DWORD size = result ? GetFullPathNameW(name, ROOM, result, NULL) : 0;
  free(name);
  if (size && size < ROOM) return result;
  free(result);
  return NULL;
}

void *os_loaded(const char *name) {
  wchar_t *expected = to_utf16(name);
  HMODULE result = expected ? GetModuleHandleW(expected) : NULL;
  free(expected);
  return result;
}

void *os_load(const char *path) {
  int named = !strpbrk(path, "/\\");
  wchar_t *name = named ? to_utf16(path) : full_path(path);
  /* Load its dependencies from its own folder. */
  HMODULE result = name ? LoadLibraryExW(name, NULL, named ? 0 : LOAD_WITH_ALTERED_SEARCH_PATH) : NULL;
  set_load_error(result);
  free(name);
  return result;
}

void *os_symbol(void *library, const char *name) {
  FARPROC function = GetProcAddress(library, name);
  void *result;
  memcpy(&result, &function, sizeof result); /* ISO C has no conversion from a function to a pointer */
  set_load_error(result ? library : NULL);
  return result;
}

const char *os_load_error(void) { return load_error; }

static int is_ascii(const wchar_t *text) {
  while (*text && *text < 128) ++text;
  return !*text;
}

/* Load the file itself, not a copy: a copy could not be deleted while it is loaded. The open file cannot be changed
 * until Windows has loaded and locked it. TVM loads it once more by an ASCII path: by its name alone, which means the
 * first loaded library of that name, if its folder has another character. */
int os_check_out(const char *path, const char *content, size_t size, os_checked *result) {
  wchar_t *name = full_path(path), *last = name ? wcsrchr(name, L'\\') : NULL;
  int code = OS_FAILED;
  (void)content, (void)size;
  result->path = NULL;
  result->resource = NULL;
  strcpy(load_error, "no memory");
  if (last && GetModuleHandleW(name)) {
    strcpy(load_error, "the process has loaded another library from there; open the bundle in a process of its own");
    code = OS_REFUSED;
  } else if (last) {
    result->resource = os_load(path);
    if (!result->resource) code = OS_REFUSED;
    else if (is_ascii(name)) result->path = to_utf8(name);
    else if (is_ascii(last + 1) && GetModuleHandleW(last + 1) == result->resource) result->path = to_utf8(last + 1);
    else strcpy(load_error, "TVM takes paths of ASCII only, and another library of this name is loaded");
  }
  free(name);
  if (result->path) return 0;
  os_check_in(result);
  return code;
}

void os_check_in(void *checked) {
  os_checked *result = checked;
  if (result->resource) FreeLibrary(result->resource);
  free(result->path);
}
