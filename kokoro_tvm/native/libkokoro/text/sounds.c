#include "sounds.h"

#include <stdlib.h>
#include "patterns.h"

enum { EDGE = '#', APOSTROPHE = '\'' };

/* Characters, whether it is those or all others, and how often it stands there, at least and at most (sounds.py). */
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
  sound_items focus, left, right; /* left: from the focus outwards */
  string replacement;             /* "&" in it is what was found */
} sound_rule;

/* A rule by a character that its focus begins with. */
typedef struct beginning {
  int32_t c;
  size_t rule;
} beginning;

/* One reading of a string: see Pass of sounds.py. */
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

/* The value of a key, "" without one. */
static string value_in(const pairs *all, string key) {
  const string *found = value_of(all, key);
  return found ? *found : (string){0};
}

/* The next value of a list, of a kind. */
static const json *next_of(work *w, const json **at, kind wanted) {
  const json *found = *at;
  if (!found || found->kind != wanted) damaged(w);
  *at = found->next;
  return found;
}

static sound_items read_items(work *w, const json *list) {
  sound_items made = {room(w, (size_t)list->count, sizeof *made.all), 0};
  for (const json *each = list->first; each;) {
    const json *at = next_of(w, &each, LIST)->first;
    sound_item *item = &made.all[made.count++];
    item->chars = decoded(w, next_of(w, &at, TEXT)->text);
    item->among = next_of(w, &at, BOOLEAN)->whole != 0;
    item->least = (size_t)next_of(w, &at, WHOLE)->whole;
    item->most = (size_t)next_of(w, &at, WHOLE)->whole;
  }
  return made;
}

static int by_character(const void *a, const void *b) {
  const beginning *left = a, *right = b;
  if (left->c != right->c) return left->c < right->c ? -1 : 1;
  return left->rule < right->rule ? -1 : left->rule > right->rule;
}

static pass read_pass(scope *s, work *w, const json *data) {
  const json *rules = get(s, data, "rules", LIST);
  pass made = {.unless = decoded(w, get_text(s, data, "unless")), .feeding = get(s, data, "feeding", BOOLEAN)->whole != 0};
  LIST(beginning) beginnings = {0};
  made.rules = room(w, (size_t)rules->count, sizeof *made.rules);
  for (const json *each = rules->first; each; ++made.rule_count) {
    const json *at = next_of(w, &each, LIST)->first;
    sound_rule *rule = &made.rules[made.rule_count];
    rule->focus = read_items(w, next_of(w, &at, LIST));
    rule->replacement = decoded(w, next_of(w, &at, TEXT)->text);
    rule->left = read_items(w, next_of(w, &at, LIST));
    rule->right = read_items(w, next_of(w, &at, LIST));
    if (!rule->focus.count) damaged(w);
    string chars = rule->focus.all[0].chars;
    for (size_t i = 0; i < chars.size; ++i) PUSH(w, beginnings, (beginning){chars.at[i], made.rule_count});
  }
  if (beginnings.count) qsort(beginnings.all, beginnings.count, sizeof *beginnings.all, by_character);
  made.beginnings = beginnings.all;
  made.beginning_count = beginnings.count;
  return made;
}

static passes read_passes(scope *s, work *w, const json *list) {
  passes made = {room(w, (size_t)list->count, sizeof *made.all), 0};
  for (const json *each = list->first; each; each = each->next) made.all[made.count++] = read_pass(s, w, each);
  return made;
}

const sounds *open_sounds(scope *s, const tensors *file, const char *name) {
  const char *full = format(s, &s->scratch, "sounds.%s", name);
  if (!find_tensor(file, full)) return NULL;
  const json *data = unpack_json(s, get_tensor(s, file, full, "U8", 1));
  work w = WORK(s, s->kept);
  sounds *made = room(&w, 1, sizeof *made);
  made->letters = decoded(&w, get_text(s, data, "letters"));
  made->replacements = read_pairs(&w, get(s, data, "replacements", OBJECT));
  made->tags = read_pairs(&w, get(s, data, "tags", OBJECT));
  made->words = read_pairs(&w, get(s, data, "words", OBJECT));
  made->passes = read_passes(s, &w, get(s, data, "passes", LIST));
  made->clauses = read_passes(s, &w, get(s, data, "clauses", LIST));
  return made;
}

/* Whether items stand at a place in the direction of `step`, each as often as it can. */
static int fits(const sound_items *items, string text, int64_t place, int step) {
  for (size_t i = 0; i < items->count; ++i) {
    const sound_item *item = &items->all[i];
    size_t found = 0;
    for (; found < item->most && place >= 0 && (size_t)place < text.size; ++found, place += step)
      if (holds(item->chars, text.at[place]) != item->among) break;
    if (found < item->least) return 0;
  }
  return 1;
}

/* The first rule that fits at a place, NULL for none; `before`: what stands to the left. */
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
    for (size_t c = 0; c < p->unless.size && !left_out; ++c) left_out = holds(text, p->unless.at[c]);
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

/* The small letters of a word that the language has; others by those they are replaced with. */
static string spelled(work *w, const sounds *of, string word) {
  builder made = {0};
  string small = lower(w, word);
  for (size_t i = 0; i < small.size; ++i)
    if (holds(of->letters, small.at[i])) put_char(w, &made, small.at[i]);
    else put(w, &made, value_in(&of->replacements, slice(small, i, i + 1)));
  return BUILT(made);
}

