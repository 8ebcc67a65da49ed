/* Read texts and words with libkokoro's English: one per line, with hexadecimal code points after the last colon:
 *
 *   english FRONT_END CODE < lines   text:TEXT, word:TAG:VOWEL:TO:STRESS:TEXT, letters:TEXT, inflate:BYTES
 *
 * VOWEL is -1 to 1 and STRESS a number as in lexicon.h. It prints a line for each: fields end with a unit separator,
 * tokens with a record separator, the line with a group separator; "-" for no phonemes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "text/english.h"
#include "text/file.h"
#include "text/inflate.h"
#include "text/joint_ngrams.h"
#include "text/lexicon.h"

enum { UNIT = 0x1F, RECORD = 0x1E, LINE = 0x1D };

static void print_field(work *w, string text) {
  fputs(IS_NONE(text) ? "-" : encode_utf8(w, text), stdout);
  putchar(UNIT);
}

static string text_of_line(work *w, const char *line) {
  builder text = {0};
  char *end;
  for (; *line && *line != '\n'; line = *end == ' ' ? end + 1 : end) {
    put_char(w, &text, (int32_t)strtol(line, &end, 16));
    if (end == line) break;
  }
  return BUILT(text);
}

static void print_tokens(work *w, const english *e, string text) {
  size_t *places = room(w, 2 * text.size + 1, sizeof *places);
  for (size_t i = 0; i < text.size; ++i) places[i] = i, places[text.size + i] = i + 1;
  source from = {.text = text, .starts = places, .ends = places + text.size};
  tokens result = read_english(w, e, &from);
  for (size_t i = 0; i < result.count; ++i) {
    const token *t = &result.all[i];
    print_field(w, some(t->text));
    printf("%zu%c%zu%c", t->start, UNIT, t->end, UNIT);
    print_field(w, some(t->phonemes));
    print_field(w, some(t->space));
    print_field(w, t->tag);
    printf("%d%c", t->origin, RECORD);
  }
}

/* Unpack bytes whose expected number comes first. */
static void print_inflated(work *w, string text) {
  size_t size = text.size ? (size_t)text.at[0] : 0;
  uint8_t *packed = malloc(text.size + !text.size), *plain = malloc(size + !size);
  if (!packed || !plain) fail_memory(w->s);
  for (size_t i = 1; i < text.size; ++i) packed[i - 1] = (uint8_t)text.at[i];
  size_t result = inflate(packed, text.size - 1, plain, size);
  printf("%td:", (ptrdiff_t)result);
  for (size_t i = 0; result == size && i < size; ++i) printf("%02x", plain[i]);
  free(packed);
  free(plain);
}

static void answer(work *w, const english *e, lexicon *l, const char *line) {
  const char *last = strrchr(line, ':');
  char tag[16];
  int vowel, to, expected, origin = FROM_NOTHING;
  if (!last) return;
  string text = text_of_line(w, last + 1);
  if (!strncmp(line, "text:", 5)) print_tokens(w, e, text);
  if (!strncmp(line, "inflate:", 8)) print_inflated(w, text);
  if (!strncmp(line, "letters:", 8)) {
    print_field(w, guess(w, l, text, &origin));
    printf("%d", origin);
  }
  if (sscanf(line, "word:%15[^:]:%d:%d:%d:", tag, &vowel, &to, &expected) == 4)
    print_field(w, read_word(w, l, text, decode_utf8(w, tag), (context){vowel, to}, (stress)expected));
}

int main(int count, char **words) {
  scope s = {0};
  arena kept = {0}, memory = {0};
  char message[2048];
  static char line[1 << 22];
  if (count != 3) return 2;
  s.message = message;
  s.message_size = sizeof message;
  s.kept = &kept;
  if (setjmp(s.failed)) return puts(message), 1;
  os_status status;
  file from = {.path = words[1], .descriptor = os_open(words[1])};
  os_status_of(from.descriptor, &status);
  from.size = status.size;
  tensors all = map_tensors(&s, &from);
  int british = *words[2] == 'b';
  const english *e = open_english(&s, &all, british);
  dictionary gold = open_dictionary(&s, &all, british ? "lexicon.gb.gold" : "lexicon.us.gold");
  dictionary silver = open_dictionary(&s, &all, british ? "lexicon.gb.silver" : "lexicon.us.silver");
  dictionary names = open_dictionary(&s, &all, british ? "lexicon.gb.names" : "lexicon.us.names");
  joint_ngrams letters = open_joint_ngrams(&s, &all, british);
  work lasting = WORK(&s, &kept);
  lexicon l = {use_dictionary(&lasting, &gold), use_dictionary(&lasting, &silver), use_dictionary(&lasting, &names),
               &letters, british};
  while (fgets(line, sizeof line, stdin)) {
    work w = WORK(&s, &memory);
    answer(&w, e, &l, line);
    printf("%c\n", LINE); /* tokens may contain line ends */
    release(&memory);
  }
  release(&s.scratch);
  release(&kept);
  return 0;
}
