/* Read texts with the front end of libkokoro: one line per text, with a command and hexadecimal code points. Print a line
 * of JSON for each.
 *
 *   text FRONT_END CODE [LANGUAGE] < lines
 *
 *   chars        checksums of the properties of all characters
 *   cases:TEXT   small, large, capitalized, and the four normal forms
 *   find:N:TEXT  matches of expression N
 *   normal:TEXT  the normalized text; `steps` instead: steps of expressions
 *   read:TEXT    tokens and notices
 *   model:SPEED TOKENS FRAMES SYMBOL ID...   of the following plans
 *   plan:TEXT    pieces and notices
 *   fuzz:COUNT EVERY   read random texts up to their normalized words, and plan one in EVERY; print the number of
 *                      refused plans
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "patterns.h"
#include "text/paragraphs.h"
#include "text/text.h"

static void print_text(string text) {
  putchar('"');
  for (size_t i = 0; i < text.size; ++i) {
    int32_t c = text.at[i];
    if (c > 0xFFFF) printf("\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF));
    else if (c < 32 || c > 126 || c == '"' || c == '\\') printf("\\u%04x", (unsigned)c);
    else putchar(c);
  }
  putchar('"');
}

static void print_places(const size_t *all, size_t count) {
  putchar('[');
  for (size_t i = 0; i < count; ++i) printf(i ? ",%zu" : "%zu", all[i]);
  putchar(']');
}

static void print_texts(const string *texts, size_t count) {
  putchar('[');
  for (size_t i = 0; i < count; ++i) {
    if (i) putchar(',');
    print_text(texts[i]);
  }
  putchar(']');
}

static void print_matches(work *w, int number, string text) {
  match result = FIRST_MATCH;
  putchar('[');
  for (int first = 1; next_match(w, &PATTERNS[number], text, &result); first = 0) {
    printf(first ? "[" : ",[");
    for (int i = 0; i < PATTERNS[number].code[0]; ++i)
      printf(i ? ",%td,%td" : "%td,%td", (ptrdiff_t)result.groups[i].start, (ptrdiff_t)result.groups[i].end);
    putchar(']');
  }
  putchar(']');
}

static void print_normal(work *w, const reader *r, string text) {
  source whole = source_of(w, text);
  notes notices = {0};
  normalized result = normalize(w, whole, r, &notices);
  printf("[");
  print_text(result.source.text);
  putchar(',');
  print_places(result.source.starts, result.source.text.size);
  putchar(',');
  print_places(result.source.ends, result.source.text.size);
  putchar(',');
  print_texts(notices.all, notices.count);
  printf("]");
}

static void print_reading(work *w, const reader *r, string text) {
  static const char *const origins[] = {"", "lexicon", "names", "letters", "spelled", "mark", "rules", "english"};
  source whole = source_of(w, text);
  notes notices = {0};
  utterances result = read_text(w, r, &whole, &notices);
  printf("[[");
  for (size_t i = 0; i < result.count; ++i) {
    printf(i ? ",[" : "[");
    for (size_t j = 0; j < result.all[i].count; ++j) {
      const token *t = &result.all[i].all[j];
      printf(j ? ",[" : "[");
      print_text(t->text);
      printf(",%zu,%zu,", t->start, t->end);
      print_text(t->phonemes);
      putchar(',');
      print_text(t->space);
      putchar(',');
      print_text(t->tag);
      printf(",\"%s\"]", origins[t->origin]);
    }
    putchar(']');
  }
  printf("],");
  print_texts(notices.all, notices.count);
  printf("]");
}

/* A model that predicts durations by a rule, as in tests/front_end_vectors.py. */
typedef struct model {
  struct { int32_t symbol; int64_t id; } vocabulary[512];
  int count;
  int64_t most[2];
  double speed;
} model;

static int64_t id_of(const model *m, int32_t symbol) { /* -1: unknown */
  for (int i = 0; i < m->count; ++i)
    if (m->vocabulary[i].symbol == symbol) return m->vocabulary[i].id;
  return -1;
}

static int knows(void *with, int32_t symbol) { return id_of(with, symbol) >= 0; }

static int64_t frames_of(float duration, double speed) {
  float scaled = nearbyintf(duration / (float)speed);
  return scaled < 1 ? 1 : (int64_t)scaled;
}

