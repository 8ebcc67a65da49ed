/* The front end for pages (web/front_end.js): one bundle's file, and any number of plans.
 *
 * Text is UTF-16, and places are units of it. Answers are JSON. A failure returns NULL or 0; in WebAssembly, which has no
 * longjmp, it traps, and every function may be called afterwards. */
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
/* Return the letter of a voice's language, or 0 with the reason in `message_buffer`. */
__attribute__((import_name("language_of"))) int language_of(const void *plan, const char *voice);
#else
#define EXPORT(name) __attribute__((visibility("default")))
typedef int language_function(const void *plan, const char *voice);
static language_function *language_of;
EXPORT(set_language_of) void set_language_of(language_function *function);
void set_language_of(language_function *function) { language_of = function; }
#endif

enum { MESSAGE_SIZE = 2044 };
static struct failure {
  int code;
  char text[MESSAGE_SIZE];
} error; /* layout of kokoro_error */
static char told[MESSAGE_SIZE];
static arena kept; /* of the file */
static scope call = {.message = error.text, .message_size = sizeof error.text, .kept = &kept};
static file content = {.path = "front_end.safetensors"};
static tensors all_tensors;
static void *bytes; /* of the file */
static const reader *readers[sizeof READ_LANGUAGES];

/* A plan with its request. */
typedef struct page_plan {
  planner planner;
  arena memory;    /* of the request and of the symbols */
  void *request;   /* the last one */
  int32_t *symbols;
  size_t count;
  size_t place;    /* units that were given */
  char letter;     /* of the language */
  const char *names[128]; /* of languages, by their letters */
} page_plan;

/* Return code and text of the last failure. */
EXPORT(last_error) const struct failure *last_error(void);
const struct failure *last_error(void) {
  error.code = call.code;
  return &error;
}

/* Return the place for the reason why there is no language: UTF-8 of at most 2,043 bytes, and a NUL. */
EXPORT(message_buffer) char *message_buffer(void);
char *message_buffer(void) { return told; }

/* Return memory for the bytes of the file. */
EXPORT(take_file) void *take_file(size_t size);
void *take_file(size_t size) {
  if (setjmp(call.failed)) return NULL;
  content.size = (int64_t)size;
  return bytes = take(&call, &kept, size, 1);
}

static void begin_call(void) {
  release(&call.scratch);
  call.where = NULL;
  call.code = 0;
  error.text[0] = 0;
}

/* Open the file whose bytes are in memory. */
EXPORT(open_file) const void *open_file(void);
const void *open_file(void) {
  begin_call();
  if (setjmp(call.failed)) return NULL;
  all_tensors = read_tensors(&call, &content, bytes);
  release(&call.scratch);
  return bytes;
}

static const reader *open_letter(char letter) { /* or NULL if the file does not have the language */
  const char *result = letter && all_tensors.count ? strchr(READ_LANGUAGES, letter) : NULL;
  if (!result) return NULL;
  const reader **place = &readers[result - READ_LANGUAGES];
  if (!*place) *place = open_reader(&call, &all_tensors, letter, letter == 'a' || letter == 'b' ? NULL : open_letter('a'));
  return *place;
}

static const reader *reader_of(void *with, scope *s, char letter) {
  const reader *result = open_letter(letter);
  const char *name = ((page_plan *)with)->names[letter & 127];
  if (!result)
    fail(s, FAILURE_INPUT, "%s text cannot be turned into phonemes in a browser: it needs a program or a package that runs with "
                           "Python alone. Choose a voice of another language, or give phonemes instead of text.",
         name ? name : "This");
  return result;
}

static int knows(void *with, int32_t symbol) {
  const page_plan *p = with;
  for (size_t i = 0; i < p->count; ++i)
    if (p->symbols[i] == symbol) return 1;
  return 0;
}

static char letter_of(void *with, work *w, string voice) {
  const page_plan *p = with;
  if (IS_NONE(voice)) return p->letter;
  int letter = language_of(p, encode_utf8(w, voice));
  if (!letter) fail(w->s, FAILURE_INPUT, "%s", told);
  return (char)letter;
}

