/* Check of the CPU features that a bundle was compiled for. */
#define _DEFAULT_SOURCE /* syscall */
#include "bundle.h"

#include <string.h>

#include "cpu_features.h"

#if defined(__x86_64__) && defined(__linux__)
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Request the tiles of AMX, which Linux gives a process on request. */
static void request_tiles(scope *s, const manifest *bundle) {
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
  if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA))
    fail(s, FAILURE_BUNDLE, "%s (recipe %s) needs AMX, and Linux does not give it to this process (%s).", bundle->root,
         bundle->recipe, strerror(errno));
}
#else
static void request_tiles(scope *s, const manifest *bundle) {
  fail(s, FAILURE_BUNDLE, "%s (recipe %s) needs AMX, which only Linux gives.", bundle->root, bundle->recipe);
}
#endif

#ifndef CPU_FEATURE_COUNT
#error "cpu_features.h has no list for this architecture"
#endif

void check_cpu(scope *s, const manifest *bundle) {
  const char *missing = "", *comma = "";
  for (int64_t i = 0; i < bundle->features; ++i) {
    const cpu_feature *result = NULL;
    for (size_t j = 0; j < CPU_FEATURE_COUNT; ++j)
      if (strcmp(CPU_FEATURES[j].name, bundle->cpu_features[i]) == 0) result = &CPU_FEATURES[j];
    if (result && cpu_has(result)) continue;
    missing = format(s, &s->scratch, "%s%s%s", missing, comma, bundle->cpu_features[i]);
    comma = ", ";
  }
  if (*missing)
    fail(s, FAILURE_BUNDLE, "%s (recipe %s) was built for a processor with %s, which this one lacks.", bundle->root,
         bundle->recipe, missing);
  for (int64_t i = 0; i < bundle->features; ++i)
    if (strcmp(bundle->cpu_features[i], "amx-tile") == 0) request_tiles(s, bundle);
}
