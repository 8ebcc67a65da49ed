/* os.h on Windows: what takes paths and text is called in its wide form, whose text is UTF-16. */
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

static wchar_t *wide(const char *text) { /* NULL where it is no UTF-8 */
  int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *made = size ? malloc((size_t)size * sizeof *made) : NULL;
  if (made) MultiByteToWideChar(CP_UTF8, 0, text, -1, made, size);
  else errno = size ? ENOMEM : EINVAL;
  return made;
}

static char *narrow(const wchar_t *text) {
  int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
  char *made = malloc((size_t)size + 1);
  if (made) WideCharToMultiByte(CP_UTF8, 0, text, -1, made, size, NULL, NULL);
  return made;
}

static int failed(void) { /* -1, with errno for Windows' error */
  DWORD why = GetLastError();
  int missing = why == ERROR_FILE_NOT_FOUND || why == ERROR_PATH_NOT_FOUND;
  errno = missing ? ENOENT : why == ERROR_DISK_FULL ? ENOSPC : why == ERROR_NOT_ENOUGH_MEMORY ? ENOMEM : EACCES;
  return -1;
}

/* Nobody writes to the file, replaces or deletes it while it is open: what was compared is what is loaded. */
int os_open(const char *path) {
  wchar_t *name = wide(path);
  int descriptor = name ? _wsopen(name, _O_RDONLY | _O_BINARY | _O_NOINHERIT, _SH_DENYWR) : -1;
  free(name);
  return descriptor;
}

void os_close(int descriptor) { _close(descriptor); }

static int64_t nanoseconds(int64_t ticks) { /* of 100 ns, since 1601 */
  return ticks ? (ticks - 116444736000000000) * 100 : 0;
}

int os_status_of(int descriptor, os_status *status) {
  HANDLE file = (HANDLE)_get_osfhandle(descriptor);
  BY_HANDLE_FILE_INFORMATION found;
  FILE_BASIC_INFO times;
  if (!GetFileInformationByHandle(file, &found)) return failed();
  if (!GetFileInformationByHandleEx(file, FileBasicInfo, &times, sizeof times)) return failed();
  status->is_file = GetFileType(file) == FILE_TYPE_DISK && !(found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
  status->size = (int64_t)((uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow);
  status->device = found.dwVolumeSerialNumber;
  status->number = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow;
  status->written = nanoseconds(times.LastWriteTime.QuadPart);
  status->changed = nanoseconds(times.ChangeTime.QuadPart); /* of NTFS; FAT has none */
  return 0;
}

int os_is_folder(const char *path) {
  wchar_t *name = wide(path);
  DWORD found = name ? GetFileAttributesW(name) : INVALID_FILE_ATTRIBUTES;
  free(name);
  return found == INVALID_FILE_ATTRIBUTES ? -1 : (found & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

int os_is_stream(const char *path) { return (void)path, 0; } /* pipes have no place in a folder there */

int64_t os_read(int descriptor, void *to, size_t most, int64_t place) {
  if (_lseeki64(descriptor, place, SEEK_SET) < 0) return -1;
  return _read(descriptor, to, most > 1 << 30 ? 1 << 30 : (unsigned)most);
}

void *os_map(int descriptor, size_t size) {
  HANDLE mapping = CreateFileMappingW((HANDLE)_get_osfhandle(descriptor), NULL, PAGE_READONLY, 0, 0, NULL);
  void *start = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size) : NULL;
  if (!start) failed();
  if (mapping) CloseHandle(mapping);
  return start;
}

void os_unmap(void *start, size_t size) { (void)size, UnmapViewOfFile(start); }

char *os_real_path(const char *path) {
  enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, ROOM = 1 << 15 };
  wchar_t *name = wide(path), *real = malloc(ROOM * sizeof *real);
  HANDLE file = INVALID_HANDLE_VALUE;
  if (name && real) file = CreateFileW(name, 0, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  DWORD size = file == INVALID_HANDLE_VALUE ? 0 : GetFinalPathNameByHandleW(file, real, ROOM, 0);
  char *made = size && size < ROOM ? narrow(real) : NULL;
  if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
  free(name);
  free(real);
  return made;
}

char *os_cache_folder(void) {
  char *given = os_variable("XDG_CACHE_HOME");
  if (given && *given) return given;
  free(given);
  return os_variable("LOCALAPPDATA");
}

void os_make_folder(const char *path) { /* in the user's own folder, which is for the user alone */
  wchar_t *name = wide(path);
  if (name) CreateDirectoryW(name, NULL);
  free(name);
}

FILE *os_fopen(const char *path, const char *mode) {
  wchar_t *name = wide(path), *how = wide(mode);
  FILE *opened = name && how ? _wfopen(name, how) : NULL;
  free(name);
  free(how);
  return opened;
}

int os_replace(const char *from, const char *to) {
  wchar_t *old = wide(from), *new = wide(to);
  int done = old && new && MoveFileExW(old, new, MOVEFILE_REPLACE_EXISTING) ? 0 : failed();
  free(old);
  free(new);
  return done;
}

void os_remove(const char *path) {
  wchar_t *name = wide(path);
  if (name) DeleteFileW(name);
  free(name);
}

char *os_variable(const char *name) {
  enum { ROOM = 1 << 15 };
  wchar_t *key = wide(name), *value = malloc(ROOM * sizeof *value);
  SetLastError(0);
  DWORD size = key && value ? GetEnvironmentVariableW(key, value, ROOM) : ROOM;
  char *made = size < ROOM && (size || GetLastError() != ERROR_ENVVAR_NOT_FOUND) ? narrow(value) : NULL;
  free(key);
  free(value);
  return made;
}

/* TVM's C library copied the environment when the process started; this one is another. */
void os_set_default(const char *name, const char *value) {
  char *there = os_variable(name);
  HMODULE library = there ? NULL : LoadLibraryW(L"ucrtbase.dll");
  void *found = library ? os_symbol(library, "_putenv_s") : NULL;
  int (*set)(const char *, const char *);
  memcpy(&set, &found, sizeof set);
  if (set) set(name, value);
  free(there);
}

long os_process(void) { return (long)GetCurrentProcessId(); }

char **os_arguments(int *count, char **words) {
  wchar_t **all = CommandLineToArgvW(GetCommandLineW(), count);
  char **made = all ? malloc(((size_t)*count + 1) * sizeof *made) : NULL;
  SetConsoleOutputCP(CP_UTF8);
  if (!made) return words;
  for (int i = 0; i < *count; ++i) made[i] = narrow(all[i]);
  made[*count] = NULL;
  return made;
}

int os_cores(int *cores, int most) {
  DWORD_PTR usable = 0, all = 0;
  int count = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &usable, &all)) return 0;
  if (!usable) { /* more than the 64 of a group, of which all may be used */
    while (count < most && count < (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)) cores[count] = count, ++count;
    return count;
  }
  for (int core = 0; core < 64 && count < most; ++core)
    if (usable >> core & 1) cores[count++] = core;
  return count;
}

/* TVM ends its pool when the thread ends that it is for. Windows runs that with the loader locked, which the threads of
 * the pool need for their own end: each would wait for the other, forever. */
int os_threads_stay(void) {
  HMODULE own;
  return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                            (const wchar_t *)(const void *)load_error, &own), 1;
}