/* Return memory for a request of a plan, and release the last one. */
EXPORT(take_request) void *take_request(page_plan *p, size_t size);
void *take_request(page_plan *p, size_t size) {
  free(p->request);
  return p->request = calloc(1, size + 1);
}

/* Return a plan for which a request can be taken; NULL: no memory. */
EXPORT(new_plan) page_plan *new_plan(void);
page_plan *new_plan(void) { return calloc(1, sizeof(page_plan)); }

static double number_of(const json *object, const char *key) {
  const json *value = find_value(object, key);
  return !value ? 0 : value->kind == NUMBER ? value->number : (double)value->whole;
}

static division division_of(const json *request) {
  const json *fields = find_value(request, "division");
  division result = USUAL_DIVISION;
  if (fields && find_value(fields, "first")) result.first = (size_t)number_of(fields, "first");
  if (fields && find_value(fields, "least")) result.least = (size_t)number_of(fields, "least");
  if (fields && find_value(fields, "most")) result.most = (size_t)number_of(fields, "most");
  if (fields && find_value(fields, "firstS")) result.first_s = number_of(fields, "firstS");
  return result;
}

static void read_request(page_plan *p, const json *request) {
  planner *to = &p->planner;
  const json *vocabulary = find_value(request, "vocabulary"), *pauses = find_value(request, "pauses");
  p->letter = *get_text(&call, request, "language");
  if (!vocabulary) fail(&call, FAILURE_BUNDLE, "The request has no vocabulary.");
  p->symbols = take(&call, &p->memory, (size_t)vocabulary->count, sizeof *p->symbols);
  for (const json *item = vocabulary->first; item; item = item->next) {
    const char *key = item->text;
    p->symbols[p->count++] = next_symbol(&key);
  }
  const json *languages = find_value(request, "languages");
  for (const json *item = languages ? languages->first : NULL; item; item = item->next)
    if (*item->key > 0 && item->kind == TEXT) p->names[(int)*item->key] = format(&call, &p->memory, "%s", item->text);
  to->names.with = p;
  to->names.knows = knows;
  to->names.language = letter_of;
  to->reader_of = reader_of;
  to->speed = number_of(request, "speed");
  to->sample_rate = (int64_t)number_of(request, "sampleRate");
  to->samples_per_frame = (int64_t)number_of(request, "samplesPerFrame");
  to->limits[0] = (int64_t)number_of(request, "tokens");
  to->limits[1] = (int64_t)number_of(request, "frames");
  to->pauses = USUAL_PAUSES;
  to->division = division_of(request);
  if (pauses)
    to->pauses = (struct pauses){number_of(pauses, "sentence"), number_of(pauses, "ellipsis"), number_of(pauses, "semicolon"),
                                 number_of(pauses, "comma"), number_of(pauses, "paragraph"), number_of(pauses, "none")};
}

static page_plan *start(page_plan *p, size_t size) {
  static const char *const forms[] = {"any", "plain", "brackets", "ssml"}; /* in the order of markup_form */
  char why[120];
  const json *request = parse(&call, p->request, size, "request", why);
  if (!request) fail(&call, FAILURE_BUNDLE, "The request cannot be read (%s).", why);
  read_request(p, request);
  const char *name = get_text(&call, request, "form");
  int form = 0;
  while (form < SSML && strcmp(name, forms[form])) ++form;
  begin_plan(&p->planner, &call, (markup_form)form, (unsigned)number_of(request, "omit"));
  return p;
}

/* Begin a plan with the JSON of `size` bytes in its request. Return it, or NULL. */
EXPORT(start_plan) page_plan *start_plan(page_plan *p, size_t size);
page_plan *start_plan(page_plan *p, size_t size) {
  begin_call();
  return setjmp(call.failed) ? NULL : start(p, size);
}

