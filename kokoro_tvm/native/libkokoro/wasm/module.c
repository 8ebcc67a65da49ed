/* The front end for pages (web/front_end.js): one bundle's file, and one passage of text per request.
 *
 * A request is numbers, then UTF-16 units of the text and of the values of its links. The answer is JSON. A failure
 * returns NULL; in WebAssembly, which has no longjmp, it traps, and every function may be called afterwards. */
#include <string.h>

#include "text/text.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name) __attribute__((visibility("default")))
#endif

enum { SIZE, LINKS, NUMBERS }; /* of a request: units of the text, number of links; then of every link: */
enum { START, END, TWICE_THE_STRESS, PHONEMES, ALIAS, FLAGS, OF_LINK }; /* units of its values, or ABSENT */
static const int32_t ABSENT = -0x7FFFFFFF - 1;

static struct failure {
  int code;
  char text[2044];
} error; /* layout of kokoro_error */
static arena kept, memory; /* of the file, and of a request */
static scope call = {.message = error.text, .message_size = sizeof error.text, .kept = &kept};
static file content = {.path = "front_end.safetensors"};
static tensors all_tensors;
static void *bytes; /* of the file, then of the request */
static const reader *readers[sizeof READ_LANGUAGES];

/* Return code and text of the last failure. */
EXPORT(last_error) const struct failure *last_error(void);
const struct failure *last_error(void) {
  error.code = call.code;
  return &error;
}

/* Return memory for the bytes of the file. */
EXPORT(take_file) void *take_file(size_t size);
void *take_file(size_t size) {
  if (setjmp(call.failed)) return NULL;
  content.size = (int64_t)size;
  return bytes = take(&call, &kept, size, 1);
}

/* Open the file whose bytes are in memory. */
EXPORT(open_file) const void *open_file(void);
const void *open_file(void) {
  if (setjmp(call.failed)) return NULL;
  all_tensors = read_tensors(&call, &content, bytes);
  release(&call.scratch);
  return bytes;
}

/* Return memory for a request, and release the last one. */
EXPORT(take_request) int32_t *take_request(size_t size);
int32_t *take_request(size_t size) {
  release(&memory);
  release(&call.scratch);
  if (setjmp(call.failed)) return NULL;
  return bytes = take(&call, &memory, size, 1);
}

static const reader *reader_of(char letter) { /* or NULL if the file does not have the language */
  const char *result = letter ? strchr(READ_LANGUAGES, letter) : NULL;
  if (!result) return NULL;
  const reader **place = &readers[result - READ_LANGUAGES];
  if (!*place) *place = open_reader(&call, &all_tensors, letter, letter == 'a' || letter == 'b' ? NULL : reader_of('a'));
  return *place;
}

/* Decode UTF-16. `starts` gets the place of every character, and the end. */
static string decode_units(work *w, const uint16_t *units, size_t size, size_t *starts) {
  int32_t *result = room(w, size, sizeof *result);
  size_t count = 0;
  for (size_t i = 0; i < size; ++i, ++count) {
    int pair = units[i] >> 10 == 0x36 && i + 1 < size && units[i + 1] >> 10 == 0x37;
    if (starts) starts[count] = i;
    result[count] = pair ? 0x10000 + ((units[i] & 0x3FF) << 10) + (units[i + 1] & 0x3FF) : units[i];
    i += (size_t)pair;
  }
  if (starts) starts[count] = size;
  return (string){result, count};
}

static stress stress_from(int32_t twice) {
  static const stress all[] = {LOWERED, WEAKER, UNSTRESSED, SLIGHT, STRESSED};
  return twice == ABSENT ? AS_IT_IS : twice < -2 ? MUTED : twice > 2 ? STRONG : all[twice + 2];
}

static string next_text(work *w, const uint16_t **units, int32_t size) {
  if (size == ABSENT) return NONE;
  *units += size;
  return some(decode_units(w, *units - size, (size_t)size, NULL));
}

