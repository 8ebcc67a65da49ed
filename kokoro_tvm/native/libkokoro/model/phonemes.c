/* Phonemes as the model's tokens, and as words and marks, as in kokoro_tvm/runtime/text/phonemes.py,
 * frontend/strings.py and planning.py for one utterance. */
#include "model.h"

#include <stdio.h>
#include <string.h>

#include "numbers.h"

int64_t id_of(const kokoro *k, int32_t c) {
  int64_t id = -1;
  for (int64_t i = 0; i < k->bundle->symbols; ++i)
    if (k->bundle->vocabulary[i].code_point == c) id = k->bundle->vocabulary[i].id;
  return id;
}

/* Return the phonemes with tabs and line breaks as spaces. */
static char *clean(scope *s, utterance *u, const char *phonemes) {
  char *text = take(s, &u->kept, strlen(phonemes) + 1, 1), *out = text;
  int spaces = 1;
  for (const char *at = phonemes; *at;) {
    const char *start = at;
    int32_t c = next_symbol(&at);
    if (c < 0)
      fail(s, KOKORO_INPUT, "The phonemes are no UTF-8: byte %td is no part of a character.", at - phonemes + 1);
    spaces = spaces && is_space(c);
    if (c < 9 || c > 13) {
      while (start < at) *out++ = *start++;
    } else if (start == phonemes || start[-1] < 9 || start[-1] > 13) { /* first of a run */
      *out++ = ' ';
    }
  }
  *out = 0;
  if (spaces) fail(s, KOKORO_INPUT, "There is nothing to speak: the phonemes are empty.");
  return text;
}

/* Note every unknown symbol once. Fail if the model knows none. */
static void note_unknown(scope *s, const kokoro *k, utterance *u, const char *text) {
  const char *listed = "";
  int known = 0;
  for (const char *at = text; *at;) {
    const char *start = at;
    int32_t c = next_symbol(&at);
    if (is_space(c)) continue;
    if (id_of(k, c) >= 0) {
      known = 1;
      continue;
    }
    char element[32];
    snprintf(element, sizeof element, "'%.*s' (U+%04X)", (int)(at - start), start, (unsigned)c);
    if (!strstr(listed, element) && strlen(listed) < 1000)
      listed = format(s, &s->scratch, "%s%s%s", listed, *listed ? ", " : "", element);
  }
  if (!known)
    fail(s, KOKORO_INPUT, "There is nothing to speak: the model knows none of the phonemes (%s).", listed);
  u->speech.notice = *listed ? format(s, &u->kept, "Left out, because the model does not know them: %s.", listed) : "";
}

int64_t read_phonemes(scope *s, const kokoro *k, utterance *u, const char *phonemes) {
  const char *text = clean(s, u, phonemes);
  size_t most = strlen(text) + 2;
  int64_t symbols = 0, count = 0, words = 0;
  note_unknown(s, k, u, text);
  u->tokens = take(s, &u->kept, most, sizeof *u->tokens);
  u->words = take(s, &u->kept, most, sizeof *u->words);
  u->measures = take(s, &u->kept, most, sizeof *u->measures);
  char *copy = take(s, &u->kept, 2 * most, 1); /* of each word, with a NUL */
  u->tokens[count++] = 0;
  enum { BEGIN, SPACE, MARK, SOUND } kind = BEGIN;
  for (const char *at = text; *at; ++symbols) {
    const char *start = at;
    int32_t c = next_symbol(&at);
    int64_t id = id_of(k, c);
    if (is_space(c)) { /* a space belongs to the word before it, at the beginning to a word without phonemes */
      if (kind == BEGIN) u->measures[words].rate = 1, u->words[words++].text = ++copy;
      kind = SPACE;
      u->measures[words - 1].spaces += id >= 0;
    } else {
      if (kind != (is_one_of(c, MARKS) ? MARK : SOUND)) u->measures[words].rate = 1, u->words[words++].text = ++copy;
      kind = is_one_of(c, MARKS) ? MARK : SOUND;
      while (start < at) *copy++ = *start++;
      u->measures[words - 1].symbols += id >= 0;
      if (id >= 0 && is_alpha(c)) u->measures[words - 1].spoken = 1;
    }
    if (id >= 0) u->tokens[count++] = id;
  }
  u->tokens[count++] = 0;
  u->token_count = u->speech.token_count = (size_t)count;
  u->speech.words = u->words;
  u->word_count = u->speech.word_count = (size_t)words;
  return symbols;
}

void read_tokens(scope *s, const kokoro *k, utterance *u, const int64_t *tokens, size_t count) {
  if (!tokens || !count) fail(s, KOKORO_INPUT, "There is nothing to speak: there are neither phonemes nor tokens.");
  u->tokens = take(s, &u->kept, count, sizeof *u->tokens);
  for (size_t i = 0; i < count; ++i) {
    if (tokens[i] < 0 || tokens[i] > k->bundle->highest_id)
      fail(s, KOKORO_INPUT, "The tokens should lie within 0..%lld, but number %zu is %lld.",
           (long long)k->bundle->highest_id, i, (long long)tokens[i]);
    u->tokens[i] = tokens[i];
  }
  u->token_count = u->speech.token_count = count;
}