static int predict(void *with, work *w, piece *p) {
  model *m = with;
  int64_t *ids = room(w, p->tokens, sizeof *ids), total = 0;
  size_t count = 1;
  if ((int64_t)p->tokens > m->most[0]) return 0;
  for (size_t i = 0; i < p->words.count; ++i) {
    string parts[2] = {p->words.all[i].phonemes, p->words.all[i].space};
    for (int j = 0; j < 2; ++j)
      for (size_t k = 0; k < parts[j].size; ++k) ids[count++] = id_of(m, parts[j].at[k]);
  }
  p->durations = room(w, p->tokens, sizeof *p->durations);
  for (size_t i = 0; i < p->tokens; ++i) {
    float duration = (float)(1 + (7 * ids[i] + (int64_t)i) % 5 + (double)(ids[i] % 4) / 4);
    int64_t whole = frames_of(duration, 1);
    p->durations[i] = frames_of(duration, m->speed);
    if ((i == 0 || i + 1 == p->tokens) && p->durations[i] > whole) p->durations[i] = whole;
    total += p->durations[i];
  }
  return total <= m->most[1];
}

static void read_model(model *m, const char *line) { /* speed, maximum tokens and frames, then symbols and ids */
  char *end = (char *)strchr(line, ':') + 1;
  m->speed = strtod(end, &end);
  m->most[0] = strtoll(end, &end, 10);
  m->most[1] = strtoll(end, &end, 10);
  for (m->count = 0; *end && *end != '\n' && m->count < 512; ++m->count) {
    m->vocabulary[m->count].symbol = (int32_t)strtol(end, &end, 16);
    m->vocabulary[m->count].id = strtoll(end, &end, 10);
  }
}

static uint32_t adler32(uint32_t sum, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  uint32_t low = sum & 0xFFFF, high = sum >> 16;
  for (; size--; high = (high + low) % 65521) low = (low + *at++) % 65521;
  return high << 16 | low;
}

/* Return the checksum of a piece's finished audio of ones. */
static uint32_t finished(work *w, const piece *p) {
  int64_t samples = 0;
  for (size_t i = 0; i < p->tokens; ++i) samples += 600 * p->durations[i];
  float *audio = room(w, (size_t)(samples + p->pause), sizeof *audio);
  for (int64_t i = 0; i < samples; ++i) audio[i] = 1;
  samples = finish_audio(p, audio, 600, 24000);
  return adler32(1, audio, (size_t)samples * sizeof *audio);
}

static int digit_byte(int32_t c) { return digit_of(c) & 255; }
static int decimal_byte(int32_t c) { return decimal_of(c) & 255; }

static void print_characters(void) {
  int (*const all[])(int32_t) = {is_alpha, is_alnum, is_upper, is_lower, is_printable, is_space, is_decimal, is_digit,
                                 decimal_byte, digit_byte};
  putchar('[');
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    uint32_t sum = 1;
    for (int32_t c = 0; c < 0x110000; ++c) {
      unsigned char value = (unsigned char)all[i](c);
      sum = adler32(sum, &value, 1);
    }
    printf("%u,", (unsigned)sum);
  }
  uint32_t sum = 1;
  for (int32_t c = 0; c < 0x110000; ++c) {
    unsigned char value[2] = {(unsigned char)(category(c) >> 8), (unsigned char)category(c)};
    sum = adler32(sum, value, 2);
  }
  printf("%u]", (unsigned)sum);
}

static void print_cases(work *w, string text) {
  string all[] = {lower(w, text), upper(w, text), capitalize(w, text), nfc(w, text), nfd(w, text), nfkc(w, text), nfkd(w, text)};
  strings result = {all, sizeof all / sizeof *all, 0};
  print_texts(result.all, result.count);
}

static void print_piece(work *w, const piece *p) {
  const int64_t *durations = p->durations + 1;
  printf("[[");
  for (size_t i = 0; i < p->words.count; ++i) {
    const word *element = &p->words.all[i];
    printf(i ? ",[" : "[");
    print_text(element->text);
    printf(",%zu,%zu,", element->start, element->end);
    print_text(element->phonemes);
    putchar(',');
    print_text(element->space);
    printf(",[");
    for (size_t j = 0; j < element->phonemes.size + element->space.size; ++j) printf(j ? ",%lld" : "%lld", (long long)*durations++);
    printf("]]");
  }
  printf("],[%zu,%u,%lld,%lld,[%lld,%lld],%lld],%u]", p->symbols, (unsigned)p->noise, (long long)p->durations[0],
         (long long)*durations, (long long)p->keep[0], (long long)p->keep[1], (long long)p->pause,
         (unsigned)finished(w, p));
}

