/* Algorithm: "How spaCy's tokenizer works" in spaCy's documentation. */
#include "tokenizer.h"

#include <stdlib.h>

enum { LONGEST_PART = 256, BETWEEN = 0x1E, WITHIN = 0x1F };

typedef LIST(string) strings;

/* State of one call of `split`. */
typedef struct splitting {
  work *w;
  const tokenizer *rules;
  opened *exceptions;
  pieces all;
} splitting;

/* Pieces from `start` to `end` that spell an exception. */
typedef struct span {
  size_t start, end;
} span;
typedef LIST(span) spans;

tokenizer open_tokenizer(scope *s, const tensors *file) {
  tokenizer result = {
      .prefix = file_pattern(s, file, "tokenizer.prefix", "tokenizer.sets"),
      .suffix = file_pattern(s, file, "tokenizer.suffix", "tokenizer.sets"),
      .infix = file_pattern(s, file, "tokenizer.infix", "tokenizer.sets"),
      .url = file_pattern(s, file, "tokenizer.url", "tokenizer.sets"),
      .exceptions = open_dictionary(s, file, "exceptions"),
  };
  result.longest = longest_word(s, &result.exceptions);
  return result;
}

static entry exception(splitting *to, string word) {
  return word.size <= to->rules->longest ? find_entry(to->exceptions, word) : (entry){0};
}

static void push(splitting *to, string text, size_t start, int space, string norm) {
  PUSH(to->w, to->all, (piece){text, norm, start, space});
}

/* Push the pieces of an exception. space: whether a space follows the last one. */
static void push_exception(splitting *to, entry result, size_t start, int space) {
  string rule = text_of(to->w, result);
  for (size_t begin = 0; begin <= rule.size;) {
    size_t end = begin, middle;
    while (end < rule.size && rule.at[end] != BETWEEN) ++end;
    for (middle = begin; middle < end && rule.at[middle] != WITHIN;) ++middle;
    push(to, slice(rule, begin, middle), start, space && end == rule.size, slice(rule, middle + 1, end));
    start += middle - begin;
    begin = end + 1;
  }
}

static size_t length(splitting *to, const pattern *p, string text) {
  match result;
  return search(to->w, p, text, 0, &result) ? result.end - result.start : 0;
}

/* A word without its prefixes and suffixes; the last suffix comes first. */
typedef struct stripped_word {
  strings before, behind;
  string middle;
} stripped_word;

/* exceptions: whether an exception ends the search. */
static stripped_word strip(splitting *to, string word, int exceptions) {
  stripped_word result = {.middle = NONE};
  while (word.size && !(exceptions && exception(to, word).at)) {
    size_t first = length(to, &to->rules->prefix, word);
    if (first && exceptions && exception(to, slice(word, first, word.size)).at) {
      PUSH(to->w, result.before, slice(word, 0, first));
      result.middle = slice(word, first, word.size);
      return result;
    }
    size_t last = length(to, &to->rules->suffix, slice(word, first, word.size)), size = word.size;
    if (last && exceptions && exception(to, slice(word, 0, size - last)).at) {
      PUSH(to->w, result.behind, slice(word, size - last, size));
      result.middle = slice(word, 0, size - last);
      return result;
    }
    if (first) PUSH(to->w, result.before, slice(word, 0, first));
    if (last && (!first || first + last <= size)) {
      PUSH(to->w, result.behind, slice(word, size - last, size));
      word = slice(word, 0, size - last);
    }
    if (!first && !last) break;
    word = slice(word, first, word.size);
  }
  result.middle = word;
  return result;
}

static strings split_inside(splitting *to, string word) {
  strings parts = {0};
  match result = FIRST_MATCH, whole;
  size_t start = 0;
  if (match_at(to->w, &to->rules->url, word, 0, &whole)) {
    PUSH(to->w, parts, word);
    return parts;
  }
  while (next_match(to->w, &to->rules->infix, word, &result)) {
    if (result.start == 0) continue;
    if (result.start != start) PUSH(to->w, parts, slice(word, start, result.start));
    if (result.end > result.start) PUSH(to->w, parts, slice(word, result.start, result.end));
    start = result.end;
  }
  if (start < word.size) PUSH(to->w, parts, slice(word, start, word.size));
  return parts;
}

static size_t push_all(splitting *to, const strings *texts, size_t start) {
  for (size_t i = 0; i < texts->count; ++i) {
    push(to, texts->all[i], start, 0, (string){0});
    start += texts->all[i].size;
  }
  return start;
}

