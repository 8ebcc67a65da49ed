/* What a bundle holds, read from its bundle.json, and its files. */
#ifndef KOKORO_BUNDLE_H
#define KOKORO_BUNDLE_H

#include "base/base.h"
#include "os/os.h"

/* The decoder has a second entry, which takes a seed in the place of the noise. */
enum { BERT, DURATION, TEXT_ENCODER, F0N, DECODER, COMPONENTS, SEEDED = COMPONENTS, ENTRIES };
enum { TOKENS, FRAMES };
enum { EXACT, MASKED, PADDED };

/* A tensor of a component's signature; an extent that depends on the length is -1. */
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
  library *libraries; /* by growing bucket */
  int64_t count;
  int64_t storage_step; /* memory is reserved for the next multiple of so many tokens or frames */
} component;

typedef struct symbol {
  int32_t code_point;
  int64_t id;
} symbol;

/* A language, by the letter that names of voices begin with; espeak: whether espeak-ng reads its texts. */
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
  int64_t spoken;                /* languages */
  const char **cpu_features;
  int64_t features;
  file voices, front_end, runtime, ffi;
  file *libkokoro; /* the library's own files */
  int64_t programs;
  component components[ENTRIES]; /* SEEDED: the decoder, with other inputs and another function */
} manifest;

/* Reads and checks bundle.json alone. pin: the digest it must have, or NULL. Fails. */
manifest *read_bundle(scope *s, const char *root, const char *pin);

/* The longest utterance on an axis that every component takes. */
int64_t largest(const manifest *bundle, int axis);

/* Fails where this CPU lacks what the code may use. */
void check_cpu(scope *s, const manifest *bundle);
/* Fails where the metadata in a library's bytes is not what the manifest has of it. */
void check_library(scope *s, const manifest *bundle, const component *component, const library *library,
                   const char *content);

/* Opens every file, compares sizes, then digests. The files are closed with the call. Fails. */
void open_files(scope *s, manifest *bundle);
/* The bytes of an open file, in scratch memory; compared once more, as they are what is used. Fails. */
char *read_file(scope *s, const file *file);

/* Maps an open file; its tensors are read-only. Fails. */
tensors map_tensors(scope *s, const file *file);

/* All bytes of a small file on a path, with a NUL behind them, in scratch memory; NULL where it cannot be read. */
char *read_path(scope *s, const char *path, size_t *size);

/* ---- verified.c: which large files were good when they were last read, as kokoro_tvm/runtime/bundle/verification.py
 * remembers them ---- */

/* Where it is written down for the bundle in a folder; NULL where there is no place for it. */
const char *verified_path(scope *s, const char *root);
/* What is written down: an object from identities to digests; NULL where there is nothing readable. */
const json *read_verified(scope *s, const char *path);
int is_verified(scope *s, const json *known, const os_status *status, const char *sha256);
/* Writes down the files above a size, all of which are good. Where that fails, they are read again. */
void write_verified(scope *s, const char *path, file *const *all, const os_status *status, int count,
                    int64_t above);

#endif
