#include "sections.h"

#include <string.h>

#include "numbers.h"

static const markup_item NO_BREAK = {.ends = CLAUSE, .pause = -1};

string voice_of(const styled_passage *passage) {
  return passage->source.text.size ? passage->styles[0]->voice : NONE;
}

void begin_sections(sections *all) {
  all->passages = begin_passages();
  all->next = all->breaks = NO_BREAK;
}

void end_sections(sections *all) {
  end_markup(&all->markup);
  end_omissions(&all->omissions);
  release(&all->parsed);
  release(&all->buffer.memory);
  release(&all->memory[0]);
  release(&all->memory[1]);
}

/* Copy a link whose places are counted from `done` on. What it asks for goes to the part where it begins. */
static text_link moved_link(work *w, text_link link, size_t done) {
  int begun = link.start < done;
  if (!IS_NONE(link.phonemes)) link.phonemes = begun ? some(NONE) : some(join(w, link.phonemes, NONE));
  if (!IS_NONE(link.alias)) link.alias = begun ? some(NONE) : some(join(w, link.alias, NONE));
  link.flags = join(w, link.flags, NONE);
  link.start = begun ? 0 : link.start - done;
  link.end -= done;
  return link;
}

/* Make room for more characters, and drop those that were taken. */
static void grow_buffer(sections *all, scope *s, size_t more) {
  section_buffer *b = &all->buffer;
  size_t left = b->count - b->done;
  if (b->count + more <= b->room) return;
  arena memory = {0};
  work w = WORK(s, &memory);
  section_buffer grown = {.count = left, .room = 2 * (left + more)};
  grown.text = room(&w, grown.room, sizeof *grown.text);
  grown.shown = room(&w, grown.room, sizeof *grown.shown);
  grown.starts = room(&w, grown.room, sizeof *grown.starts);
  grown.ends = room(&w, grown.room, sizeof *grown.ends);
  grown.styles = room(&w, grown.room, sizeof *grown.styles);
  if (left) {
    memcpy(grown.text, b->text + b->done, left * sizeof *b->text);
    memcpy(grown.shown, b->shown + b->done, left * sizeof *b->shown);
    memcpy(grown.starts, b->starts + b->done, left * sizeof *b->starts);
    memcpy(grown.ends, b->ends + b->done, left * sizeof *b->ends);
    memcpy(grown.styles, b->styles + b->done, left * sizeof *b->styles);
  }
  for (size_t i = 0; i < b->links.count; ++i)
    if (b->links.all[i].end > b->done) PUSH(&w, grown.links, moved_link(&w, b->links.all[i], b->done));
  all->passages.place -= b->done;
  release(&b->memory);
  grown.work = w;
  grown.memory = memory;
  *b = grown;
  b->work.memory = &b->memory;
}

/* Append a run of text. */
static void add_run(sections *all, scope *s, const markup_item *item) {
  const source *run = &item->run;
  section_buffer *b = &all->buffer;
  grow_buffer(all, s, run->text.size);
  size_t first = b->count;
  for (size_t i = 0; i < run->text.size; ++i, ++b->count) {
    b->text[b->count] = b->shown[b->count] = run->text.at[i];
    b->starts[b->count] = run->starts[i];
    b->ends[b->count] = run->ends[i];
    b->styles[b->count] = item->style;
  }
  for (size_t i = 0; i < run->links.count; ++i) {
    text_link link = moved_link(&b->work, run->links.all[i], 0);
    for (size_t j = link.start; is_fixed(&link) && j < link.end; ++j)
      if (!is_alnum(b->shown[first + j])) b->shown[first + j] = 'x';
    link.start += first;
    link.end += first;
    PUSH(&b->work, b->links, link);
  }
  all->passages.text = (string){b->shown, b->count};
}

/* Parse the next items. */
static progress parse_items(work *w, sections *all) {
  release(&all->parsed);
  all->items = (markup_items){0};
  all->place = 0;
  work parsing = WORK(w->s, &all->parsed);
  markup_items parsed = {0};
  progress step = next_items(&parsing, &all->markup, &parsed);
  omit(&parsing, &all->omissions, &parsed, step == ENDS, &all->items);
  if (step != ENDS || all->items.count) return step == ENDS ? GIVES : step;
  string sentence = describe_omissions(all->markup.noting, &all->omissions);
  if (!IS_NONE(sentence)) PUSH(all->markup.noting, *all->markup.notices, (notice){.sentence = sentence});
  return ENDS;
}

