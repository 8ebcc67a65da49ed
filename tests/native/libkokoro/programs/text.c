/* Read texts with the front end of libkokoro: one line per text, with a command and hexadecimal code points. Print a line
 * of JSON for each.
 *
 *   text FRONT_END CODE [LANGUAGE] < lines
 *
 *   chars        checksums of the properties of all characters
 *   cases:TEXT   small, large, capitalized, and the four normal forms
 *   find:N:TEXT  matches of expression N
 *   normal:TEXT  the normalized text; `steps` instead: steps of expressions
 *   read:TEXT    tokens, notices and their words
 *   model:SPEED TOKENS FRAMES SYMBOL ID...   of the following plans
 *   division:FIRST LEAST MOST FIRST_S   of the following plans; else a stream's
 *   plan:TEXT    pieces and notices; `markup` instead follows markup, and `omit` leaves out all that can be
 *   markup:SIZE:TEXT  the same with markup, of a text that comes in portions of SIZE characters; 0: at once
 *   items:SIZE:TEXT  what the parser of SSML makes of such a text
 *   fuzz:COUNT EVERY   read random texts up to their normalized words, and plan one in EVERY; print the number of
 *                      refused plans
 *   ssml:COUNT EVERY   parse random documents of SSML and brackets in portions, and plan one in EVERY; print the number of
 *                      refused ones
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

static void print_sentences(const notice_list *all) {
  putchar('[');
  for (size_t i = 0; i < all->count; ++i) {
    if (i) putchar(',');
    print_text(all->all[i].sentence);
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
  notice_list notices = {0};
  normalized result = normalize(w, whole, r, &notices);
  printf("[");
  print_text(result.source.text);
  putchar(',');
  print_places(result.source.starts, result.source.text.size);
  putchar(',');
  print_places(result.source.ends, result.source.text.size);
  putchar(',');
  print_sentences(&notices);
  printf("]");
}

static void print_reading(work *w, const reader *r, string text) {
  static const char *const origins[] = {"", "lexicon", "names", "letters", "spelled", "mark", "rules", "english"};
  source whole = source_of(w, text);
  notice_list notices = {0};
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
  print_sentences(&notices);
  for (size_t i = 0; i < notices.count; ++i) {
    printf(i ? "," : ",[");
    print_texts(notices.all[i].words.all, notices.all[i].words.count);
  }
  printf(notices.count ? "]]" : ",[]]");
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

/* What plans need of a bundle: a model, and readers of a file. */
typedef struct host {
  model model;
  division division;
  scope *s; /* of the readers */
  const tensors *file;
  const reader *readers[sizeof READ_LANGUAGES], *own;
  char code;
} host;

static int knows(void *with, int32_t symbol) { return id_of(&((host *)with)->model, symbol) >= 0; }

static const reader *reader_of(void *with, scope *s, char letter) {
  host *h = with;
  const char *place = strchr(READ_LANGUAGES, letter);
  if (!place || letter == h->code) return h->own;
  const reader **result = &h->readers[place - READ_LANGUAGES];
  (void)s;
  if (!*result) *result = open_reader(h->s, h->file, letter, strchr("ab", letter) ? NULL : reader_of(h, s, 'a'));
  return *result;
}

/* The voices of tests/front_end_vectors.py. */
static char language_of(void *with, work *w, string voice) {
  static const char *const voices[] = {"af_heart", "bf_emma", "ef_dora"};
  if (IS_NONE(voice)) return ((host *)with)->code;
  for (int i = 0; i < 3; ++i)
    if (is_ascii_text(voice, voices[i])) return voices[i][0];
  fail(w->s, FAILURE_INPUT, "There is no voice %s in this bundle.", encode_utf8(w, quote(w, voice, MOST_SHOWN)));
}

