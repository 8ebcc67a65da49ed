#include "omissions.h"

#include <string.h>

#include "patterns.h"

enum { MATH = 2, NEVER = -1 };
static const struct {
  const char *singular, *plural, *openers;
  int expressions[2], begun, goes_on; /* or NEVER */
} KINDS[OMITTED_KINDS] = {
    {"citation", "citations", "[(", {OMISSIONS_CITATION, NEVER}, OMISSIONS_CITATION_BEGUN, NEVER},
    {"piece of code", "pieces of code", "`~", {OMISSIONS_FENCED, OMISSIONS_CODE}, OMISSIONS_CODE_BEGUN, NEVER},
    {"formula", "formulas", "`$\\", {FORMULAS_FORMULA, NEVER}, OMISSIONS_FORMULA_BEGUN, OMISSIONS_FORMULA_GOES_ON},
    {"note", "notes", "[⁰¹²³⁴⁵⁶⁷⁸⁹", {OMISSIONS_NOTE, NEVER}, OMISSIONS_NOTE_BEGUN, OMISSIONS_NOTE_GOES_ON}};

static int is_active(const omissions *all, int kind) { return kind == MATH || (all->kinds >> kind & 1); }

static int is_opener(const omissions *all, int32_t c) {
  for (int kind = 0; kind < OMITTED_KINDS; ++kind)
    if (is_active(all, kind) && is_one_of(c, KINDS[kind].openers)) return 1;
  return 0;
}

/* Match the first kind at a place; return it, or -1. What is code is no formula. */
static int match_kind(work *w, const omissions *all, string text, size_t place, match *result) {
  for (int i = 0; i < 2 * OMITTED_KINDS; ++i) {
    int kind = i / 2, expression = KINDS[kind].expressions[i % 2];
    if (expression == NEVER || (!is_active(all, kind) && expression != OMISSIONS_CODE)) continue;
    if (match_at(w, &PATTERNS[expression], text, place, result)) return kind;
  }
  return -1;
}

static int goes_on(work *w, int kind, string text, size_t place) {
  match ignored;
  return KINDS[kind].goes_on != NEVER && match_at(w, &PATTERNS[KINDS[kind].goes_on], text, place, &ignored);
}

static int is_begun(work *w, const omissions *all, string text, size_t place) {
  match ignored;
  for (int kind = 0; kind < OMITTED_KINDS; ++kind)
    if (is_active(all, kind) && match_at(w, &PATTERNS[KINDS[kind].begun], text, place, &ignored)) return 1;
  return 0;
}

/* Return where the spaces before `end` begin. */
static size_t before_spaces(string text, size_t start, size_t end) {
  while (end > start && (text.at[end - 1] == ' ' || text.at[end - 1] == '\t')) --end;
  return end;
}

/* Collect the edits of a text from `start` on; return up to where it is certain. */
static size_t scan(work *w, omissions *all, string text, size_t start, int complete, edits *result) {
  size_t place = start, done = start;
  for (; place < text.size; ++place) {
    match found;
    if (!is_opener(all, text.at[place])) continue;
    int kind = match_kind(w, all, text, place, &found);
    if (kind >= 0 && (complete || (found.end < text.size && !goes_on(w, kind, text, place)))) {
      if (all->kinds >> kind & 1) {
        PUSH(w, *result, (edit){before_spaces(text, done, place), found.end, {0}});
        ++all->counts[kind];
      } else if (kind == MATH) {
        PUSH(w, *result, (edit){place, found.end, write_formula(w, text, &found)});
      }
      done = found.end;
      place = found.end - 1;
    } else if (!complete && (kind >= 0 || is_begun(w, all, text, place))) {
      break;
    }
  }
  return complete || !all->kinds ? place : before_spaces(text, done, place);
}