/* A word as it sounds alone. */
static string sound_of(work *w, const sounds *of, string written) {
  string letters = spelled(w, of, written);
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
  builder made = {0};
  for (size_t i = 0; i < text.size; ++i)
    if (text.at[i] != APOSTROPHE) put_char(w, &made, text.at[i]);
  return BUILT(made);
}

/* Whether a word has a letter of the language. */
static int has_letters(work *w, const sounds *of, string written) {
  string letters = spelled(w, of, written);
  for (size_t i = 0; i < letters.size; ++i)
    if (letters.at[i] != APOSTROPHE) return 1;
  return 0;
}

static int32_t spoken_mark(int32_t c) {
  switch (c) {
  case 0x964: case 0x965: return '.'; /* dandas of Devanagari */
  case 0xAB: return 0x201C;
  case 0xBB: return 0x201D;
  default: return c;
  }
}

/* A text of marks and signs alone is one mark. */
static token marks_of(work *w, string text) {
  builder marks = {0};
  for (size_t i = 0; i < text.size; ++i)
    if (is_one_of(text.at[i], ";:,.!?—…\"()“”«»¡¿")) put_char(w, &marks, text.at[i]);
  return (token){.text = text, .phonemes = BUILT(marks), .end = text.size, .origin = FROM_MARK};
}

static tokens tokens_of(work *w, const sounds *of, string text) {
  tokens made = {0};
  builder line = {0};
  match found = FIRST_MATCH;
  static const int32_t space[] = {' '};
  put_char(w, &line, EDGE);
  while (next_match(w, &PATTERNS[SOUNDS_PART], text, &found)) {
    token each = {.text = slice(text, found.start, found.end), .start = found.start, .end = found.end};
    each.origin = took_part(&found, SOUNDS_PART_MARK) ? FROM_MARK : FROM_RULES;
    put_char(w, &line, EDGE);
    if (each.origin == FROM_MARK) put_char(w, &line, spoken_mark(*each.text.at));
    else put(w, &line, sound_of(w, of, each.text));
    match ignored;
    if (each.origin == FROM_RULES && match_at(w, &PATTERNS[SOUNDS_LATIN], each.text, 0, &ignored) &&
        !has_letters(w, of, each.text))
      each.origin = FROM_LATIN;
    if (made.count && made.all[made.count - 1].end < each.start) made.all[made.count - 1].space = (string){space, 1};
    PUSH(w, made, each);
  }
  put_char(w, &line, EDGE);
  put_char(w, &line, EDGE);
  string spoken = rewritten(w, &of->clauses, BUILT(line));
  spoken = slice(spoken, 2, spoken.size < 2 ? 0 : spoken.size - 2);
  size_t part = 0, start = 0;
  for (size_t i = 0; made.count && i <= spoken.size; ++i) {
    if (i < spoken.size && spoken.at[i] != EDGE) continue;
    if (part < made.count && made.all[part].origin == FROM_LATIN) made.all[part].phonemes = made.all[part].text;
    else if (part < made.count) made.all[part].phonemes = slice(spoken, start, i);
    start = i + 1;
    ++part;
  }
  if (part != made.count) fail(w->s, FAILURE_BUNDLE, "The bundle's rules of sounds lose words. Build the bundle again.");
  return made;
}

/* The words of a stretch of a text, of one for which a link gives phonemes that alone. */
static void read_stretch(work *w, const sounds *of, const source *from, span all, const text_link *given, tokens *made) {
  string text = from->text;
  size_t first = all.start, last = all.end, begin = made->count;
  static const int32_t space[] = {' '};
  while (first < last && is_space(text.at[first])) ++first;
  while (last > first && is_space(text.at[last - 1])) --last;
  if (first == last) return;
  string stretch = slice(text, first, last);
  if (given) {
    PUSH(w, *made, (token){.text = stretch, .phonemes = given->phonemes, .end = stretch.size, .origin = FROM_GIVEN});
  } else if (any_alnum(stretch)) {
    tokens words = tokens_of(w, of, stretch);
    for (size_t i = 0; i < words.count; ++i) PUSH(w, *made, words.all[i]);
  } else {
    PUSH(w, *made, marks_of(w, stretch));
  }
  for (size_t i = begin; i < made->count; ++i) {
    token *each = &made->all[i];
    if (i + 1 == made->count) each->space = (string){space, last < text.size && is_space(text.at[last])};
    span_of(from, first + each->start, first + each->end, &each->start, &each->end);
  }
}

tokens read_sounds(work *w, const sounds *of, const source *from) {
  tokens made = {0};
  size_t done = 0;
  for (size_t i = 0; i < from->links.count; ++i) {
    const text_link *each = &from->links.all[i];
    if (IS_NONE(each->phonemes)) continue;
    read_stretch(w, of, from, (span){done, each->start}, NULL, &made);
    read_stretch(w, of, from, (span){each->start, each->end}, each, &made);
    done = each->end;
  }
  read_stretch(w, of, from, (span){done, from->text.size}, NULL, &made);
  return made;
}