static void split_word(splitting *to, string word, size_t start) {
  entry known = exception(to, word);
  if (known.at) {
    push_exception(to, known, start, 0);
    return;
  }
  stripped_word parts = strip(to, word, 1);
  start = push_all(to, &parts.before, start);
  known = exception(to, parts.middle);
  if (known.at) {
    push_exception(to, known, start, 0);
  } else if (parts.middle.size) {
    strings inside = split_inside(to, parts.middle);
    push_all(to, &inside, start);
  }
  start += parts.middle.size;
  for (size_t i = parts.behind.count; i--; start += parts.behind.all[i].size)
    push(to, parts.behind.all[i], start, 0, (string){0});
}

/* Return whether the pieces are how a word that is an exception would be cut without it. */
static int is_cut_so(splitting *to, string word, size_t start, size_t end) {
  match result = FIRST_MATCH;
  const tokenizer *rules = to->rules;
  if (!search(to->w, &rules->prefix, word, 0, &result) && !search(to->w, &rules->suffix, word, 0, &result) &&
      !search(to->w, &rules->infix, word, 0, &result))
    return 0;
  stripped_word parts = strip(to, word, 0);
  strings cut = parts.before;
  if (parts.middle.size) {
    strings inside = split_inside(to, parts.middle);
    for (size_t i = 0; i < inside.count; ++i) PUSH(to->w, cut, inside.all[i]);
  }
  for (size_t i = parts.behind.count; i--;) PUSH(to->w, cut, parts.behind.all[i]);
  int alike = cut.count == end - start;
  for (size_t i = 0; alike && i < cut.count; ++i) alike = is_same(cut.all[i], to->all.all[start + i].text);
  return alike;
}

static spans cut_exceptions(splitting *to) {
  spans result = {0};
  for (size_t start = 0; start < to->all.count; ++start) {
    builder text = {0};
    for (size_t end = start; end < to->all.count;) {
      string next = to->all.all[end++].text;
      if (next.size > to->rules->longest - text.count) break;
      put(to->w, &text, next);
      if (exception(to, BUILT(text)).at && is_cut_so(to, BUILT(text), start, end))
        PUSH(to->w, result, (span){start, end});
    }
  }
  return result;
}

/* Longer first, then earlier. */
static int order(const void *a, const void *b) {
  const span *left = a, *right = b;
  size_t size = left->end - left->start, other = right->end - right->start;
  if (size != other) return size > other ? -1 : 1;
  return left->start < right->start ? -1 : left->start > right->start;
}

/* Return the pieces with spelled exceptions replaced by their own pieces. */
static pieces restore_exceptions(splitting *to) {
  spans result = cut_exceptions(to);
  pieces old = to->all;
  if (!result.count) return old;
  qsort(result.all, result.count, sizeof(span), order);
  char *removed = room(to->w, old.count, 1);
  size_t *chosen = room(to->w, old.count, sizeof *chosen);
  for (size_t i = 0; i < result.count; ++i) {
    span element = result.all[i];
    if (!removed[element.start] && !removed[element.end - 1]) chosen[element.start] = element.end;
    for (size_t place = element.start; place < element.end; ++place) removed[place] = 1;
  }
  to->all = (pieces){0};
  for (size_t place = 0, end; place < old.count; place = end) {
    builder text = {0};
    int together = chosen[place] != 0;
    end = together ? chosen[place] : place + 1;
    for (size_t i = place; together && i < end; ++i) {
      if (i > place) together = old.all[i - 1].start + old.all[i - 1].text.size == old.all[i].start;
      put(to->w, &text, old.all[i].text);
    }
    if (together) push_exception(to, exception(to, BUILT(text)), old.all[place].start, old.all[end - 1].space);
    for (size_t i = place; !together && i < end; ++i) PUSH(to->w, to->all, old.all[i]);
  }
  return to->all;
}

pieces split(work *w, const tokenizer *t, opened *exceptions, string text) {
  splitting to = {.w = w, .rules = t, .exceptions = exceptions};
  size_t start = 0;
  for (size_t place = 0; place < text.size;) {
    size_t end = place;
    int spaces = is_space(text.at[place]);
    while (end < text.size && is_space(text.at[end]) == spaces && (spaces || end - place < LONGEST_PART)) ++end;
    if (spaces) {
      if (start < end) push(&to, slice(text, start, end), start, 0, (string){0});
      start = end;
    } else {
      split_word(&to, slice(text, place, end), place);
      int space = end < text.size && text.at[end] == ' ';
      to.all.all[to.all.count - 1].space = space;
      start = end + (size_t)space;
    }
    place = end;
  }
  return restore_exceptions(&to);
}
