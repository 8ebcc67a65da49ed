/* What a bundle holds, read from its bundle.json, and its files. */
#ifndef KOKORO_BUNDLE_H
#define KOKORO_BUNDLE_H

#include "base.h"

enum { EXTENTS = 8 };
/* The decoder has a second entry, which takes a seed in the place of the noise. */
enum { BERT, DURATION, TEXT_ENCODER, F0N, DECODER, COMPONENTS, SEEDED = COMPONENTS, ENTRIES };
enum { TOKENS, FRAMES };
enum { EXACT, MASKED, PADDED };

typedef struct file {
  const char *path; /* NULL: the bundle has no such file */
  int64_t size;
  const char *sha256;
  int descriptor; /* while the bundle is being opened */
} file;

/* A type of numbers: as numpy, safetensors and DLPack call it, and its bytes. */
typedef struct dtype {
  const char *name, *stored;
  int code, width;
} dtype;

/* By either name; NULL where there is none. */
const dtype *find_dtype(const char *name);

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

/* A tensor of a safetensors file. */
typedef struct tensor {
  const char *name;
  const dtype *type;
  void *data; /* in the mapped file, to be read only */
  int64_t extents, elements, size; /* size: bytes */
  int64_t shape[EXTENTS];
} tensor;

typedef struct tensors {
  tensor *all;
  int64_t count;
} tensors;

/* Maps an open file; its tensors are read-only. Fails. */
tensors map_tensors(scope *s, const file *file);
/* The tensors of a file whose content is in memory, and has to stay there. Fails. */
tensors read_tensors(scope *s, const file *file, void *content);

#endif
