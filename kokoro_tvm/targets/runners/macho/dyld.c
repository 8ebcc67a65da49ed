/* Dynamic linker of Mach-O files in a process of Linux on arm64: dlopen, dlsym, dlclose, dlerror, and the start of
 * programs.
 *
 * Libraries are Mach-O for arm64 with the bind and rebase opcodes of LC_DYLD_INFO (no chained fixups). Segments are
 * mapped with their protection, imports are searched in libraries of the folder and in this process, initializers are
 * called, and exports are looked up in the trie. darwin.c has what differs between the C libraries. Duties of dyld,
 * Apple's libm and the kernel (such as signatures) are missing. Format: <mach-o/loader.h>. GPU kernels that were
 * compiled as C++ are libraries of Linux and left to its dynamic linker. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dyld.h"

enum { MAGIC = 0xfeedfacf, ARM64 = 0x100000c, EXECUTE = 2, DYLIB = 6, SEGMENTS = 16, NEEDED = 8, PAGE = 16384 };
enum { SEGMENT_64 = 0x19, DYLD_INFO = 0x22, DYLD_INFO_ONLY = 0x80000022, CHAINED_FIXUPS = 0x80000034 };
enum { LOAD_DYLIB = 0xc, RPATH = 0x8000001c, MAIN = 0x80000028 };
enum { INITIALISERS = 9 }; /* section type: pointers to functions */
enum { REBASE, BIND, WEAK_BIND, LAZY_BIND, EXPORTS, TABLES };

typedef struct image {
  const char *path;
  const uint8_t *file;
  size_t size;
  char *base;            /* origin of its addresses */
  uint64_t first, mapped, main; /* address of its header and its end; entry point relative to the header */
  const char *names[NEEDED];    /* names of its dependencies */
  struct image *needed[NEEDED];
  int names_count, needed_count, beside; /* beside: whether dependencies may lie in its folder */
  struct { uint64_t address, size, offset, length; uint32_t protection; char name[17]; } segments[SEGMENTS];
  int count;
  struct { uint32_t offset, size; } tables[TABLES];
  struct { uint64_t address, size; } initialisers;
  void *of_linux;
} Image;

static const char *const NO_MACHO = "it is no Mach-O library for arm64", *const SYSTEM = "/usr/lib/libSystem.B.dylib";
static char problem[512];
static jmp_buf given_up;

static void refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem, sizeof problem, format, arguments);
  va_end(arguments);
  longjmp(given_up, 1);
}

/* A function of macOS alone. */
void darwin_memset_pattern16(void *memory, const void *pattern, size_t size) {
  for (char *at = memory; size > 0; at += 16, size -= size < 16 ? size : 16)
    memcpy(at, pattern, size < 16 ? size : 16);
}

/* Linux' own dlsym. */
static void *find_in(void *handle, const char *name) {
  static void *(*real)(void *, const char *);
  if (!real) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
  return real ? real(handle, name) : NULL;
}

/* Find an import: in darwin.c, else in this process under the same name, without the variant after "$". */
static void *find_here(const char *name) {
  char ours[256];
  int prefix = snprintf(ours, sizeof ours, "darwin_%.*s", (int)strcspn(name, "$"), name);
  if (prefix >= (int)sizeof ours) return NULL;
  void *found = find_in(RTLD_DEFAULT, ours);
  return found ? found : find_in(RTLD_DEFAULT, ours + strlen("darwin_"));
}

static void open_of_linux(Image *image, const char *path, int flags) {
  void *(*real)(const char *, int) = (void *(*)(const char *, int))find_in(RTLD_NEXT, "dlopen");
  char *(*reason)(void) = (char *(*)(void))find_in(RTLD_NEXT, "dlerror");
  if (!real || !reason) refuse("there is no dynamic linker");
  image->of_linux = real(path, flags);
  const char *why = image->of_linux ? NULL : reason();
  if (!image->of_linux) refuse("%s", why ? why : "it is not there");
}