/* Decode UTF-16. places: of every character, and of the end. */
static string decode_units(work *w, const uint16_t *units, size_t size, size_t first, size_t *places) {
  int32_t *result = room(w, size, sizeof *result);
  size_t count = 0;
  for (size_t i = 0; i < size; ++i, ++count) {
    int pair = units[i] >> 10 == 0x36 && i + 1 < size && units[i + 1] >> 10 == 0x37;
    places[count] = first + i;
    result[count] = pair ? 0x10000 + ((units[i] & 0x3FF) << 10) + (units[i + 1] & 0x3FF) : units[i];
    i += (size_t)pair;
  }
  places[count] = first + size;
  return (string){result, count};
}

static page_plan *give_request(page_plan *p, size_t size, int is_phonemes) {
  work w = WORK(&call, &call.scratch);
  size_t *places = room(&w, size + 1, sizeof *places);
  string text = decode_units(&w, p->request, size, p->place, places);
  if (is_phonemes) give_phonemes(&p->planner, &call, text, p->place);
  else give_text(&p->planner, &call, text, places);
  p->place += size + (is_phonemes ? 1 : 0);
  return p;
}

/* Give the request, `size` units, to a plan: text, or a line of phonemes. Return the plan, or NULL. */
EXPORT(give_units) page_plan *give_units(page_plan *p, size_t size, int is_phonemes);
page_plan *give_units(page_plan *p, size_t size, int is_phonemes) {
  begin_call();
  return setjmp(call.failed) ? NULL : give_request(p, size, is_phonemes);
}

/* End the text of a plan. */
EXPORT(end_units) void end_units(page_plan *p);
void end_units(page_plan *p) { end_text(&p->planner); }

static void write_text(work *w, builder *out, string text) {
  if (IS_NONE(text)) {
    put_ascii(w, out, "null");
    return;
  }
  put_char(w, out, '"');
  for (size_t i = 0; i < text.size; ++i) {
    int32_t c = text.at[i];
    if (c < ' ' || (c >= 0xD800 && c < 0xE000)) {
      put_ascii(w, out, format(w->s, w->memory, "\\u%04x", (unsigned)c));
      continue;
    }
    if (c == '"' || c == '\\') put_char(w, out, '\\');
    put_char(w, out, c);
  }
  put_char(w, out, '"');
}

/* Write notices, each as a list of its sentence and its words. */
static void write_notices(work *w, builder *out, const notice_list *all) {
  put_char(w, out, '[');
  for (size_t i = 0; i < all->count; ++i) {
    const notice *element = &all->all[i];
    put_ascii(w, out, i ? ",[" : "[");
    write_text(w, out, element->sentence);
    for (size_t j = 0; j < element->words.count; ++j) {
      put_char(w, out, ',');
      write_text(w, out, element->words.all[j]);
    }
    put_char(w, out, ']');
  }
  put_char(w, out, ']');
}

static void write_word(work *w, builder *out, const word *element, const int64_t *durations) {
  put_ascii(w, out, "{\"text\":");
  write_text(w, out, some(element->text));
  put_ascii(w, out, format(w->s, w->memory, ",\"start\":%zu,\"end\":%zu,\"phonemes\":", element->start, element->end));
  write_text(w, out, some(element->phonemes));
  put_ascii(w, out, ",\"space\":");
  write_text(w, out, some(element->space));
  put_ascii(w, out, ",\"durations\":[");
  for (size_t i = 0; i < element->phonemes.size + element->space.size; ++i)
    put_ascii(w, out, format(w->s, w->memory, i ? ",%lld" : "%lld", (long long)durations[i]));
  put_ascii(w, out, format(w->s, w->memory, "],\"pitch\":%.17g,\"rate\":%.17g,\"joined\":%s}", element->pitch, element->rate,
                           element->joined ? "true" : "false"));
}

static const char *keep_of(work *w, int64_t samples) {
  return samples < 0 ? "null" : format(w->s, w->memory, "%lld", (long long)samples);
}

