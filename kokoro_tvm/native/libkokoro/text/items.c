#include "items.h"

#include <string.h>

#include "numbers.h"
#include "patterns.h"

static const speaking_style PLAIN_STYLE = {{NULL, 0}, 1, 1};

void begin_markup(markup *m, markup_form form, vocabulary names, work lasting) {
  m->form = form;
  m->names = names;
  m->lasting = lasting;
  m->style = &PLAIN_STYLE;
  m->input.line = m->input.column = 1;
}

void end_markup(markup *m) { release(&m->input.memory); }

void add_text(markup *m, scope *s, string text, const size_t *places) {
  arena memory = {0};
  input *to = &m->input;
  size_t before = to->text.size, size = before + text.size;
  int32_t *all = take(s, &memory, size, sizeof *all);
  size_t *place = take(s, &memory, size + 1, sizeof *place);
  if (before) memcpy(all, to->text.at, before * sizeof *all), memcpy(place, to->places, before * sizeof *place);
  if (text.size) memcpy(all + before, text.at, text.size * sizeof *all);
  memcpy(place + before, places, (text.size + 1) * sizeof *place);
  release(&to->memory);
  to->memory = memory;
  to->text = (string){all, size};
  to->places = place;
}

void advance(input *from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (from->text.at[i] == '\n') ++from->line, from->column = 0;
    ++from->column;
  }
}

source take_input(work *w, markup *m, size_t count) {
  input *from = &m->input;
  int32_t *text = room(w, count, sizeof *text); /* the input does not live long */
  size_t *starts = room(w, count, sizeof *starts), *ends = room(w, count, sizeof *ends);
  for (size_t i = 0; i < count; ++i) {
    text[i] = from->text.at[i];
    starts[i] = from->places[i];
    ends[i] = from->places[i + 1];
  }
  advance(from, count);
  from->text = slice(from->text, count, from->text.size);
  from->places += count;
  return (source){{text, count}, starts, ends, {0}, m->form != PLAIN};
}

void set_style(markup *m, speaking_style style) {
  speaking_style *kept = room(&m->lasting, 1, sizeof *kept);
  *kept = style;
  m->style = kept;
}

void put_run(work *w, markup *m, markup_items *items, source run) {
  PUSH(w, *items, (markup_item){.run = run, .style = m->style, .pause = -1});
}

void put_break(work *w, markup_items *items, boundary ends, double pause) {
  PUSH(w, *items, (markup_item){.ends = ends, .pause = pause});
}

void at_place(work *w, size_t line, size_t column) {
  w->s->where = format(w->s, &w->s->scratch, "The text has a mistake in line %zu, column %zu: ", line, column);
}

void at_no_place(work *w) { w->s->where = NULL; }

source collapse_space(work *w, const source *from) {
  spans words = {0};
  for (size_t place = 0; place < from->text.size;) {
    size_t start = place;
    while (place < from->text.size && !is_space(from->text.at[place])) ++place;
    if (place > start) PUSH(w, words, (span){start, place});
    else ++place;
  }
  return join_spans(w, from, &words);
}

/* Return whether the text is SSML, as far as it has arrived; WAITS if that is not certain. */
static progress decide(work *w, markup *m) {
  string text = m->input.text;
  size_t begin = text.size && *text.at == 0xFEFF;
  match result;
  while (begin < text.size && is_space(text.at[begin])) ++begin;
  int is_ssml = match_at(w, &PATTERNS[MARKUP_SSML], slice(text, 0, HEAD), 0, &result);
  int certain = is_ssml || m->input.complete || text.size >= HEAD || (begin < text.size && text.at[begin] != '<');
  if (certain) m->form = is_ssml ? SSML : BRACKETS;
  return certain ? GIVES : WAITS;
}

progress next_items(work *w, markup *m, markup_items *items) {
  if (m->form == UNDECIDED && decide(w, m) == WAITS) return WAITS;
  if (m->form == SSML) return next_element(w, m, items);
  if (!m->input.text.size) return m->input.complete ? ENDS : WAITS;
  if (m->form == BRACKETS) return next_bracket(w, m, items);
  put_run(w, m, items, take_input(w, m, m->input.text.size < PORTION ? m->input.text.size : PORTION));
  return GIVES;
}
