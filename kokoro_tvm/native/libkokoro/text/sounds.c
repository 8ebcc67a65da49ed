#include "sounds.h"

#include <stdlib.h>
#include "patterns.h"

enum { EDGE = '#', APOSTROPHE = '\'' };

/* A class of characters, negated or not, and how often it matches (sounds.py). */
typedef struct sound_item {
  string chars;
  int among;
  size_t least, most;
} sound_item;

typedef struct sound_items {
  sound_item *all;
  size_t count;
} sound_items;

typedef struct sound_rule {
  sound_items focus, left, right; /* left: outwards from the focus */
  string replacement;             /* "&" stands for the match */
} sound_rule;

/* A rule by the first character of its focus. */
typedef struct beginning {
  int32_t c;
  size_t rule;
} beginning;

/* A pass over a string, see Pass of sounds.py. */
typedef struct pass {
  sound_rule *rules;
  beginning *beginnings; /* in order */
  size_t rule_count, beginning_count;
  string unless;
  int feeding;
} pass;

typedef struct passes {
  pass *all;
  size_t count;
} passes;

struct sounds {
  string letters;
  pairs replacements, tags, words;
  passes passes, clauses;
};

static NORETURN void damaged(work *w) {
  fail(w->s, FAILURE_BUNDLE, "The bundle's rules of sounds are damaged. Build the bundle again.");
}

/* Return the value of a key, or "". */
static string value_in(const pairs *all, string key) {
  const string *result = value_of(all, key);
  return result ? *result : (string){0};
}

/* Return the next value of a list, of a kind. Fails. */
static const json *next_of(work *w, const json **at, kind expected) {
  const json *result = *at;
  if (!result || result->kind != expected) damaged(w);
  *at = result->next;
  return result;
}

static sound_items read_items(work *w, const json *list) {
  sound_items result = {room(w, (size_t)list->count, sizeof *result.all), 0};
  for (const json *element = list->first; element;) {
    const json *at = next_of(w, &element, LIST)->first;
    sound_item *item = &result.all[result.count++];
    item->chars = decode_utf8(w, next_of(w, &at, TEXT)->text);
    item->among = next_of(w, &at, BOOLEAN)->whole != 0;
    item->least = (size_t)next_of(w, &at, WHOLE)->whole;
    item->most = (size_t)next_of(w, &at, WHOLE)->whole;
  }
  return result;
}

static int by_character(const void *a, const void *b) {
  const beginning *left = a, *right = b;
  if (left->c != right->c) return left->c < right->c ? -1 : 1;
  return left->rule < right->rule ? -1 : left->rule > right->rule;
}

static pass read_pass(scope *s, work *w, const json *data) {
  const json *rules = get(s, data, "rules", LIST);
  pass result = {.unless = decode_utf8(w, get_text(s, data, "unless")), .feeding = get(s, data, "feeding", BOOLEAN)->whole != 0};
  LIST(beginning) beginnings = {0};
  result.rules = room(w, (size_t)rules->count, sizeof *result.rules);
  for (const json *element = rules->first; element; ++result.rule_count) {
    const json *at = next_of(w, &element, LIST)->first;
    sound_rule *rule = &result.rules[result.rule_count];
    rule->focus = read_items(w, next_of(w, &at, LIST));
    rule->replacement = decode_utf8(w, next_of(w, &at, TEXT)->text);
    rule->left = read_items(w, next_of(w, &at, LIST));
    rule->right = read_items(w, next_of(w, &at, LIST));
    if (!rule->focus.count) damaged(w);
    string chars = rule->focus.all[0].chars;
    for (size_t i = 0; i < chars.size; ++i) PUSH(w, beginnings, (beginning){chars.at[i], result.rule_count});
  }
  if (beginnings.count) qsort(beginnings.all, beginnings.count, sizeof *beginnings.all, by_character);
  result.beginnings = beginnings.all;
  result.beginning_count = beginnings.count;
  return result;
}

static passes read_passes(scope *s, work *w, const json *list) {
  passes result = {room(w, (size_t)list->count, sizeof *result.all), 0};
  for (const json *element = list->first; element; element = element->next) result.all[result.count++] = read_pass(s, w, element);
  return result;
}

