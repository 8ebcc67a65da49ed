/* bundle.json, checked key by key. */
#include "bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "languages.h"

enum { SCHEMA = 5 };
static const char *const NAMES[COMPONENTS] = {"bert", "duration", "text_encoder", "f0n", "decoder"};
static const int AXES[COMPONENTS] = {TOKENS, TOKENS, TOKENS, FRAMES, FRAMES};

static int64_t one_of(scope *s, const json *node, const char *key, const char *const *words, int count) {
  const char *word = get_text(s, node, key);
  for (int i = 0; i < count; ++i)
    if (strcmp(word, words[i]) == 0) return i;
  fail(s, FAILURE_BUNDLE, "%s: '%s' is '%s', which it cannot be. Build the bundle again.", place_of(s, node), key,
       word);
}

static const char *keep(scope *s, const char *text) { return text ? format(s, s->kept, "%s", text) : NULL; }

/* Return whether a path leaves the folder. */
static int is_outside(const char *path) {
  for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
    if (strcmp(part, "..") == 0 || strncmp(part, "../", 3) == 0) return 1;
  /* Windows separates by \, and : follows a drive or precedes a stream */
  return *path == '/' || !*path || strpbrk(path, "\\:");
}

static file read_ref(scope *s, const char *root, const json *node) {
  file result = {NULL, get(s, node, "size", WHOLE)->whole, keep(s, get_text(s, node, "sha256")), -1};
  const char *name = get_text(s, node, "file");
  if (is_outside(name))
    fail(s, FAILURE_BUNDLE, "%s: the file '%s' lies outside the bundle. Build the bundle again.", place_of(s, node),
         name);
  result.path = format(s, s->kept, "%s/%s", root, name);
  return result;
}

static file find_ref(scope *s, const char *root, const json *node, const char *key) {
  const json *result = find(s, node, key, OBJECT);
  file none = {NULL, 0, NULL, -1};
  return result ? read_ref(s, root, result) : none;
}

static const json *object_at(scope *s, const json *item) {
  if (item->kind != OBJECT) fail(s, FAILURE_BUNDLE, "%s should be a JSON object. " MEND, place_of(s, item));
  return item;
}

static ports read_ports(scope *s, const json *node, const char *key) {
  const json *list = get(s, node, key, LIST);
  ports result = {take(s, s->kept, (size_t)list->count, sizeof(port)), 0};
  for (const json *item = list->first; item; item = item->next) {
    port *element = &result.all[result.count++];
    const json *shape = get(s, object_at(s, item), "shape", LIST);
    element->name = keep(s, get_text(s, item, "name"));
    element->dtype = keep(s, get_text(s, item, "dtype"));
    if (shape->count > EXTENTS)
      fail(s, FAILURE_BUNDLE, "%s: 'shape' has %lld extents; %d are the most. " MEND, place_of(s, item),
           (long long)shape->count, EXTENTS);
    for (const json *extent = shape->first; extent; extent = extent->next) {
      if (extent->kind != TEXT && (extent->kind != WHOLE || extent->whole < 0))
        fail(s, FAILURE_BUNDLE, "%s is no extent. " MEND, place_of(s, extent));
      element->shape[element->extents++] = extent->kind == WHOLE ? extent->whole : -1;
    }
  }
  return result;
}

static int by_bucket(const void *a, const void *b) {
  int64_t x = ((const library *)a)->bucket, y = ((const library *)b)->bucket;
  return (x > y) - (x < y);
}