static void set_durations(const model *m, planner *p, scope *s, const piece *draft) {
  arena memory = {0};
  work w = WORK(s, &memory);
  int64_t *ids = room(&w, draft->tokens, sizeof *ids);
  float *durations = room(&w, draft->tokens, sizeof *durations);
  size_t count = 1;
  for (size_t i = 0; i < draft->words.count; ++i) {
    string parts[2] = {draft->words.all[i].phonemes, draft->words.all[i].space};
    for (int j = 0; j < 2; ++j)
      for (size_t k = 0; k < parts[j].size; ++k) ids[count++] = id_of(m, parts[j].at[k]);
  }
  for (size_t i = 0; i < draft->tokens; ++i)
    durations[i] = (float)(1 + (7 * ids[i] + (int64_t)i) % 5 + (double)(ids[i] % 4) / 4);
  give_durations(p, s, durations);
  release(&memory);
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

static void read_division(division *to, char *values) {
  to->first = strtoul(values, &values, 10);
  to->least = strtoul(values, &values, 10);
  to->most = strtoul(values, &values, 10);
  to->first_s = strtod(values, NULL);
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

/* Print words from `first` to before `last`. Return the durations after them. */
static const int64_t *print_words(const piece *p, size_t first, size_t last, const int64_t *durations) {
  putchar('[');
  for (size_t i = first; i < last; ++i) {
    const word *element = &p->words.all[i];
    printf(i > first ? ",[" : "[");
    print_text(element->text);
    printf(",%zu,%zu,", element->start, element->end);
    print_text(element->phonemes);
    putchar(',');
    print_text(element->space);
    printf(",[");
    for (size_t j = 0; j < element->phonemes.size + element->space.size; ++j) printf(j ? ",%lld" : "%lld", (long long)*durations++);
    printf("],%.17g,%.17g,%s]", element->pitch, element->rate, element->joined ? "true" : "false");
  }
  printf("],");
  return durations;
}

static void print_piece(work *w, const piece *p) {
  const int64_t *durations = p->tokens ? p->durations + 1 : NULL;
  putchar('[');
  durations = print_words(p, p->first, p->last, print_words(p, 0, p->first, durations));
  durations = print_words(p, p->last, p->words.count, durations);
  printf("[%zu,%u,%lld,%lld,[%lld,%lld],%lld,", p->symbols, (unsigned)p->noise, p->tokens ? (long long)p->durations[0] : 1LL,
         p->tokens ? (long long)*durations : 1LL, (long long)p->keep[0], (long long)p->keep[1], (long long)p->pause);
  if (IS_NONE(p->voice)) printf("null");
  else print_text(p->voice);
  printf("],%u]", (unsigned)finished(w, p));
}

static planner plan_of(host *h) {
  return (planner){.names = {h, knows, language_of}, .reader_of = reader_of, .speed = h->model.speed, .sample_rate = 24000,
                   .samples_per_frame = 600,
                   .limits = {h->model.most[0], h->model.most[1]}, .pauses = USUAL_PAUSES, .division = h->division};
}

/* A text that comes in portions of `size` characters; 0: at once. */
typedef struct portions {
  string text;
  size_t size, place;
} portions;

static void give_input(markup *m, scope *s, portions *from) {
  size_t left = from->text.size - from->place, size = !from->size || from->size > left ? left : from->size;
  arena memory = {0};
  work w = WORK(s, &memory);
  size_t *places = room(&w, size + 1, sizeof *places);
  for (size_t i = 0; i <= size; ++i) places[i] = from->place + i;
  add_text(m, s, slice(from->text, from->place, from->place + size), places);
  from->place += size;
  m->input.complete = from->place == from->text.size;
  release(&memory);
}

/* Get the next piece; 0 at the end. Notices go to `notices`. */
static int next_piece(host *h, planner *p, scope *s, portions *from, work *w, strings *notices, piece *result) {
  for (;;) {
    plan_step step = next_step(p, s, result);
    for (size_t i = 0; notices && i < p->notices.count; ++i) PUSH(w, *notices, decode_utf8(w, encode_utf8(w, p->notices.all[i].sentence)));
    if (step == NEEDS_TEXT) give_input(&p->sections.markup, s, from);
    else if (step == NEEDS_DURATIONS) set_durations(&h->model, p, s, result);
    else return step == PLANNED;
  }
}

static void print_plan(work *w, host *h, string text, markup_form form, size_t size, unsigned omitted) {
  planner p = plan_of(h);
  scope call = {.message = w->s->message, .message_size = w->s->message_size};
  portions from = {text, size, 0};
  strings notices = {0};
  piece result;
  volatile int first = 1;
  begin_plan(&p, &call, form, omitted);
  printf("[[");
  if (setjmp(call.failed)) {
    printf("%s{\"error\":", first ? "" : ",");
    print_text(decode_utf8(w, call.message));
    putchar('}');
    for (size_t i = 0; i < p.notices.count; ++i) PUSH(w, notices, p.notices.all[i].sentence);
  } else {
    while (next_piece(h, &p, &call, &from, w, &notices, &result)) {
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

static void print_item(const markup_item *item) {
  static const char *const boundaries[] = {"clause", "sentence", "paragraph", "end"};
  const source *run = &item->run;
  if (!item->style) {
    printf("[\"b\",\"%s\",", boundaries[item->ends]);
    printf(item->pause < 0 ? "null]" : "%.17g]", item->pause);
    return;
  }
  printf("[\"t\",");
  print_text(run->text);
  putchar(',');
  print_places(run->starts, run->text.size);
  putchar(',');
  print_places(run->ends, run->text.size);
  printf(",[");
  for (size_t i = 0; i < run->links.count; ++i) {
    const text_link *link = &run->links.all[i];
    printf(i ? ",[%zu,%zu," : "[%zu,%zu,", link->start, link->end);
    IS_NONE(link->phonemes) ? (void)printf("null") : print_text(link->phonemes);
    putchar(',');
    IS_NONE(link->alias) ? (void)printf("null") : print_text(link->alias);
    putchar(']');
  }
  printf("],%.17g,%.17g]", item->style->rate, item->style->pitch);
}

/* Print the items of a document of SSML, or the message of its failure. */
static void print_items(work *w, host *h, string text, size_t size) {
  scope call = {.message = w->s->message, .message_size = w->s->message_size};
  arena kept = {0};
  work parsing = WORK(&call, &kept);
  markup m = {0};
  markup_items items = {0};
  notice_list notices = {0};
  portions from = {text, size, 0};
  if (setjmp(call.failed)) {
    print_text(decode_utf8(w, call.message));
  } else {
    progress step;
    begin_markup(&m, SSML, (vocabulary){h, knows, language_of}, WORK(&call, &kept));
    m.noting = &parsing;
    m.notices = &notices;
    while ((step = next_items(&parsing, &m, &items)) != ENDS)
      if (step == WAITS) give_input(&m, &call, &from);
    putchar('[');
    for (size_t i = 0; i < items.count; ++i) {
      if (i) putchar(',');
      print_item(&items.all[i]);
    }
    putchar(']');
  }
  end_markup(&m);
  release(&kept);
  release(&call.scratch);
}

/* Return a random document of tags, references, brackets and characters. */
static string random_markup(work *w) {
  static const char *const fragments[] = {
      "<speak>", "</speak>", "<p>", "</p>", "<s>", "</s>", "<break/>", "<break time='1s'/>", "<break strength=\"weak\" />", "<sub alias='b c'>",
      "</sub>", "<phoneme ph='hə' >", "<phoneme alphabet='ipa' ph='təˈmeɪtoʊ'>", "</phoneme>", "<voice name='bf_emma'>",
      "<voice name='x'>", "</voice>", "<emphasis>", "<emphasis level='none'>", "</emphasis>", "<prosody rate='120%' pitch='-2st'>", "</prosody>",
      "<desc>", "</desc>", "<a b='c' b='d'>", "<:a\u00b7 x:y=\"&amp;&#10;\n\"/>", "<?xml version='1.0'?>", "<?pi ?>", "<? ?>", "<!-- a -->",
      "<!--", "-->", "<![CDATA[", "]]>", "]]", "<!DOCTYPE speak>", "&amp;", "&lt;", "&#x41;", "&#65;", "&#0;", "&x;", "&", "<", ">", "'", "\"", "=",
      "\r\n", "\r", "\n", "\t", " ", "[pause:0.5s]", "[pause:", "[rate:1.2]", "[rate:]", "[voice:bf_emma]", "[voice:]", "[a](/ˈa/)", "[b](+1)",
      "[c](#a#)", "[d](", "[e]", "]", "(", ")", "/", "word", "A sentence. ", "日本", "😀", "1. ", "\n\n# ", "é", "/>", "</"};
  static const int32_t planes[][2] = {{1, 0x7F}, {0x20, 0x7F}, {0xA0, 0x250}, {0x2000, 0x3100}, {0xD700, 0xE100}, {0xFF00, 0x10400}};
  builder text = {0};
  if (drawn(4)) put(w, &text, decode_utf8(w, fragments[0]));
  for (uint64_t parts = 1 + drawn(16); parts; --parts) {
    if (drawn(10) < 8) {
      string part = decode_utf8(w, fragments[drawn(sizeof fragments / sizeof *fragments)]);
      for (uint64_t times = drawn(50) ? 1 : 1 + drawn(100); times; --times) put(w, &text, part);
    } else {
      const int32_t *plane = planes[drawn(sizeof planes / sizeof *planes)];
      for (uint64_t count = 1 + drawn(4); count; --count)
        put_char(w, &text, plane[0] + (int32_t)drawn((uint64_t)(plane[1] - plane[0])));
    }
  }
  if (drawn(2)) put(w, &text, decode_utf8(w, fragments[1]));
  return BUILT(text);
}

/* Plan a text without printing; return the code of its failure, 0 for none. */
static int plan_quietly(host *h, string text, markup_form form, size_t size, char message[2048]) {
  planner p = plan_of(h);
  scope call = {.message = message, .message_size = 2048};
  portions from = {text, size, 0};
  piece result;
  if (setjmp(call.failed) == 0) {
    begin_plan(&p, &call, form, size % 16);
    while (next_piece(h, &p, &call, &from, NULL, NULL, &result)) {
      arena audio = {0};
      work w = WORK(&call, &audio);
      finished(&w, &result);
      release(&audio);
    }
  } else if (next_step(&p, &call, &result) != FINISHED) { /* after a failure, a plan has ended */
    abort();
  }
  end_plan(&p);
  release(&call.scratch);
  return call.code;
}

static void fuzz(host *h, const char *value) {
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
      notice_list notices = {0};
      for (size_t part = 0; part < parts.count; ++part) normalize(&w, parts.all[part], h->own, &notices);
    } else if ((code = plan_quietly(h, text, PLAIN, 0, message)) != 0) {
      ++refused;
      if (code != FAILURE_INPUT) printf("text %llu: %s\n", (unsigned long long)i, message);
    }
    release(&memory);
    release(&s.scratch);
  }
  printf("%llu", (unsigned long long)refused);
}

/* Return a checksum of the sentences of a text with markup; `message` gets the failure. */
static uint32_t parse_quietly(host *h, string text, markup_form form, size_t size, char message[2048]) {
  scope call = {.message = message, .message_size = 2048};
  arena kept = {0}, memory = {0};
  sections all = {0};
  styled_passage passage;
  volatile uint32_t sum = 1, noted = 1; /* noted: of notices, which may come before or after a sentence */
  portions from_text = {text, size, 0};
  *message = 0;
  if (setjmp(call.failed) == 0) {
    begin_sections(&all);
    begin_markup(&all.markup, form, (vocabulary){h, knows, language_of}, WORK(&call, &kept));
    for (;;) {
      work w = WORK(&call, &memory);
      notice_list notices = {0};
      all.markup.noting = &w;
      all.markup.notices = &notices;
      progress step = next_sentence(&w, &all, &passage);
      for (size_t i = 0; i < notices.count; ++i) noted = adler32(noted, notices.all[i].sentence.at, notices.all[i].sentence.size * sizeof(int32_t));
      if (step == ENDS) break;
      if (step == WAITS) {
        give_input(&all.markup, &call, &from_text);
      } else {
        const source *from = &passage.source;
        sum = adler32(sum, from->text.at, from->text.size * sizeof(int32_t));
        sum = adler32(sum, from->starts, from->text.size * sizeof(size_t));
        sum = adler32(sum, from->ends, from->text.size * sizeof(size_t));
        sum = adler32(sum, &passage.pause, sizeof passage.pause);
        sum = adler32(sum, &passage.joined, sizeof passage.joined);
        for (size_t i = 0; i < from->text.size; ++i) sum = adler32(sum, &passage.styles[i]->pitch, sizeof(double));
        for (size_t i = 0; i < from->links.count; ++i) {
          const text_link *link = &from->links.all[i];
          if (link->start >= link->end || link->end > from->text.size) abort();
          sum = adler32(sum, link->phonemes.at, link->phonemes.size * sizeof(int32_t));
          sum = adler32(sum, link->alias.at, link->alias.size * sizeof(int32_t));
        }
      }
      release(&memory);
    }
  }
  end_sections(&all);
  release(&memory);
  release(&kept);
  release(&call.scratch);
  return call.code ? (uint32_t)call.code : sum ^ noted;
}

/* Parse random documents, of which one in `every` is planned. The result depends on the text alone. */
static void fuzz_markup(host *h, const char *value) {
  char *behind;
  uint64_t refused = 0, count = strtoull(value, &behind, 10), every = strtoull(behind, NULL, 10);
  char message[2048], whole[2048];
  for (uint64_t i = 1; i <= count; ++i) {
    scope s = {.message = message, .message_size = sizeof message};
    arena memory = {0};
    work w = WORK(&s, &memory);
    state = i * 0x9E3779B97F4A7C15u;
    drawn(2);
    string text = random_markup(&w);
    markup_form form = drawn(3) ? UNDECIDED : drawn(2) ? SSML : BRACKETS;
    size_t size = 1 + drawn(20);
    uint32_t sum = parse_quietly(h, text, form, size, message);
    refused += *message != 0;
    if (*message && sum != FAILURE_INPUT) printf("document %llu: %s\n", (unsigned long long)i, message);
    if (parse_quietly(h, text, form, 0, whole) != sum || strcmp(message, whole)) {
      printf("document %llu depends on portions of %zu: %s / %s: ", (unsigned long long)i, size, message, whole);
      print_text(text);
      putchar('\n');
    }
    int code = i % every ? 0 : plan_quietly(h, text, form, size, message);
    if (code && code != FAILURE_INPUT) printf("document %llu: %s\n", (unsigned long long)i, message);
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
  static host h;
  h.division = USUAL_DIVISION;
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
  h.s = &s, h.file = &tensors, h.own = &r, h.code = *words[2];
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
      if (strncmp(line, "fuzz", 4) == 0) fuzz(&h, behind);
      if (strncmp(line, "find", 4) == 0) print_matches(&w, atoi(line + 5), text);
      if (strncmp(line, "normal", 6) == 0) print_normal(&w, &r, text);
      if (strncmp(line, "read", 4) == 0) print_reading(&w, &r, text);
      if (strncmp(line, "model", 5) == 0) read_model(&h.model, line);
      if (strncmp(line, "division", 8) == 0) read_division(&h.division, line + 9);
      if (strncmp(line, "plan", 4) == 0) print_plan(&w, &h, text, PLAIN, 0, 0);
      if (strncmp(line, "markup", 6) == 0) print_plan(&w, &h, text, UNDECIDED, strtoul(line + 7, NULL, 10), 0);
      if (strncmp(line, "omit", 4) == 0) print_plan(&w, &h, text, UNDECIDED, strtoul(line + 5, NULL, 10), 15);
      if (strncmp(line, "items", 5) == 0) print_items(&w, &h, text, strtoul(line + 6, NULL, 10));
      if (strncmp(line, "ssml", 4) == 0) fuzz_markup(&h, behind);
      if (strncmp(line, "steps", 5) == 0) {
        notice_list notices = {0};
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
