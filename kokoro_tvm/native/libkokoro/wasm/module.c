/* The front end as a page calls it (web/front_end.js): one bundle's file, one passage of text after the other.
 *
 * A request is numbers and then units of UTF-16: those of the text, and of what its links give. The answer is JSON. What
 * fails returns NULL where there is longjmp; in WebAssembly it traps, after which every function may be called again. */
#include <string.h>

#include "text/text.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name) __attribute__((visibility("default")))
#endif

enum { SIZE, LINKS, NUMBERS }; /* of a request: units of the text, links; then of every link: */
enum { START, END, TWICE_THE_STRESS, PHONEMES, ALIAS, FLAGS, OF_LINK }; /* units of what it gives, or ABSENT */
static const int32_t ABSENT = -0x7FFFFFFF - 1;

static struct failure {
  int code;
  char text[2044];
} error; /* as kokoro_error of kokoro.h */
static arena kept, memory; /* of the file, of a request */
static scope call = {.message = error.text, .message_size = sizeof error.text, .kept = &kept};
static file content = {.path = "front_end.safetensors"};
static tensors all_tensors;
static void *bytes; /* of the file, and of the request */
static const reader *readers[sizeof READ_LANGUAGES];

/* What went wrong last: its code and its text. */
EXPORT(last_error) const struct failure *last_error(void);
const struct failure *last_error(void) {
  error.code = call.code;
  return &error;
}

/* Memory for the bytes of the file. */
EXPORT(take_file) void *take_file(size_t size);
void *take_file(size_t size) {
  if (setjmp(call.failed)) return NULL;
  content.size = (int64_t)size;
  return bytes = take(&call, &kept, size, 1);
}

/* Opens the file that is there now. */
EXPORT(open_file) const void *open_file(void);
const void *open_file(void) {
  if (setjmp(call.failed)) return NULL;
  all_tensors = read_tensors(&call, &content, bytes);
  release(&call.scratch);
  return bytes;
}

/* Memory for a request; what the last one took is released. */
EXPORT(take_request) int32_t *take_request(size_t size);
int32_t *take_request(size_t size) {
  release(&memory);
  release(&call.scratch);
  if (setjmp(call.failed)) return NULL;
  return bytes = take(&call, &memory, size, 1);
}

static const reader *reader_of(char letter) { /* NULL: the file has nothing of the language */
  const char *found = letter ? strchr(READ_LANGUAGES, letter) : NULL;
  if (!found) return NULL;
  const reader **place = &readers[found - READ_LANGUAGES];
  if (!*place) *place = open_reader(&call, &all_tensors, letter, letter == 'a' || letter == 'b' ? NULL : reader_of('a'));
  return *place;
}

/* Units of UTF-16 as a text; `starts` gets where each character begins, and their end. */
static string characters(work *w, const uint16_t *units, size_t size, size_t *starts) {
  int32_t *made = room(w, size, sizeof *made);
  size_t count = 0;
  for (size_t i = 0; i < size; ++i, ++count) {
    int pair = units[i] >> 10 == 0x36 && i + 1 < size && units[i + 1] >> 10 == 0x37;
    if (starts) starts[count] = i;
    made[count] = pair ? 0x10000 + ((units[i] & 0x3FF) << 10) + (units[i + 1] & 0x3FF) : units[i];
    i += (size_t)pair;
  }
  if (starts) starts[count] = size;
  return (string){made, count};
}

static stress stress_from(int32_t twice) {
  static const stress all[] = {LOWERED, WEAKER, UNSTRESSED, SLIGHT, STRESSED};
  return twice == ABSENT ? AS_IT_IS : twice < -2 ? MUTED : twice > 2 ? STRONG : all[twice + 2];
}

static string given(work *w, const uint16_t **units, int32_t size) {
  if (size == ABSENT) return NONE;
  *units += size;
  return some(characters(w, *units - size, (size_t)size, NULL));
}

static source source_from(work *w, const int32_t *request) {
  size_t count = (size_t)request[LINKS], size = (size_t)request[SIZE];
  const int32_t *numbers = request + NUMBERS;
  const uint16_t *units = (const uint16_t *)(numbers + OF_LINK * count);
  size_t *starts = room(w, size + 1, sizeof *starts), *place_of = room(w, size + 1, sizeof *place_of);
  source made = {.text = characters(w, units, size, starts), .starts = starts, .ends = starts + 1, .marked = 1};
  for (size_t i = 0; i <= made.text.size; ++i) place_of[starts[i]] = i;
  size_t done = 0; /* no link is within another */
  units += size;
  for (; count--; numbers += OF_LINK) {
    text_link each = {.start = place_of[numbers[START]], .end = place_of[numbers[END]]};
    each.stress = stress_from(numbers[TWICE_THE_STRESS]);
    each.phonemes = given(w, &units, numbers[PHONEMES]);
    each.alias = given(w, &units, numbers[ALIAS]);
    each.flags = given(w, &units, numbers[FLAGS]);
    if (each.start >= done && each.start < each.end) {
      PUSH(w, made.links, each);
      done = each.end;
    }
  }
  return made;
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
  static const char *const origins[] = {"", "lexicon", "letters", "spelled", "mark", "rules", "english", "given"};
  string texts[] = {t->phonemes, t->space, t->tag, decoded(w, origins[t->origin])};
  put_char(w, out, '[');
  write_text(w, out, t->text);
  put_ascii(w, out, format(w->s, w->memory, ",%u,%u", (unsigned)t->start, (unsigned)t->end));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) put_char(w, out, ','), write_text(w, out, texts[i]);
  put_char(w, out, ']');
}

/* [[[token, ...], ...], [notice, ...]] as JSON. */
static char *answer(work *w, const utterances *made, const notes *notices) {
  builder out = {0};
  put_ascii(w, &out, "[[");
  for (size_t i = 0; i < made->count; ++i) {
    put_ascii(w, &out, i ? ",[" : "[");
    for (size_t j = 0; j < made->all[i].count; ++j) {
      if (j) put_char(w, &out, ',');
      write_token(w, &out, &made->all[i].all[j]);
    }
    put_char(w, &out, ']');
  }
  put_ascii(w, &out, "],[");
  for (size_t i = 0; i < notices->count; ++i) {
    if (i) put_char(w, &out, ',');
    write_text(w, &out, notices->all[i]);
  }
  put_ascii(w, &out, "]]");
  return encoded(w, BUILT(out));
}

/* Whether texts of a language are read, by its letter. */
EXPORT(reads) int reads(int letter);
int reads(int letter) {
  call.code = 0;
  error.text[0] = 0;
  if (setjmp(call.failed)) return 0;
  return reader_of((char)letter) != NULL;
}

/* Reads the request that is there now, in a language that is read. */
EXPORT(read_request) const char *read_request(int letter);
const char *read_request(int letter) {
  work w = WORK(&call, &memory);
  notes notices = {0};
  if (setjmp(call.failed)) return NULL;
  source from = source_from(&w, bytes);
  utterances made = read_passage(&w, reader_of((char)letter), &from, &notices);
  return answer(&w, &made, &notices);
}