static source joined(work *w, const source *a, const source *b) {
  size_t count = a->text.size, size = count + b->text.size;
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends);
  source result = {{text, size}, starts, ends, {0}, b->marked};
  const source *parts[] = {a, b};
  for (size_t i = 0, at = 0; i < 2; at += parts[i++]->text.size) {
    size_t more = parts[i]->text.size;
    if (more) {
      memcpy(text + at, parts[i]->text.at, more * sizeof *text);
      memcpy(starts + at, parts[i]->starts, more * sizeof *starts);
      memcpy(ends + at, parts[i]->ends, more * sizeof *ends);
    }
    for (size_t j = 0; j < parts[i]->links.count; ++j) {
      text_link moved = parts[i]->links.all[j];
      if (!IS_NONE(moved.phonemes)) moved.phonemes = join(w, moved.phonemes, NONE);
      if (!IS_NONE(moved.alias)) moved.alias = join(w, moved.alias, NONE);
      moved.flags = join(w, moved.flags, NONE);
      moved.start += at;
      moved.end += at;
      PUSH(w, result.links, moved);
    }
  }
  return result;
}

static source part(work *w, const source *from, size_t start, size_t end) {
  spans one = {0};
  if (start == end) return (source){.marked = from->marked};
  PUSH(w, one, (span){start, end});
  return join_spans(w, from, &one);
}

/* Remember the last characters before the text that stays. */
static void set_before(omissions *all, string text) {
  size_t most = sizeof all->before / sizeof *all->before, first = text.size > most ? text.size - most : 0;
  all->before_count = text.size - first;
  if (text.size) memcpy(all->before, text.at + first, all->before_count * sizeof *all->before);
}

/* Append what is certain of the held text, with a run behind it, and hold the rest. */
static void take_certain(work *w, omissions *all, const source *run, const speaking_style *style, int complete, markup_items *result) {
  source whole = joined(w, &all->held, run);
  size_t shift = all->before_count;
  string text = join(w, join(w, (string){all->before, shift}, NONE), whole.text);
  edits changes = {0};
  size_t end = scan(w, all, text, shift, complete, &changes), length = end - shift;
  for (size_t i = 0; i < changes.count; ++i) changes.all[i].start -= shift, changes.all[i].end -= shift;
  source certain = part(w, &whole, 0, length), rest = part(w, &whole, length, whole.text.size);
  certain = apply_free_edits(w, certain, &changes);
  set_before(all, slice(text, 0, end));
  release(&all->memory);
  all->held = (source){0};
  all->style = NULL;
  if (rest.text.size) {
    work keeping = WORK(w->s, &all->memory);
    all->held = joined(&keeping, &(source){0}, &rest);
    all->style = style;
  }
  if (certain.text.size) PUSH(w, *result, (markup_item){.run = certain, .style = style, .pause = -1});
}

static void flush(work *w, omissions *all, markup_items *result) {
  if (all->style) take_certain(w, all, &(source){.marked = all->held.marked}, all->style, 1, result);
  all->before_count = 0;
}

void omit(work *w, omissions *all, const markup_items *items, int ends, markup_items *result) {
  for (size_t i = 0; i < items->count; ++i) {
    const markup_item *item = &items->all[i];
    if (!item->style || (all->style && all->style != item->style)) flush(w, all, result);
    if (item->style) take_certain(w, all, &item->run, item->style, 0, result);
    else PUSH(w, *result, *item);
  }
  if (ends) flush(w, all, result);
}

string describe_omissions(work *w, const omissions *all) {
  builder out = {0};
  for (int kind = 0; kind < OMITTED_KINDS; ++kind)
    if (all->counts[kind])
      put_ascii(w, &out, format(w->s, w->memory, "%s%zu %s", out.count ? ", " : "Left out, as asked: ", all->counts[kind],
                                all->counts[kind] > 1 ? KINDS[kind].plural : KINDS[kind].singular));
  if (out.count) put_char(w, &out, '.');
  return out.count ? BUILT(out) : NONE;
}

void end_omissions(omissions *all) { release(&all->memory); }
