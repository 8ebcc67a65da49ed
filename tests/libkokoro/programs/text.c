/* What the front end of libkokoro makes of texts, one a line: a command and a text as hexadecimal code points. It prints a
 * line of JSON for each.
 *
 *   text FRONT_END CODE < lines   commands: find:N:TEXT (expression N), normal:TEXT, read:TEXT, passages:TEXT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "patterns.h"
#include "text/front_end.h"
#include "text/markup.h"

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

static void print_texts(const strings *all) {
  putchar('[');
  for (size_t i = 0; i < all->count; ++i) {
    if (i) putchar(',');
    print_text(all->all[i]);
  }
  putchar(']');
}

static void print_matches(work *w, int number, string text) {
  match found = FIRST_MATCH;
  putchar('[');
  for (int first = 1; next_match(w, &PATTERNS[number], text, &found); first = 0) {
    printf(first ? "[" : ",[");
    for (int i = 0; i < PATTERNS[number].code[0]; ++i)
      printf(i ? ",%td,%td" : "%td,%td", (ptrdiff_t)found.groups[i].start, (ptrdiff_t)found.groups[i].end);
    putchar(']');
  }
  putchar(']');
}

static void print_normal(work *w, const reader *r, string text) {
  source whole = source_of(w, text);
  strings notices = {0};
  normalized made = normalize(w, whole, r->forms, &notices);
  printf("[");
  print_text(made.source.text);
  putchar(',');
  print_places(made.source.starts, made.source.text.size);
  putchar(',');
  print_places(made.source.ends, made.source.text.size);
  putchar(',');
  print_texts(&notices);
  printf("]");
}

static void print_reading(work *w, const reader *r, string text) {
  static const char *const origins[] = {"", "lexicon", "letters", "spelled", "mark"};
  source whole = source_of(w, text);
  strings notices = {0};
  utterances made = read_text(w, r, &whole, &notices);
  printf("[[");
  for (size_t i = 0; i < made.count; ++i) {
    printf(i ? ",[" : "[");
    for (size_t j = 0; j < made.all[i].count; ++j) {
      const token *t = &made.all[i].all[j];
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
  print_texts(&notices);
  printf("]");
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
  kokoro_error error;
  reader r = {0};
  static char line[1 << 22];
  if (count < 3) return 2;
  s.error = &error;
  s.kept = &kept;
  if (setjmp(s.failed)) return printf("failed: %s\n", error.text), 1;
  os_status status;
  file from = {.path = words[1], .descriptor = os_open(words[1])};
  os_status_of(from.descriptor, &status);
  from.size = status.size;
  tensors tensors = map_tensors(&s, &from);
  r.forms = open_language(&s, &tensors, count > 3 ? words[3] : "en", *words[2]);
  r.english = open_english(&s, &tensors, *words[2] == 'b');
  while (fgets(line, sizeof line, stdin)) {
    scope call = {0};
    arena memory = {0};
    work w = WORK(&call, &memory);
    call.error = &error;
    if (setjmp(call.failed)) {
      printf("{\"error\": \"%s\"}\n", error.text);
    } else {
      const char *behind = strrchr(line, ':') + 1;
      string text = read_line(&w, behind);
      if (strncmp(line, "find", 4) == 0) print_matches(&w, atoi(line + 5), text);
      if (strncmp(line, "normal", 6) == 0) print_normal(&w, &r, text);
      if (strncmp(line, "read", 4) == 0) print_reading(&w, &r, text);
      if (strncmp(line, "steps", 5) == 0) {
        strings notices = {0};
        source whole = source_of(&w, text);
        normalize(&w, whole, r.forms, &notices);
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
