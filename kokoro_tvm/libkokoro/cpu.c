/* Whether this CPU has the instructions a bundle was compiled for. */
#include "bundle.h"

#include <string.h>

#include "cpu_features.h"

#ifndef CPU_FEATURE_COUNT
#error "cpu_features.h has no list for this architecture"
#endif

void check_cpu(scope *s, const manifest *bundle) {
  const char *missing = "", *comma = "";
  for (int64_t i = 0; i < bundle->features; ++i) {
    const cpu_feature *found = NULL;
    for (size_t j = 0; j < CPU_FEATURE_COUNT; ++j)
      if (strcmp(CPU_FEATURES[j].name, bundle->cpu_features[i]) == 0) found = &CPU_FEATURES[j];
    if (found && cpu_has(found)) continue;
    missing = format(s, &s->scratch, "%s%s%s", missing, comma, bundle->cpu_features[i]);
    comma = ", ";
  }
  if (*missing)
    fail(s, KOKORO_BUNDLE, "%s (recipe %s) was built for a processor with %s, which this one lacks.", bundle->root,
         bundle->recipe, missing);
}