static component read_component(scope *s, const char *root, const json *node, const char *name, int axis) {
  static const char *const axes[] = {"tokens", "frames"};
  component result = {.name = name};
  const json *libraries = get(s, node, "libraries", LIST);
  if (!libraries->count) fail(s, FAILURE_BUNDLE, "%s has no library. Build the bundle again.", place_of(s, node));
  result.libraries = take(s, s->kept, (size_t)libraries->count, sizeof *result.libraries);
  for (const json *item = libraries->first; item; item = item->next) {
    library *element = &result.libraries[result.count++];
    element->bucket = get_positive(s, object_at(s, item), "bucket");
    element->file = read_ref(s, root, item);
    if (find_ref(s, root, item, "kernels").path)
      fail(s, FAILURE_BUNDLE, "%s computes on a GPU, and libkokoro on CPUs alone. Use a bundle of the recipe `cpu`.",
           place_of(s, item));
  }
  qsort(result.libraries, (size_t)result.count, sizeof *result.libraries, by_bucket);
  result.axis = (int)one_of(s, node, "axis", axes, 2);
  if (result.axis != axis)
    fail(s, FAILURE_BUNDLE, "%s: 'axis' should be '%s'. Build the bundle again.", place_of(s, node), axes[axis]);
  result.storage_step = get_positive(s, node, "storage_step");
  result.function = keep(s, get_text(s, node, "function"));
  result.inputs = read_ports(s, node, "inputs");
  result.outputs = read_ports(s, node, "outputs");
  result.parameters = read_ports(s, node, "parameters");
  result.weights = read_ref(s, root, get(s, node, "weights", OBJECT));
  return result;
}

static void read_vocabulary(scope *s, manifest *result, const json *node) {
  result->vocabulary = take(s, s->kept, (size_t)node->count, sizeof *result->vocabulary);
  for (const json *item = node->first; item; item = item->next) {
    const char *text = item->key;
    symbol element = {next_symbol(&text), get(s, node, item->key, WHOLE)->whole};
    if (element.id < 0 || element.id > INT32_MAX)
      fail(s, FAILURE_BUNDLE, "%s is no token's id. " MEND, place_of(s, item));
    if (element.id > result->highest_id) result->highest_id = element.id;
    if (element.code_point > 0 && !*text) result->vocabulary[result->symbols++] = element; /* only keys of one symbol */
  }
}

static void read_languages(scope *s, manifest *result, const json *node) { /* node: NULL for the languages of Kokoro-82M */
  int64_t own = sizeof LANGUAGES / sizeof *LANGUAGES;
  result->languages = take(s, s->kept, (size_t)(node ? node->count : own), sizeof *result->languages);
  for (int64_t i = 0; !node && i < own; ++i)
    result->languages[result->spoken++] = (spoken_language){LANGUAGES[i].letter, LANGUAGES[i].name, 0};
  for (const json *element = node ? node->first : NULL; element; element = element->next)
    result->languages[result->spoken++] = (spoken_language){*element->key, keep(s, get_text(s, object_at(s, element), "name")),
                                                        find(s, element, "espeak", TEXT) != NULL};
  if (!result->spoken) fail(s, FAILURE_BUNDLE, "%s names no language. Build the bundle again.", place_of(s, node));
}