static void *found_or_why(HMODULE library) {
  if (library) return library;
  DWORD code = GetLastError();
  wchar_t text[256] = L"";
  FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text, 256, NULL);
  text[wcscspn(text, L"\r\n")] = 0;
  char *words = narrow(text);
  snprintf(load_error, sizeof load_error, "error %lu of Windows: %s", code, words ? words : "");
  free(words);
  return NULL;
}

/* The whole path with backslashes, which LoadLibrary insists on. */
static wchar_t *whole(const char *path) {
  enum { ROOM = 1 << 15 };
  wchar_t *name = wide(path), *made = name ? malloc(ROOM * sizeof *made) : NULL;
  DWORD size = made ? GetFullPathNameW(name, ROOM, made, NULL) : 0;
  free(name);
  if (size && size < ROOM) return made;
  free(made);
  return NULL;
}

void *os_loaded(const char *name) {
  wchar_t *wanted = wide(name);
  HMODULE found = wanted ? GetModuleHandleW(wanted) : NULL;
  free(wanted);
  return found;
}

void *os_load(const char *path) {
  int named = !strpbrk(path, "/\\");
  wchar_t *name = named ? wide(path) : whole(path);
  /* What it needs of others is looked for beside it. */
  HMODULE found = name ? LoadLibraryExW(name, NULL, named ? 0 : LOAD_WITH_ALTERED_SEARCH_PATH) : NULL;
  found_or_why(found);
  free(name);
  return found;
}

void *os_symbol(void *library, const char *name) {
  FARPROC function = GetProcAddress(library, name);
  void *found;
  memcpy(&found, &function, sizeof found); /* ISO C converts no function to a pointer */
  found_or_why(found ? library : NULL);
  return found;
}

const char *os_load_error(void) { return load_error; }

static int is_ascii(const wchar_t *text) {
  while (*text && *text < 128) ++text;
  return !*text;
}

/* No copy: a library could not be deleted while it is loaded, and would stay behind. The file itself is open, so that
 * nobody can change it, until Windows has it loaded and sees to that itself. TVM loads it once more, by a path of
 * ASCII only: by its name alone, which stands for the first library of that name, where its folder has another. */
int os_check_out(const char *path, const char *content, size_t size, os_checked *made) {
  wchar_t *name = whole(path), *last = name ? wcsrchr(name, L'\\') : NULL;
  int code = OS_FAILED;
  (void)content, (void)size;
  made->path = NULL;
  made->resource = NULL;
  strcpy(load_error, "no memory");
  if (last && GetModuleHandleW(name)) {
    strcpy(load_error, "the process has loaded another library from there; open the bundle in a process of its own");
    code = OS_REFUSED;
  } else if (last) {
    made->resource = os_load(path);
    if (!made->resource) code = OS_REFUSED;
    else if (is_ascii(name)) made->path = narrow(name);
    else if (is_ascii(last + 1) && GetModuleHandleW(last + 1) == made->resource) made->path = narrow(last + 1);
    else strcpy(load_error, "TVM takes paths of ASCII only, and another library of this name is loaded");
  }
  free(name);
  if (made->path) return 0;
  os_check_in(made);
  return code;
}

void os_check_in(void *checked) {
  os_checked *made = checked;
  if (made->resource) FreeLibrary(made->resource);
  free(made->path);
}
