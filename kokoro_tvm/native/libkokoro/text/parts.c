/* Cutting and grouping follow misaki (hexgrad, Apache-2.0; misaki/en.py). */
#include "parts.h"

#include <stdlib.h>

#include "patterns.h"

enum { LONGEST_ONSET = 3 };

int is_pause(int32_t c) { return is_one_of(c, ";:,.!?—…"); }
int is_joint(int32_t c) { return is_one_of(c, "',-._‘’/"); }

int all_joints(string text) {
  for (size_t i = 0; i < text.size; ++i)
    if (!is_joint(text.at[i])) return 0;
  return 1;
}

void settle_part(part *p, string phonemes, int origin) {
  p->phonemes = some(phonemes);
  p->origin = origin;
}

/* Return the class of a character as subtokens.py writes it. */
static int32_t class_of(int32_t c) {
  switch (c) {
  case '-': case '_': case '.': case ',': case '\'': return c;
  case 0x2018: case 0x2019: return '\'';
  default: break;
  }
  switch (category(c)) {
  case CATEGORY('L', 'u'): return 'U';
  case CATEGORY('L', 'l'): return 'l';
  case CATEGORY('L', 't'): case CATEGORY('L', 'm'): case CATEGORY('L', 'o'): return 'o';
  case CATEGORY('N', 'd'): return '9';
  default: return 'x';
  }
}

/* Cut a token at capitals, digits, hyphens and apostrophes (subtokens.py). */
static void cut(work *w, const part *token, part_list *into) {
  builder classes = {0};
  match candidate = FIRST_MATCH;
  size_t first = into->count;
  for (size_t i = 0; i < token->text.size; ++i) put_char(w, &classes, class_of(token->text.at[i]));
  while (next_match(w, &PATTERNS[SUBTOKENS_PARTS], BUILT(classes), &candidate)) {
    part result = {.text = slice(token->text, candidate.start, candidate.end), .tag = token->tag, .large = token->large};
    result.stress = token->stress;
    result.stuttered = token->stuttered;
    result.start = token->start + candidate.start;
    result.end = token->start + candidate.end;
    PUSH(w, *into, result);
  }
  if (into->count == first + 1) into->all[first].reading = token->reading;
  if (into->count > first) into->all[into->count - 1].space = token->space;
}

static int is_mark_tag(string tag) {
  static const char *const tags[] = {".", ",", "-LRB-", "-RRB-", "``", "\"\"", "''", ":", "$", "#", "NFP"};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i)
    if (is_ascii_text(tag, tags[i])) return 1;
  return 0;
}

/* Return the spoken form of a mark; some tags always have the same. */
static string mark_of(work *w, const part *p) {
  static const char *const by_tag[][2] = {{"-LRB-", "("}, {"-RRB-", ")"}, {"``", "“"}, {"\"\"", "”"}, {"''", "”"}};
  builder marks = {0};
  for (size_t i = 0; i < sizeof by_tag / sizeof *by_tag; ++i)
    if (is_ascii_text(p->tag, by_tag[i][0])) return decode_utf8(w, by_tag[i][1]);
  for (size_t i = 0; i < p->text.size; ++i)
    if (is_pause(p->text.at[i]) || is_one_of(p->text.at[i], "\"“”")) put_char(w, &marks, p->text.at[i]);
  return BUILT(marks);
}

static int is_apostrophe_or_hyphen(int32_t c) { return c == '-' || c == '\'' || c == 0x2019; }

static int is_onset(string letters) { /* of one syllable, or one letter */
  if (letters.size == 1) return 1;
  for (size_t i = 0; i < letters.size; ++i)
    if (is_one_of(letters.at[i], "aeiou")) return 0;
  return 1;
}

static int has_no_lower(work *w, string text) { return is_same(text, upper(w, text)) && !is_same(text, lower(w, text)); }

