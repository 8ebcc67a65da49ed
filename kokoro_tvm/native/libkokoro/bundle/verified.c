/* The record of large files whose digests were right. */
#include "bundle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETTLED = 2 }; /* seconds; on a coarse clock, a later change may keep its time */

const char *verified_path(scope *s, const char *root) {
  char digest[65], *real = os_real_path(root), *cache;
  if (!real) return NULL;
  give(s, &s->scratch, free, real);
  if (!(cache = os_cache_folder())) return NULL;
  give(s, &s->scratch, free, cache);
  sha256 hash;
  sha256_begin(&hash);
  sha256_add(&hash, real, strlen(real));
  sha256_end(&hash, digest);
  return format(s, &s->scratch, "%s/kokoro-tvm/verified/%.32s.json", cache, digest);
}

const json *read_verified(scope *s, const char *path) {
  char why[120];
  size_t size;
  const char *content = path ? read_path(s, path, &size) : NULL;
  const json *known = content ? parse(s, content, size, path, why) : NULL;
  return known && known->kind == OBJECT ? known : NULL;
}

/* Return the identity of a file, which changes with its content. NULL: unknown, or the last change is so recent that
 * the next one could get the same time on a coarse clock. */
static const char *identity(scope *s, const os_status *status) {
  if (!status->changed || status->changed / 1000000000 > time(NULL) - SETTLED) return NULL;
  return format(s, &s->scratch, "%llu %llu %lld %lld %lld", (unsigned long long)status->device,
                (unsigned long long)status->number, (long long)status->size, (long long)status->written,
                (long long)status->changed);
}

int is_verified(scope *s, const json *known, const os_status *status, const char *sha256) {
  const char *name = known ? identity(s, status) : NULL;
  for (const json *item = known && name ? known->first : NULL; item; item = item->next)
    if (item->kind == TEXT && strcmp(item->key, name) == 0 && strcmp(item->text, sha256) == 0) return 1;
  return 0;
}

static void make_folders(scope *s, const char *path) {
  char *folder = format(s, &s->scratch, "%s", path);
  for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
    *at = 0;
    os_make_folder(folder); /* most exist; an error shows when the file cannot be created */
    *at = '/';
  }
}

void write_verified(scope *s, const char *path, file *const *all, const os_status *status, int count,
                    int64_t above) {
  if (!path) return;
  make_folders(s, path);
  const char *part = format(s, &s->scratch, "%s.%ld.part", path, os_process()), *comma = "";
  FILE *out = os_fopen(part, "w");
  if (!out) return;
  fputc('{', out);
  for (int i = 0; i < count; ++i) {
    const char *name = all[i]->path && all[i]->size > above ? identity(s, &status[i]) : NULL;
    if (!name) continue;
    fprintf(out, "%s\"%s\": \"%s\"", comma, name, all[i]->sha256);
    comma = ", ";
  }
  fputc('}', out);
  if (fclose(out) || os_replace(part, path)) os_remove(part);
}