/* Append the next run of text to the buffer, or end the section. */
static progress fill_buffer(work *w, sections *all) {
  while (all->place == all->items.count) {
    progress step = parse_items(w, all);
    if (step == WAITS) return WAITS;
    if (step != ENDS) continue;
    all->next = NO_BREAK;
    all->complete = all->passages.complete = 1;
    return GIVES;
  }
  const markup_item *item = &all->items.all[all->place++];
  if (item->style) {
    add_run(all, w->s, item);
  } else {
    all->next = *item;
    all->passages.complete = 1;
  }
  return GIVES;
}

static void clear_buffer(sections *all) {
  section_buffer *b = &all->buffer;
  all->touches = all->touches && b->done == b->count;
  b->count = b->done = 0;
  b->links.count = 0;
  all->passages = begin_passages();
}

/* Remove the text up to the end of a passage, and return the passage. Breaks before it count as a space, except before a
 * closing mark. */
static styled_passage take_passage(work *w, sections *all, size_t first, size_t last, boundary ends) {
  section_buffer *b = &all->buffer;
  size_t count = last - first;
  int unbroken = all->breaks.ends == CLAUSE && all->breaks.pause < 0;
  int touches = unbroken ? all->touches : is_one_of(b->shown[first], CLOSING_MARKS);
  arena *memory = &all->memory[all->turn = !all->turn];
  release(memory);
  work to = WORK(w->s, memory);
  int32_t *text = room(&to, count, sizeof *text);
  size_t *starts = room(&to, count, sizeof *starts), *from_ends = room(&to, count, sizeof *from_ends);
  const speaking_style **styles = room(&to, count, sizeof *styles);
  memcpy(text, b->text + first, count * sizeof *text);
  memcpy(starts, b->starts + first, count * sizeof *starts);
  memcpy(from_ends, b->ends + first, count * sizeof *from_ends);
  memcpy(styles, b->styles + first, count * sizeof *styles);
  styled_passage result = {.source = {{text, count}, starts, from_ends, {0}, all->markup.form != PLAIN},
                           .styles = styles, .ends = ends, .pause = -1, .joined = first == b->done && touches};
  size_t kept = 0;
  for (size_t i = 0; i < b->links.count; ++i) {
    text_link link = b->links.all[i];
    if (link.end > last) b->links.all[kept++] = link;
    if (link.start >= last || link.end <= first) continue;
    link = moved_link(&to, link, first);
    if (link.end > count) link.end = count;
    PUSH(&to, result.source.links, link);
  }
  b->links.count = kept;
  b->done = last;
  all->touches = 1;
  return result;
}

static styled_passage close_passage(const styled_passage *passage, const markup_item *after) {
  styled_passage result = passage ? *passage : (styled_passage){0};
  result.ends = after->ends;
  result.pause = after->pause;
  return result;
}

static markup_item merge_breaks(work *w, const markup_item *first, const markup_item *second) {
  markup_item result = first->ends > second->ends ? *first : *second;
  result.pause = first->pause < 0 ? second->pause : second->pause < 0 ? first->pause : first->pause + second->pause;
  if (result.pause > LONGEST_PAUSE)
    fail(w->s, FAILURE_INPUT, "Pauses that follow each other last %g s; %d s is the longest.", result.pause, LONGEST_PAUSE);
  return result;
}

/* Take the passage that was found. Return GIVES with a result, or WAITS if its end decides about it first. */
static progress take_found(work *w, sections *all, size_t start, size_t end, boundary ends, styled_passage *result) {
  int closes = all->has_pending || all->breaks.pause >= 0;
  if (closes) *result = close_passage(all->has_pending ? &all->pending : NULL, &all->breaks);
  styled_passage taken = take_passage(w, all, start, end, ends);
  all->breaks = NO_BREAK;
  all->has_pending = ends == END_OF_TEXT;
  if (all->has_pending) all->pending = taken;
  else if (closes) all->later = taken, all->has_later = 1;
  else *result = taken;
  return closes || !all->has_pending ? GIVES : WAITS;
}

progress next_sentence(work *w, sections *all, styled_passage *result) {
  size_t start, end;
  boundary ends;
  if (all->has_later) return all->has_later = 0, *result = all->later, GIVES;
  while (!all->ended) {
    progress step = next_passage(w, &all->passages, &start, &end, &ends);
    if (step == WAITS && fill_buffer(w, all) == WAITS) return WAITS;
    if (step == GIVES && take_found(w, all, start, end, ends, result) == GIVES) return GIVES;
    if (step != ENDS) continue;
    clear_buffer(all);
    all->breaks = merge_breaks(w, &all->breaks, &all->next);
    all->ended = all->complete;
  }
  int closes = all->has_pending || all->breaks.pause >= 0;
  all->breaks.ends = END_OF_TEXT;
  if (closes) *result = close_passage(all->has_pending ? &all->pending : NULL, &all->breaks);
  all->has_pending = 0;
  all->breaks = NO_BREAK;
  return closes ? GIVES : ENDS;
}