static void print_plan(work *w, const reader *r, model *m, string text) {
  planner p = {.reader = r, .knows = knows, .predict = predict, .with = m, .speed = m->speed, .sample_rate = 24000};
  scope call = {.message = w->s->message, .message_size = w->s->message_size};
  strings notices = {0};
  piece result;
  volatile int first = 1;
  p.limits[0] = m->most[0], p.limits[1] = m->most[1];
  begin_plan(&p, &call, text);
  printf("[[");
  if (setjmp(call.failed)) {
    printf("%s{\"error\":", first ? "" : ",");
    print_text(decode_utf8(w, call.message));
    putchar('}');
  } else {
    for (int exists = 1; exists;) {
      exists = next_piece(&p, &call, &result);
      for (size_t i = 0; i < p.notices.count; ++i) PUSH(w, notices, decode_utf8(w, encode_utf8(w, p.notices.all[i])));
      if (!exists) continue;
      if (!first) putchar(',');
      first = 0;
      print_piece(w, &result);
    }
  }
  printf("],");
  print_texts(notices.all, notices.count);
  putchar(']');
  end_plan(&p);
  release(&call.scratch);
}

static uint64_t state;

static uint64_t drawn(uint64_t below) { /* xorshift64* (Vigna 2016) */
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return (state * 0x2545F4914F6CDD1Du >> 16) % below;
}