const sounds *open_sounds(scope *s, const tensors *file, const char *name) {
  const char *full = format(s, &s->scratch, "sounds.%s", name);
  if (!find_tensor(file, full)) return NULL;
  const json *data = unpack_json(s, get_tensor(s, file, full, "U8", 1));
  work w = WORK(s, s->kept);
  sounds *result = room(&w, 1, sizeof *result);
  result->letters = decode_utf8(&w, get_text(s, data, "letters"));
  result->replacements = read_pairs(&w, get(s, data, "replacements", OBJECT));
  result->tags = read_pairs(&w, get(s, data, "tags", OBJECT));
  result->words = read_pairs(&w, get(s, data, "words", OBJECT));
  result->passes = read_passes(s, &w, get(s, data, "passes", LIST));
  result->clauses = read_passes(s, &w, get(s, data, "clauses", LIST));
  return result;
}

/* Match items greedily from a place in the direction of `step`. */
static int fits(const sound_items *items, string text, int64_t place, int step) {
  for (size_t i = 0; i < items->count; ++i) {
    const sound_item *item = &items->all[i];
    size_t result = 0;
    for (; result < item->most && place >= 0 && (size_t)place < text.size; ++result, place += step)
      if (contains(item->chars, text.at[place]) != item->among) break;
    if (result < item->least) return 0;
  }
  return 1;
}

/* Return the first matching rule at a place, or NULL. before: the text to the left. */
static const sound_rule *rule_at(const pass *p, string text, size_t place, string before) {
  size_t low = 0, high = p->beginning_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (p->beginnings[middle].c < text.at[place]) low = middle + 1;
    else high = middle;
  }
  for (; low < p->beginning_count && p->beginnings[low].c == text.at[place]; ++low) {
    const sound_rule *rule = &p->rules[p->beginnings[low].rule];
    if (fits(&rule->focus, text, (int64_t)place, 1) &&
        fits(&rule->right, text, (int64_t)(place + rule->focus.count), 1) &&
        fits(&rule->left, before, (int64_t)before.size - 1, -1))
      return rule;
  }
  return NULL;
}

static string rewritten(work *w, const passes *all, string text) {
  for (size_t i = 0; i < all->count; ++i) {
    const pass *p = &all->all[i];
    builder out = {0};
    int left_out = 0;
    for (size_t c = 0; c < p->unless.size && !left_out; ++c) left_out = contains(text, p->unless.at[c]);
    if (left_out) continue;
    for (size_t place = 0; place < text.size;) {
      const sound_rule *rule = rule_at(p, text, place, p->feeding ? BUILT(out) : slice(text, 0, place));
      if (!rule) {
        put_char(w, &out, text.at[place++]);
        continue;
      }
      size_t end = place + rule->focus.count;
      for (size_t c = 0; c < rule->replacement.size; ++c)
        if (rule->replacement.at[c] == '&') put(w, &out, slice(text, place, end));
        else put_char(w, &out, rule->replacement.at[c]);
      place = end;
    }
    text = BUILT(out);
  }
  return text;
}

/* Return a word's lower-case letters of the language, with others replaced. */
static string normalize_spelling(work *w, const sounds *of, string word) {
  builder result = {0};
  string small = lower(w, word);
  for (size_t i = 0; i < small.size; ++i)
    if (contains(of->letters, small.at[i])) put_char(w, &result, small.at[i]);
    else put(w, &result, value_in(&of->replacements, slice(small, i, i + 1)));
  return BUILT(result);
}

/* Return the sound of a single word. */
static string sound_of(work *w, const sounds *of, string written) {
  string letters = normalize_spelling(w, of, written);
  size_t clitic = letters.size;
  while (clitic && letters.at[clitic - 1] != APOSTROPHE) --clitic;
  string word = slice(letters, clitic, letters.size);
  const string *other = value_of(&of->words, word);
  if (!word.size && clitic < 2) return (string){0};
  builder line = {0};
  put_char(w, &line, EDGE);
  put(w, &line, value_in(&of->tags, word));
  put(w, &line, slice(letters, 0, clitic));
  put(w, &line, other ? *other : word);
  put_char(w, &line, EDGE);
  string text = rewritten(w, &of->passes, BUILT(line));
  while (text.size && *text.at == EDGE) text = slice(text, 1, text.size);
  while (text.size && text.at[text.size - 1] == EDGE) --text.size;
  builder result = {0};
  for (size_t i = 0; i < text.size; ++i)
    if (text.at[i] != APOSTROPHE) put_char(w, &result, text.at[i]);
  return BUILT(result);
}

/* Return whether a word has a letter of the language. */
static int has_letters(work *w, const sounds *of, string written) {
  string letters = normalize_spelling(w, of, written);
  for (size_t i = 0; i < letters.size; ++i)
    if (letters.at[i] != APOSTROPHE) return 1;
  return 0;
}

