/* Compile-time checks of darwin.c's assumptions about macOS' structures and numbers, by macOS' headers. */
#include <fcntl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

_Static_assert(sizeof(struct stat) == 144 && offsetof(struct stat, st_mode) == 4 && offsetof(struct stat, st_ino) == 8 &&
                   offsetof(struct stat, st_mtimespec) == 48 && offsetof(struct stat, st_ctimespec) == 64 &&
                   offsetof(struct stat, st_size) == 96,
               "stat");
_Static_assert(O_RDONLY == 0 && O_NONBLOCK == 0x4 && O_CLOEXEC == 0x1000000, "flags of files");
_Static_assert(RTLD_NOLOAD == 0x10, "flags of the dynamic loader");
_Static_assert(PROT_READ == 1 && MAP_PRIVATE == 2, "flags of mmap");
_Static_assert(ENOENT == 2 && EFBIG == 27 && ERANGE == 34, "errno");
_Static_assert(sizeof(jmp_buf) == 192, "jmp_buf");
_Static_assert(sizeof(pthread_mutex_t) == 64 && offsetof(pthread_mutex_t, __opaque) == 8, "mutex");
_Static_assert(sizeof(pthread_cond_t) == 48 && sizeof(pthread_t) == 8, "condition and thread");
_Static_assert(sizeof(__builtin_va_list) == 8, "va_list");
_Static_assert(sizeof(struct sigaction) == 16 && SIGSEGV == 11, "what handles a signal");