static source source_from(work *w, const int32_t *request) {
  size_t count = (size_t)request[LINKS], size = (size_t)request[SIZE];
  const int32_t *numbers = request + NUMBERS;
  const uint16_t *units = (const uint16_t *)(numbers + OF_LINK * count);
  size_t *starts = room(w, size + 1, sizeof *starts), *place_of = room(w, size + 1, sizeof *place_of);
  source result = {.text = decode_units(w, units, size, starts), .starts = starts, .ends = starts + 1, .marked = 1};
  for (size_t i = 0; i <= result.text.size; ++i) place_of[starts[i]] = i;
  size_t done = 0; /* links are not nested */
  units += size;
  for (; count--; numbers += OF_LINK) {
    text_link element = {.start = place_of[numbers[START]], .end = place_of[numbers[END]]};
    element.stress = stress_from(numbers[TWICE_THE_STRESS]);
    element.phonemes = next_text(w, &units, numbers[PHONEMES]);
    element.alias = next_text(w, &units, numbers[ALIAS]);
    element.flags = next_text(w, &units, numbers[FLAGS]);
    if (element.start >= done && element.start < element.end) {
      PUSH(w, result.links, element);
      done = element.end;
    }
  }
  return result;
}

static void write_text(work *w, builder *out, string text) {
  put_char(w, out, '"');
  for (size_t i = 0; i < text.size; ++i) {
    int32_t c = text.at[i];
    if (c < ' ') {
      put_ascii(w, out, format(w->s, w->memory, "\\u%04x", (unsigned)c));
      continue;
    }
    if (c == '"' || c == '\\') put_char(w, out, '\\');
    put_char(w, out, c);
  }
  put_char(w, out, '"');
}

static void write_token(work *w, builder *out, const token *t) {
  static const char *const origins[] = {"", "lexicon", "names", "letters", "spelled", "mark", "rules", "english", "given"};
  string texts[] = {t->phonemes, t->space, t->tag, decode_utf8(w, origins[t->origin])};
  put_char(w, out, '[');
  write_text(w, out, t->text);
  put_ascii(w, out, format(w->s, w->memory, ",%u,%u", (unsigned)t->start, (unsigned)t->end));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) put_char(w, out, ','), write_text(w, out, texts[i]);
  put_char(w, out, ']');
}

/* Write [[[token, ...], ...], [notice, ...]] as JSON. */
static char *write_answer(work *w, const utterances *result, const notes *notices) {
  builder out = {0};
  put_ascii(w, &out, "[[");
  for (size_t i = 0; i < result->count; ++i) {
    put_ascii(w, &out, i ? ",[" : "[");
    for (size_t j = 0; j < result->all[i].count; ++j) {
      if (j) put_char(w, &out, ',');
      write_token(w, &out, &result->all[i].all[j]);
    }
    put_char(w, &out, ']');
  }
  put_ascii(w, &out, "],[");
  for (size_t i = 0; i < notices->count; ++i) {
    if (i) put_char(w, &out, ',');
    write_text(w, &out, notices->all[i]);
  }
  put_ascii(w, &out, "]]");
  return encode_utf8(w, BUILT(out));
}

/* Return whether the file can read a language, by its letter. */
EXPORT(reads) int reads(int letter);
int reads(int letter) {
  call.code = 0;
  error.text[0] = 0;
  if (setjmp(call.failed)) return 0;
  return reader_of((char)letter) != NULL;
}

/* Read the request in memory in a language that the file can read. */
EXPORT(read_request) const char *read_request(int letter);
const char *read_request(int letter) {
  work w = WORK(&call, &memory);
  notes notices = {0};
  if (setjmp(call.failed)) return NULL;
  source from = source_from(&w, bytes);
  utterances result = read_passage(&w, reader_of((char)letter), &from, &notices);
  return write_answer(&w, &result, &notices);
}