static int32_t spoken_mark(int32_t c) {
  switch (c) {
  case 0x964: case 0x965: return '.'; /* Devanagari's dandas */
  case 0xAB: return 0x201C;
  case 0xBB: return 0x201D;
  default: return c;
  }
}

/* Return one mark for a text of marks and signs. */
static token marks_of(work *w, string text) {
  builder marks = {0};
  for (size_t i = 0; i < text.size; ++i)
    if (is_one_of(text.at[i], ";:,.!?—…\"()“”«»¡¿")) put_char(w, &marks, text.at[i]);
  return (token){.text = text, .phonemes = BUILT(marks), .end = text.size, .origin = FROM_MARK};
}

static tokens tokens_of(work *w, const sounds *of, string text) {
  tokens result = {0};
  builder line = {0};
  match candidate = FIRST_MATCH;
  static const int32_t space[] = {' '};
  put_char(w, &line, EDGE);
  while (next_match(w, &PATTERNS[SOUNDS_PART], text, &candidate)) {
    token element = {.text = slice(text, candidate.start, candidate.end), .start = candidate.start, .end = candidate.end};
    element.origin = has_group(&candidate, SOUNDS_PART_MARK) ? FROM_MARK : FROM_RULES;
    put_char(w, &line, EDGE);
    if (element.origin == FROM_MARK) put_char(w, &line, spoken_mark(*element.text.at));
    else put(w, &line, sound_of(w, of, element.text));
    match ignored;
    if (element.origin == FROM_RULES && match_at(w, &PATTERNS[SOUNDS_LATIN], element.text, 0, &ignored) &&
        !has_letters(w, of, element.text))
      element.origin = FROM_LATIN;
    if (result.count && result.all[result.count - 1].end < element.start) result.all[result.count - 1].space = (string){space, 1};
    PUSH(w, result, element);
  }
  put_char(w, &line, EDGE);
  put_char(w, &line, EDGE);
  string spoken = rewritten(w, &of->clauses, BUILT(line));
  spoken = slice(spoken, 2, spoken.size < 2 ? 0 : spoken.size - 2);
  size_t part = 0, start = 0;
  for (size_t i = 0; result.count && i <= spoken.size; ++i) {
    if (i < spoken.size && spoken.at[i] != EDGE) continue;
    if (part < result.count && result.all[part].origin == FROM_LATIN) result.all[part].phonemes = result.all[part].text;
    else if (part < result.count) result.all[part].phonemes = slice(spoken, start, i);
    start = i + 1;
    ++part;
  }
  if (part != result.count) fail(w->s, FAILURE_BUNDLE, "The bundle's rules of sounds lose words. Build the bundle again.");
  return result;
}

/* Read the words of a stretch of text, or the phonemes of its link. */
static void read_stretch(work *w, const sounds *of, const source *from, span all, const text_link *value, tokens *result) {
  string text = from->text;
  size_t first = all.start, last = all.end, begin = result->count;
  static const int32_t space[] = {' '};
  while (first < last && is_space(text.at[first])) ++first;
  while (last > first && is_space(text.at[last - 1])) --last;
  if (first == last) return;
  string stretch = slice(text, first, last);
  if (value) {
    PUSH(w, *result, (token){.text = stretch, .phonemes = value->phonemes, .end = stretch.size, .origin = FROM_GIVEN});
  } else if (any_alnum(stretch)) {
    tokens words = tokens_of(w, of, stretch);
    for (size_t i = 0; i < words.count; ++i) PUSH(w, *result, words.all[i]);
  } else {
    PUSH(w, *result, marks_of(w, stretch));
  }
  for (size_t i = begin; i < result->count; ++i) {
    token *element = &result->all[i];
    if (i + 1 == result->count) element->space = (string){space, last < text.size && is_space(text.at[last])};
    span_of(from, first + element->start, first + element->end, &element->start, &element->end);
  }
}

tokens read_sounds(work *w, const sounds *of, const source *from) {
  tokens result = {0};
  size_t done = 0;
  for (size_t i = 0; i < from->links.count; ++i) {
    const text_link *element = &from->links.all[i];
    if (IS_NONE(element->phonemes)) continue;
    read_stretch(w, of, from, (span){done, element->start}, NULL, &result);
    read_stretch(w, of, from, (span){element->start, element->end}, element, &result);
    done = element->end;
  }
  read_stretch(w, of, from, (span){done, from->text.size}, NULL, &result);
  return result;
}