void mark_stutters(work *w, part_list *all) {
  static const char *const lettered[] = {"t-test", "t-tests", "t-table", "e-edition", "e-editions", "s-shaped", "b-boy", "b-boys"};
  part *parts = all->all;
  for (size_t start = 0; start < all->count; ++start) {
    string before = start && !parts[start - 1].space ? parts[start - 1].text : NONE;
    int32_t last = before.size ? before.at[before.size - 1] : ' ';
    if (is_alnum(last) || is_apostrophe_or_hyphen(last) || parts[start].text.size > LONGEST_ONSET + 1) continue;
    string letters = lower(w, parts[start].text);
    size_t end = start;
    while (all_alpha(letters) && letters.size <= LONGEST_ONSET && end + 2 < all->count &&
           is_same(lower(w, parts[end].text), letters) && is_ascii_text(parts[end + 1].text, "-") && IS_NONE(parts[end].phonemes) &&
           IS_NONE(parts[end + 1].phonemes) && !parts[end].space && !parts[end + 1].space)
      end += 2;
    if (end == start) continue;
    const part *word = &parts[end];
    string small = lower(w, word->text), whole = join(w, join(w, letters, decode_utf8(w, "-")), small);
    int named = end == start + 2 && has_no_lower(w, parts[start].text) && has_no_lower(w, slice(word->text, 0, 1));
    int longer = small.size > letters.size && starts_with(small, letters) && is_alpha(small.at[letters.size]);
    int known = !is_onset(letters) || !longer || named;
    for (size_t i = 0; i < sizeof lettered / sizeof *lettered; ++i) known = known || is_ascii_text(whole, lettered[i]);
    for (size_t i = start; i < end && !known && IS_NONE(word->phonemes); i += 2) {
      parts[i].stuttered = parts[i].space = 1;
      settle_part(&parts[i + 1], (string){0}, FROM_MARK);
    }
  }
}

string find_onset(work *w, string phonemes) {
  builder out = {0};
  for (size_t i = 0; i < phonemes.size; ++i) {
    int32_t symbol = phonemes.at[i];
    if (is_vowel(symbol) && !out.count) put_char(w, &out, symbol);
    if (is_vowel(symbol)) return out.count == 1 && is_vowel(out.all[0]) ? BUILT(out) : (put_char(w, &out, 0x259), BUILT(out));
    if (is_consonant(symbol)) put_char(w, &out, symbol);
  }
  if (out.count) put_char(w, &out, 0x259);
  return BUILT(out);
}

word_list group_parts(work *w, const part_list *all) {
  part_list parts = {0};
  word_list words = {0};
  int growing = 0; /* whether the last word may take another part */
  for (size_t i = 0; i < all->count; ++i)
    if (IS_NONE(all->all[i].phonemes)) cut(w, &all->all[i], &parts);
    else PUSH(w, parts, all->all[i]);
  for (size_t i = 0; i < parts.count; ++i) {
    part *p = &parts.all[i];
    if (!IS_NONE(p->phonemes)) growing = 0; /* from a link */
    else if (is_ascii_text(p->tag, ":") && p->text.size == 1 && is_one_of(p->text.at[0], "-–"))
      settle_part(p, decode_utf8(w, "—"), FROM_MARK);
    else if (is_mark_tag(p->tag) && !any_alnum(p->text))
      settle_part(p, mark_of(w, p), FROM_MARK);
    int open = IS_NONE(p->phonemes);
    if (open && growing && !p[-1].space) {
      ++words.all[words.count - 1].count;
    } else {
      PUSH(w, words, (word){p, 1});
      growing = open && !p->space;
    }
  }
  return words;
}

static int is_small(work *w, string c) { return *c.at < 0x80 ? *c.at < 'A' || *c.at > 'Z' : is_same(c, lower(w, c)); }

/* Return the origin of a word's phonemes: a guess if a part is guessed, else that of its first sound. */
static int origin_of(const part *parts, size_t count) {
  int first = -1, sound = -1;
  for (size_t i = 0; i < count; ++i) {
    const part *p = &parts[i];
    int empty = !IS_NONE(p->phonemes) && !p->phonemes.size, origin = p->origin;
    if (empty && origin == FROM_NOTHING) continue;
    if (origin == FROM_NAMES || origin == FROM_LETTERS || origin == FROM_SPELLED || origin == FROM_NOTHING)
      return origin;
    if (first < 0) first = origin;
    if (sound < 0 && p->phonemes.size) sound = origin;
  }
  return sound >= 0 ? sound : first >= 0 ? first : FROM_NOTHING;
}