static manifest *read_manifest(scope *s, const char *root, const json *node) {
  static const char *const lengths[] = {"exact", "masked", "padded"};
  int64_t schema = get(s, node, "schema", WHOLE)->whole;
  if (schema != SCHEMA)
    fail(s, FAILURE_BUNDLE, "%s has schema %lld; this libkokoro reads schema %d. %s", place_of(s, node),
         (long long)schema, SCHEMA,
         schema > SCHEMA ? "Update it, or build the bundle with its version." : "Build the bundle again.");
  manifest *result = take(s, s->kept, 1, sizeof *result);
  const json *components = get(s, node, "components", OBJECT), *features = get(s, node, "cpu_features", LIST);
  for (int i = 0; i < COMPONENTS; ++i)
    if (!find(s, components, NAMES[i], OBJECT))
      fail(s, FAILURE_BUNDLE, "%s lacks the component %s. Build the bundle again.", place_of(s, node), NAMES[i]);
  result->root = root;
  result->recipe = keep(s, get_text(s, node, "recipe"));
  result->length = (int)one_of(s, node, "length", lengths, 3);
  result->length_name = lengths[result->length];
  result->precision = keep(s, get_text(s, node, "precision"));
  result->synthetic = (int)get(s, node, "synthetic", BOOLEAN)->whole;
  result->sample_rate = get_positive(s, node, "sample_rate");
  result->samples_per_frame = get_positive(s, node, "samples_per_frame");
  result->style_dim = get_positive(s, node, "style_dim");
  read_vocabulary(s, result, get(s, node, "vocabulary", OBJECT));
  read_languages(s, result, find(s, node, "languages", OBJECT));
  result->voices = read_ref(s, root, get(s, node, "voices", OBJECT));
  result->front_end = find_ref(s, root, node, "front_end");
  for (int i = 0; i < COMPONENTS; ++i)
    result->components[i] = read_component(s, root, get(s, components, NAMES[i], OBJECT), NAMES[i], AXES[i]);
  const json *seeded = get(s, get(s, components, NAMES[DECODER], OBJECT), "seeded", OBJECT);
  result->components[SEEDED] = result->components[DECODER];
  result->components[SEEDED].function = keep(s, get_text(s, seeded, "function"));
  result->components[SEEDED].inputs = read_ports(s, seeded, "inputs");
  result->cpu_features = take(s, s->kept, (size_t)features->count, sizeof *result->cpu_features);
  for (const json *item = features->first; item; item = item->next) {
    if (item->kind != TEXT) fail(s, FAILURE_BUNDLE, "%s should be str. " MEND, place_of(s, item));
    result->cpu_features[result->features++] = keep(s, item->text);
  }
  result->runtime = find_ref(s, root, node, "runtime");
  result->ffi = find_ref(s, root, node, "ffi");
  const json *own = find(s, node, "libkokoro", LIST);
  result->libkokoro = take(s, s->kept, own ? (size_t)own->count : 0, sizeof *result->libkokoro);
  for (const json *item = own ? own->first : NULL; item; item = item->next)
    result->libkokoro[result->programs++] = read_ref(s, root, object_at(s, item));
  const json *not_run = find(s, node, "not_run", TEXT);
  result->not_run = keep(s, not_run ? not_run->text : "");
  return result;
}

static void check_pin(scope *s, const char *pin) {
  if (strspn(pin, "0123456789abcdefABCDEF") != 64 || pin[64])
    fail(s, FAILURE_INPUT, "The sha256 of a bundle should be 64 hexadecimal digits, but is '%.80s'.", pin);
}

static int is_different(const char *digest, const char *pin) { /* pin may have capital letters */
  for (int i = 0; i < 64; ++i)
    if (digest[i] != pin[i] && digest[i] != pin[i] + ('a' - 'A')) return 1;
  return 0;
}

manifest *read_bundle(scope *s, const char *folder, const char *pin) {
  size_t size;
  char why[120], digest[65];
  if (pin) check_pin(s, pin);
  const char *root = keep(s, folder), *path = format(s, &s->scratch, "%s/bundle.json", root);
  int is_folder = os_is_folder(root);
  if (is_folder == 0)
    fail(s, FAILURE_BUNDLE, "%s is a file; a bundle is a folder. Name the folder.", root);
  if (is_folder < 0) fail(s, FAILURE_BUNDLE, "There is no bundle at %s: the folder does not exist.", root);
  char *content = read_path(s, path, &size);
  if (!content && errno == ENOENT)
    fail(s, FAILURE_BUNDLE,
         "%s is not a complete bundle: bundle.json, which a build writes last, is missing. "
         "Build or copy the bundle again.",
         root);
  if (!content)
    fail(s, FAILURE_BUNDLE, "%s cannot be read (%s). Make it readable, or copy the bundle again.", path,
         strerror(errno));
  sha256 hash;
  sha256_begin(&hash);
  sha256_add(&hash, content, size);
  sha256_end(&hash, digest);
  if (pin && is_different(digest, pin))
    fail(s, FAILURE_BUNDLE,
         "%s has sha256 %s, but %s was given: this is another bundle, or it was changed. "
         "Do not load it; get the bundle again from where the digest comes from.",
         path, digest, pin);
  json *node = parse(s, content, size, path, why);
  if (!node) fail(s, FAILURE_BUNDLE, "%s is no readable JSON (%s). Build or copy it again.", path, why);
  return read_manifest(s, root, node);
}

int64_t largest(const manifest *bundle, int axis) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < COMPONENTS; ++i) {
    const component *element = &bundle->components[i];
    int64_t bucket = element->libraries[element->count - 1].bucket;
    if (element->axis == axis && bucket < least) least = bucket;
  }
  return least;
}