/* Return a random text of fragments that rules know, and of characters of all planes. */
static string random_text(work *w) {
  static const char *const fragments[] = {
      "[a](/b/)", "<b>", "</b>", "<!-- x -->", "&amp;", "&#x41;", "&#99999;", "&notit;", "**", "_", "~~", "`", "\n- ", "\n1. ",
      "\n# ", "\n\n", "\n> ", "\n```\n", "| a | b |", "$5M", "£3.50", "5°C", "3/4", "10:30pm", "2024-03-15T10:00", "VIII",
      "Dr.", "U.S.", "a@b.co", "#NewYork", "http://a.b/c%20d?e=f", "192.168.0.1", "1,000,000", "3.14", "½", "x²", "CO₂", "😀",
      "👩\u200d👧", "🇫🇷", "2️⃣", "1st", "1980s", "don't", "rock'n'roll", "naïve", "中文", "हिन्दी", "ﷺ", "e\u0301", "\u202e",
      "\u200b", "...", "!?", "“q”", " — ", "--", "the ", "record ", "THE US ARMY ", "read ", "lives ", "word ", "Quxleys ", " ",
      "0", "999999999999999999999999", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a@a@a@", "1/2/3/4/"};
  static const int32_t planes[][2] = {{1, 0x7F}, {0xA0, 0x250}, {0x250, 0x2000}, {0x2000, 0x3100}, {0x3100, 0xD7FF},
                                      {0xE000, 0x10000}, {0x10000, 0x20000}, {0x1F300, 0x1FB00}, {0x20, 0x7F}};
  builder text = {0};
  for (uint64_t parts = 1 + drawn(14); parts; --parts) {
    if (drawn(10) < 6) {
      string part = decode_utf8(w, fragments[drawn(sizeof fragments / sizeof *fragments)]);
      for (uint64_t times = drawn(40) ? 1 : 1 + drawn(200); times; --times) put(w, &text, part);
    } else {
      const int32_t *plane = planes[drawn(sizeof planes / sizeof *planes)];
      for (uint64_t count = 1 + drawn(8); count; --count)
        put_char(w, &text, plane[0] + (int32_t)drawn((uint64_t)(plane[1] - plane[0])));
    }
  }
  return BUILT(text);
}

/* Plan a text without printing; return the code of its failure, 0 for none. */
static int plan_quietly(const reader *r, model *m, string text, char message[2048]) {
  planner p = {.reader = r, .knows = knows, .predict = predict, .with = m, .speed = m->speed, .sample_rate = 24000};
  scope call = {.message = message, .message_size = 2048};
  piece result;
  p.limits[0] = m->most[0], p.limits[1] = m->most[1];
  if (setjmp(call.failed) == 0) {
    begin_plan(&p, &call, text);
    while (next_piece(&p, &call, &result)) {
      arena audio = {0};
      work w = WORK(&call, &audio);
      finished(&w, &result);
      release(&audio);
    }
  }
  end_plan(&p);
  release(&call.scratch);
  return call.code;
}

static void fuzz(const reader *r, model *m, const char *value) {
  char *behind;
  uint64_t refused = 0, count = strtoull(value, &behind, 10), every = strtoull(behind, NULL, 10);
  char message[2048];
  int code;
  for (uint64_t i = 1; i <= count; ++i) {
    scope s = {.message = message, .message_size = sizeof message};
    arena memory = {0};
    work w = WORK(&s, &memory);
    state = i * 0x9E3779B97F4A7C15u;
    drawn(2);
    string text = random_text(&w);
    if (i % every) {
      source whole = source_of(&w, text);
      sources parts = paragraphs(&w, &whole);
      notes notices = {0};
      for (size_t part = 0; part < parts.count; ++part) normalize(&w, parts.all[part], r, &notices);
    } else if ((code = plan_quietly(r, m, text, message)) != 0) {
      ++refused;
      if (code != FAILURE_INPUT) printf("text %llu: %s\n", (unsigned long long)i, message);
    }
    release(&memory);
    release(&s.scratch);
  }
  printf("%llu", (unsigned long long)refused);
}

static string read_line(work *w, const char *line) {
  builder text = {0};
  char *end;
  for (; *line && *line != '\n'; line = *end ? end + 1 : end) {
    put_char(w, &text, (int32_t)strtol(line, &end, 16));
    if (end == line) break;
  }
  return BUILT(text);
}

int main(int count, char **words) {
  scope s = {0};
  arena kept = {0};
  char message[2048];
  static model m;
  static char line[1 << 22];
  if (count < 3) return 2;
  s.message = message;
  s.message_size = sizeof message;
  s.kept = &kept;
  if (setjmp(s.failed)) return printf("failed: %s\n", message), 1;
  os_status status;
  file from = {.path = words[1], .descriptor = os_open(words[1])};
  os_status_of(from.descriptor, &status);
  from.size = status.size;
  tensors tensors = map_tensors(&s, &from);
  const reader *american = open_reader(&s, &tensors, 'a', NULL);
  const reader *own = open_reader(&s, &tensors, *words[2], strchr("ab", *words[2]) ? NULL : american);
  const reader r = own ? *own : (reader){.forms = open_language(&s, &tensors, words[3], *words[2])};
  while (fgets(line, sizeof line, stdin)) {
    scope call = {0};
    arena memory = {0};
    work w = WORK(&call, &memory);
    call.message = message;
    call.message_size = sizeof message;
    if (setjmp(call.failed)) {
      printf("{\"error\": \"%s\"}\n", message);
    } else {
      const char *colon = strrchr(line, ':'), *behind = colon ? colon + 1 : "";
      string text = read_line(&w, behind);
      if (strncmp(line, "chars", 5) == 0) print_characters();
      if (strncmp(line, "cases", 5) == 0) print_cases(&w, text);
      if (strncmp(line, "fuzz", 4) == 0) fuzz(&r, &m, behind);
      if (strncmp(line, "find", 4) == 0) print_matches(&w, atoi(line + 5), text);
      if (strncmp(line, "normal", 6) == 0) print_normal(&w, &r, text);
      if (strncmp(line, "read", 4) == 0) print_reading(&w, &r, text);
      if (strncmp(line, "model", 5) == 0) read_model(&m, line);
      if (strncmp(line, "plan", 4) == 0) print_plan(&w, &r, &m, text);
      if (strncmp(line, "steps", 5) == 0) {
        notes notices = {0};
        source whole = source_of(&w, text);
        normalize(&w, whole, &r, &notices);
        printf("%llu", (unsigned long long)w.steps);
      }
      putchar('\n');
    }
    release(&memory);
    release(&call.scratch);
  }
  release(&s.scratch);
  release(&kept);
  return 0;
}