part join_parts(work *w, const part *parts, size_t count) {
  const part *last = &parts[count - 1];
  if (count == 1) return *parts;
  part result = {.start = parts->start, .end = last->end, .space = last->space, .apart = parts->apart, .large = 1};
  int several = 0; /* more than one stress */
  builder text = {0}, phonemes = {0};
  size_t heaviest = 0;
  int known = 0;
  for (size_t i = 0; i < count; ++i) {
    const part *p = &parts[i];
    size_t letters = 0;
    put(w, &text, p->text);
    if (i + 1 < count && p->space) put_char(w, &text, ' ');
    for (size_t c = 0; c < p->text.size; ++c) letters += is_small(w, slice(p->text, c, c + 1)) ? 1 : 2;
    if (letters > heaviest || !i) result.tag = p->tag, heaviest = letters;
    result.large = result.large && p->large;
    several = several || (p->stress != AS_IT_IS && result.stress != AS_IT_IS && p->stress != result.stress);
    if (p->stress != AS_IT_IS) result.stress = p->stress;
    if (IS_NONE(p->phonemes)) continue;
    known = 1;
    if (p->apart && phonemes.count && p->phonemes.size && !is_space(phonemes.all[phonemes.count - 1]))
      put_char(w, &phonemes, ' ');
    put(w, &phonemes, p->phonemes);
  }
  if (several) result.stress = AS_IT_IS;
  result.text = BUILT(text);
  result.phonemes = known ? some(BUILT(phonemes)) : NONE;
  result.origin = origin_of(parts, count);
  return result;
}

/* A part's weight in the word's sound. */
typedef struct sound {
  size_t stressed, weight, index;
} sound;

static int weaker_first(const void *a, const void *b) {
  const sound *left = a, *right = b;
  if (left->stressed != right->stressed) return left->stressed < right->stressed ? -1 : 1;
  if (left->weight != right->weight) return left->weight < right->weight ? -1 : 1;
  return left->index < right->index ? -1 : left->index > right->index;
}

/* Return whether parts are spoken with spaces between them, because their kinds of characters differ. */
static int are_apart(const word *done) {
  int kinds = 0;
  for (size_t i = 0; i < done->count; ++i) {
    const part *p = &done->parts[i];
    if (p->space && i + 1 < done->count) return 1;
    for (size_t c = 0; c < p->text.size; ++c) {
      int32_t element = p->text.at[c];
      if (element == '/' || element == ' ') return 1;
      if (!is_joint(element)) kinds |= is_alpha(element) ? 1 : element >= '0' && element <= '9' ? 2 : 4;
    }
  }
  return (kinds & (kinds - 1)) != 0;
}

void settle_word(work *w, word *done) {
  int apart = are_apart(done);
  LIST(sound) sounds = {0};
  size_t stressed = 0, weaker = 0;
  for (size_t i = 0; i < done->count; ++i) {
    part *p = &done->parts[i];
    if (!IS_NONE(p->phonemes))
      p->apart = apart && i > 0;
    else if (i + 1 == done->count && p->text.size == 1 && is_pause(p->text.at[0]))
      settle_part(p, p->text, FROM_MARK);
    else if (all_joints(p->text))
      settle_part(p, (string){0}, FROM_MARK);
    if (!p->phonemes.size) continue;
    sound result = {(size_t)contains(p->phonemes, PRIMARY), weight_of(p->phonemes), i};
    stressed += result.stressed;
    PUSH(w, sounds, result);
  }
  if (apart || sounds.count < 2) return;
  if (sounds.count == 2 && done->parts[sounds.all[0].index].text.size == 1) {
    sounds.all[0] = sounds.all[1];
    weaker = 1;
  } else if (stressed > (sounds.count + 1) / 2) {
    qsort(sounds.all, sounds.count, sizeof(sound), weaker_first);
    weaker = sounds.count / 2;
  }
  for (size_t i = 0; i < weaker; ++i) {
    part *p = &done->parts[sounds.all[i].index];
    p->phonemes = restress(w, p->phonemes, WEAKER);
  }
}