static uint64_t number(const uint8_t **at, const uint8_t *end) {
  uint64_t value = 0;
  for (int shift = 0; *at < end && shift < 64; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  refuse("a number of its dyld info is damaged");
  return 0;
}

static int64_t signed_number(const uint8_t **at, const uint8_t *end) {
  const uint8_t *first = *at;
  uint64_t value = number(at, end);
  int bits = 7 * (int)(*at - first);
  return bits < 64 && value >> (bits - 1) & 1 ? (int64_t)(value - ((uint64_t)1 << bits)) : (int64_t)value;
}

static const char *name_at(const uint8_t **at, const uint8_t *end) {
  const char *name = (const char *)*at;
  const uint8_t *zero = memchr(*at, 0, (size_t)(end - *at));
  if (!zero) refuse("a name of its dyld info is damaged");
  *at = zero + 1;
  return name;
}

static const uint8_t *table(const Image *image, int which, const uint8_t **end) {
  if ((uint64_t)image->tables[which].offset + image->tables[which].size > image->size) refuse("it is cut short");
  *end = image->file + image->tables[which].offset + image->tables[which].size;
  return image->file + image->tables[which].offset;
}

/* Return the address of an export, or NULL, by a walk through the trie. */
static void *exported(const Image *image, const char *name) {
  const uint8_t *end, *start = table(image, EXPORTS, &end), *at = start;
  if (at == end) return NULL;
  for (;;) {
    uint64_t size = number(&at, end);
    const uint8_t *children = at + size;
    if (*name == 0) {
      if (size == 0) return NULL;
      if (number(&at, end) & ~(uint64_t)4) refuse("%s is exported in a way that is not known", name);
      return image->base + image->first + number(&at, end); /* flag 4: a weak definition */
    }
    if (children >= end) return NULL;
    at = children + 1;
    int left = *children;
    for (; left > 0; --left) {
      const char *edge = name_at(&at, end);
      uint64_t offset = number(&at, end);
      if (strncmp(edge, name, strlen(edge)) != 0) continue;
      name += strlen(edge);
      if (offset >= (uint64_t)(end - start)) refuse("its trie of exports is damaged");
      at = start + offset;
      break;
    }
    if (left == 0) return NULL;
  }
}

static uint64_t *place(const Image *image, int segment, uint64_t offset) {
  if (segment >= image->count || offset > image->segments[segment].size - 8) refuse("a fixup lies outside of it");
  return (uint64_t *)(image->base + image->segments[segment].address + offset);
}

static void rebase(const Image *image) {
  const uint8_t *end, *at = table(image, REBASE, &end);
  uint64_t offset = 0, count, skip;
  int segment = 0;
  while (at < end) {
    int immediate = *at & 15, operation = *at++ & 0xf0;
    count = skip = 0;
    switch (operation) {
      case 0x00: return;
      case 0x10: break;                                                         /* only pointers */
      case 0x20: segment = immediate, offset = number(&at, end); break;
      case 0x30: offset += number(&at, end); break;
      case 0x40: offset += 8 * (uint64_t)immediate; break;
      case 0x50: count = (uint64_t)immediate; break;
      case 0x60: count = number(&at, end); break;
      case 0x70: count = 1, skip = number(&at, end); break;
      case 0x80: count = number(&at, end), skip = number(&at, end); break;
      default: refuse("a rebase opcode is not known: %#x", operation);
    }
    for (; count > 0; --count, offset += 8 + skip) *place(image, segment, offset) += (uint64_t)image->base;
  }
}

static void bind(const Image *image, int which) {
  const uint8_t *end, *at = table(image, which, &end);
  const char *name = "";
  uint64_t offset = 0, count, skip;
  int64_t addend = 0;
  int segment = 0;
  while (at < end) {
    int immediate = *at & 15, operation = *at++ & 0xf0;
    count = skip = 0;
    switch (operation) {
      case 0x00: if (which == LAZY_BIND) continue; return;
      case 0x10: case 0x30: case 0x50: break;                                   /* library ordinal; pointer */
      case 0x20: number(&at, end); break;
      case 0x40: name = name_at(&at, end); break;
      case 0x60: addend = signed_number(&at, end); break;
      case 0x70: segment = immediate, offset = number(&at, end); break;
      case 0x80: offset += number(&at, end); break;
      case 0x90: count = 1; break;
      case 0xa0: count = 1, skip = number(&at, end); break;
      case 0xb0: count = 1, skip = 8 * (uint64_t)immediate; break;
      case 0xc0: count = number(&at, end), skip = number(&at, end); break;
      default: refuse("a bind opcode is not known: %#x", operation);
    }
    if (count == 0) continue;
    char *found = exported(image, name);
    for (int i = 0; !found && i < image->needed_count; ++i) found = exported(image->needed[i], name);
    if (!found && strcmp(name, "dyld_stub_binder") == 0) found = (char *)abort; /* everything is bound at once */
    if (!found && *name == '_') found = find_here(name + 1);
    if (!found) refuse("nobody has its symbol %s", name);
    for (; count > 0; --count, offset += 8 + skip) *place(image, segment, offset) = (uint64_t)(found + addend);
  }
}

/* Find the initializers in a segment. */
static void read_sections(Image *image, const uint8_t *segment, const uint8_t *end) {
  uint32_t sections = ((const uint32_t *)segment)[16];
  for (const uint8_t *at = segment + 72; sections > 0; --sections, at += 80) {
    if (at + 80 > end) refuse("its sections are damaged");
    if ((((const uint32_t *)at)[16] & 255) == INITIALISERS) memcpy(&image->initialisers, at + 32, 2 * sizeof(uint64_t));
  }
}

/* Return the text of a command, whose offset is in the command. */
static const char *text_in(const uint8_t *command, uint32_t size) {
  uint32_t start = ((const uint32_t *)command)[2];
  if (start >= size || !memchr(command + start, 0, size - start)) refuse("its commands are damaged");
  return (const char *)command + start;
}

static void read_commands(Image *image, int kind_of_file) {
  const uint32_t *header = (const uint32_t *)image->file;
  if (image->size < 32 || header[0] != MAGIC || header[1] != ARM64 || header[3] != (uint32_t)kind_of_file)
    refuse("%s", NO_MACHO);
  const uint8_t *at = image->file + 32, *end = at + header[5];
  if (end > image->file + image->size) refuse("it is cut short");
  for (uint32_t i = 0; i < header[4]; ++i) {
    uint32_t kind = ((const uint32_t *)at)[0], size = ((const uint32_t *)at)[1];
    if (size < 8 || at + size > end) refuse("its commands are damaged");
    if (kind == CHAINED_FIXUPS) refuse("it has chained fixups; link it with -no_fixup_chains");
    if (kind == SEGMENT_64 && image->count == SEGMENTS) refuse("it has more than %d segments", SEGMENTS);
    if (kind == SEGMENT_64) {
      memcpy(image->segments[image->count].name, at + 8, 16);
      memcpy(&image->segments[image->count].address, at + 24, 4 * sizeof(uint64_t));
      memcpy(&image->segments[image->count].protection, at + 60, 4);
      uint64_t top = image->segments[image->count].address + image->segments[image->count].size;
      if (image->segments[image->count].offset + image->segments[image->count].length > image->size)
        refuse("it is cut short");
      if (top > image->mapped) image->mapped = top;
      if (image->segments[image->count].offset == 0 && image->segments[image->count].length > 0)
        image->first = image->segments[image->count].address; /* a program leaves out what lies below it */
      ++image->count;
      read_sections(image, at, end);
    }
    if (kind == LOAD_DYLIB && image->names_count == NEEDED) refuse("it needs more than %d libraries", NEEDED);
    if (kind == LOAD_DYLIB) image->names[image->names_count++] = text_in(at, size);
    if (kind == RPATH && strcmp(text_in(at, size), "@loader_path") == 0) image->beside = 1;
    if (kind == MAIN) memcpy(&image->main, at + 8, sizeof image->main);
    if (kind == DYLD_INFO || kind == DYLD_INFO_ONLY) memcpy(image->tables, at + 8, sizeof image->tables);
    at += size;
  }
}

static void load(Image *image, int kind_of_file);

static void read_file(Image *image, const char *path) {
  struct stat status;
  image->path = path;
  int descriptor = path ? open(path, O_RDONLY) : -1;
  if (descriptor < 0 || fstat(descriptor, &status)) refuse("%s cannot be opened", path ? path : "the program");
  image->size = (size_t)status.st_size;
  image->file = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (image->file == MAP_FAILED) refuse("%s cannot be read", path);
}

/* Load a dependency from the folder of its user, if that allows it. */
static void load_needed(Image *image, const char *name) {
  char path[4096];
  const char *last = strrchr(image->path, '/');
  Image *made = calloc(1, sizeof *made);
  if (!made || !last || !image->beside || strncmp(name, "@rpath/", 7) != 0) refuse("nobody has its library %s", name);
  snprintf(path, sizeof path, "%.*s/%s", (int)(last - image->path), image->path, name + 7);
  read_file(made, path);
  load(made, DYLIB);
  image->needed[image->needed_count++] = made;
}

static void load(Image *image, int kind_of_file) {
  read_commands(image, kind_of_file);
  for (int i = 0; i < image->names_count; ++i)
    if (strcmp(image->names[i], SYSTEM) != 0) load_needed(image, image->names[i]);
  size_t size = image->mapped - image->first;
  char *memory = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse("there is no memory for it");
  image->base = (char *)(((uintptr_t)memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1)) - image->first;
  for (int i = 0; i < image->count; ++i)
    memcpy(image->base + image->segments[i].address, image->file + image->segments[i].offset, image->segments[i].length);
  rebase(image);
  bind(image, BIND), bind(image, WEAK_BIND), bind(image, LAZY_BIND);
  for (int i = 0; i < image->count; ++i) {
    if (image->segments[i].address < image->first) continue;
    char *start = image->base + image->segments[i].address;
    uint32_t given = image->segments[i].protection; /* 1, 2 and 4: read, write and execute */
    int protection = (given & 1 ? PROT_READ : 0) | (given & 2 ? PROT_WRITE : 0) | (given & 4 ? PROT_EXEC : 0);
    if (mprotect(start, image->segments[i].size, protection)) refuse("%s cannot be protected", image->segments[i].name);
    if (given & 4) __builtin___clear_cache(start, start + image->segments[i].size);
  }
  if (image->initialisers.address + image->initialisers.size > image->mapped) refuse("its sections are damaged");
  void (**initialiser)(void) = (void (**)(void))(image->base + image->initialisers.address);
  for (uint64_t i = 0; i < image->initialisers.size / 8; ++i) initialiser[i]();
}

void *dlopen(const char *path, int flags) {
  Image *volatile image = calloc(1, sizeof *image);
  if (!image || setjmp(given_up)) return NULL;
  read_file(image, path);
  if (image->size > 4 && memcmp(image->file, "\177ELF", 4) == 0) {
    open_of_linux(image, path, flags);
    if (!find_in(image->of_linux, "__tvm_ffi_choose")) refuse("%s", NO_MACHO); /* group.h defines it beside kernels */
  } else {
    load(image, DYLIB);
  }
  return image;
}

void *dyld_loaded(const char *name) {
  Image *volatile image = calloc(1, sizeof *image);
  if (!image || setjmp(given_up)) return NULL;
  open_of_linux(image, name, RTLD_NOW | RTLD_NOLOAD);
  return image;
}

int dyld_run(const char *path, int count, char **words) {
  Image *volatile image = calloc(1, sizeof *image);
  if (!image || setjmp(given_up)) return fprintf(stderr, "%s cannot be loaded: %s\n", path, problem), 127;
  read_file(image, path);
  load(image, EXECUTE);
  return ((int (*)(int, char **, char **))(image->base + image->first + image->main))(count, words, environ);
}

void *dlsym(void *handle, const char *name) {
  char mangled[512];
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) return find_here(name);
  if (((Image *)handle)->of_linux) return find_in(((Image *)handle)->of_linux, name);
  if (setjmp(given_up)) return NULL;
  snprintf(mangled, sizeof mangled, "_%s", name);
  return exported(handle, mangled);
}

int dlclose(void *handle) { /* objects may refer to its code until the process ends */
  (void)handle;
  return 0;
}

char *dlerror(void) {
  static char said[sizeof problem];
  if (!*problem) return NULL;
  strcpy(said, problem);
  *problem = 0;
  return said;
}