/* Write words from `first` to before `last`. Return the durations after them. */
static const int64_t *write_words(work *w, builder *out, const piece *p, size_t first, size_t last, const int64_t *durations) {
  put_char(w, out, '[');
  for (size_t i = first; i < last; ++i) {
    const word *element = &p->words.all[i];
    if (i > first) put_char(w, out, ',');
    write_word(w, out, element, durations);
    durations += element->phonemes.size + element->space.size;
  }
  put_char(w, out, ']');
  return durations;
}

static void write_piece(work *w, builder *out, const piece *p) {
  const int64_t *durations = p->durations ? p->durations + 1 : NULL;
  put_ascii(w, out, "{\"before\":");
  durations = write_words(w, out, p, 0, p->first, durations);
  put_ascii(w, out, ",\"words\":");
  durations = write_words(w, out, p, p->first, p->last, durations);
  put_ascii(w, out, ",\"after\":");
  durations = write_words(w, out, p, p->last, p->words.count, durations);
  put_ascii(w, out, format(w->s, w->memory, ",\"noise\":%u,\"lead\":%lld,\"tail\":%lld,\"keep\":[%s,%s],\"pause\":%lld,\"voice\":",
                           (unsigned)p->noise, p->tokens ? (long long)p->durations[0] : 1LL, p->tokens ? (long long)*durations : 1LL,
                           keep_of(w, p->keep[0]), keep_of(w, p->keep[1]), (long long)p->pause));
  write_text(w, out, p->voice);
  put_char(w, out, '}');
}

static void write_draft(work *w, builder *out, const piece *p) {
  put_ascii(w, out, "{\"phonemes\":");
  write_text(w, out, some(symbols_of(w, &p->words)));
  put_ascii(w, out, format(w->s, w->memory, ",\"symbols\":%zu,\"voice\":", p->symbols));
  write_text(w, out, p->voice);
  put_char(w, out, '}');
}

static const char *answer(page_plan *p) {
  static const char *const names[] = {"text", "draft", "piece", "end"}; /* in the order of plan_step */
  piece result;
  builder out = {0};
  work w = WORK(&call, &call.scratch);
  plan_step next = next_step(&p->planner, &call, &result);
  put_ascii(&w, &out, "{\"notices\":");
  write_notices(&w, &out, &p->planner.notices);
  put_ascii(&w, &out, format(&call, &call.scratch, ",\"%s\":", names[next]));
  if (next == NEEDS_DURATIONS) write_draft(&w, &out, &result);
  else if (next == PLANNED) write_piece(&w, &out, &result);
  else put_ascii(&w, &out, "true");
  put_char(&w, &out, '}');
  return encode_utf8(&w, BUILT(out));
}

/* Take the next step of a plan: return JSON of its notices, and of a draft that needs durations or of a piece; of neither if
 * more text is needed or the plan has ended. NULL: a failure, whose notices `notices_of` returns. */
EXPORT(take_step) const char *take_step(page_plan *p);
const char *take_step(page_plan *p) {
  begin_call();
  return setjmp(call.failed) ? NULL : answer(p);
}
static const char *list_notices(page_plan *p) {
  builder out = {0};
  work w = WORK(&call, &call.scratch);
  write_notices(&w, &out, &p->planner.notices);
  return encode_utf8(&w, BUILT(out));
}

/* Return JSON of the notices before a failure. */
EXPORT(notices_of) const char *notices_of(page_plan *p);
const char *notices_of(page_plan *p) { return setjmp(call.failed) ? NULL : list_notices(p); }

/* Set the durations of the draft's tokens: those of the request, in frames at speed 1. Return the plan, or NULL. */
EXPORT(set_durations) page_plan *set_durations(page_plan *p);
page_plan *set_durations(page_plan *p) {
  begin_call();
  if (setjmp(call.failed)) return NULL;
  give_durations(&p->planner, &call, p->request);
  return p;
}

EXPORT(free_plan) void free_plan(page_plan *p);
void free_plan(page_plan *p) {
  end_plan(&p->planner);
  release(&p->memory);
  free(p->request);
  free(p);
}
