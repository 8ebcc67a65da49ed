/* The content of a bundle, from its bundle.json, and its files. */
#ifndef KOKORO_BUNDLE_H
#define KOKORO_BUNDLE_H

#include "base/base.h"
#include "os/os.h"

/* The decoder has a second entry point, which takes a seed instead of noise. */
enum { BERT, DURATION, TEXT_ENCODER, F0N, DECODER, COMPONENTS, SEEDED = COMPONENTS, ENTRIES };
enum { TOKENS, FRAMES };
enum { EXACT, MASKED, PADDED };

/* A tensor of a component's signature. An extent that depends on the length is -1. */
typedef struct port {
  const char *name, *dtype;
  int64_t extents;
  int64_t shape[EXTENTS];
} port;

typedef struct ports {
  port *all;
  int64_t count;
} ports;

typedef struct library {
  int64_t bucket;
  file file;
} library;

typedef struct component {
  const char *name, *function;
  int axis;
  ports inputs, outputs, parameters;
  file weights;
  library *libraries; /* in order of bucket */
  int64_t count;
  int64_t storage_step; /* memory is reserved for multiples of this number of tokens or frames */
} component;

typedef struct symbol {
  int32_t code_point;
  int64_t id;
} symbol;

/* A language. letter: first letter of its voices; espeak: whether espeak-ng reads its texts. */
typedef struct spoken_language {
  char letter;
  const char *name;
  int espeak;
} spoken_language;

typedef struct manifest {
  const char *root, *recipe, *precision, *length_name, *not_run;
  int length, synthetic;
  int64_t sample_rate, samples_per_frame, style_dim;
  symbol *vocabulary;
  int64_t symbols, highest_id;
  spoken_language *languages;
  int64_t spoken;                /* number of languages */
  const char **cpu_features;
  int64_t features;
  file voices, front_end, runtime, ffi;
  file *libkokoro; /* files of this library */
  int64_t programs;
  component components[ENTRIES]; /* SEEDED: the decoder with other inputs and another function */
} manifest;

/* Read and check bundle.json. pin: the required digest, or NULL. Fails. */
manifest *read_bundle(scope *s, const char *root, const char *pin);

/* Return the longest utterance on an axis that all components accept. */
int64_t largest(const manifest *bundle, int axis);

/* Fail if this CPU lacks a feature that the code may use. */
void check_cpu(scope *s, const manifest *bundle);
/* Fail if the metadata in a library's bytes differs from the manifest. */
void check_library(scope *s, const manifest *bundle, const component *component, const library *library,
                   const char *content);

/* Open every file; compare sizes, then digests. The call closes them. Fails. */
void open_files(scope *s, manifest *bundle);
/* Read an open file into scratch memory and compare the digest of these bytes again. Fails. */
char *read_file(scope *s, const file *file);

/* Map the tensors of an open file read-only. Fails. */
tensors map_tensors(scope *s, const file *file);

/* Read a small file into scratch memory and end it with a NUL; NULL on an error. */
char *read_path(scope *s, const char *path, size_t *size);

/* ---- verified.c: the record of large files with right digests, as kokoro_tvm/runtime/bundle/verification.py keeps it
 * ---- */

/* Return the path of the record for a bundle's folder, or NULL. */
const char *verified_path(scope *s, const char *root);
/* Read a record: an object from identities to digests, or NULL. */
const json *read_verified(scope *s, const char *path);
int is_verified(scope *s, const json *known, const os_status *status, const char *sha256);
/* Write the record of the files above a size, all of which are right. On an error, they are hashed again next time. */
void write_verified(scope *s, const char *path, file *const *all, const os_status *status, int count,
                    int64_t above);

#endif
