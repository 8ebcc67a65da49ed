#include "paragraphs.h"

#include "patterns.h"

int may_begin_block(int32_t c) { return is_one_of(c, "#-*+•‣◦▪0123456789|`~_="); }

block_kind block_at(work *w, string text, size_t place, int numbered, size_t *end) {
  static const struct { int group; block_kind kind; } kinds[] = {
      {BLOCKS_BLOCK_HEADING, HEADING}, {BLOCKS_BLOCK_ITEM, ITEM}, {BLOCKS_BLOCK_NUMBERED, NUMBERED},
      {BLOCKS_BLOCK_ROW, ROW}, {BLOCKS_BLOCK_FENCE, FENCE}, {BLOCKS_BLOCK_RULE, RULE}};
  match result;
  if (place >= text.size || !match_at(w, &PATTERNS[BLOCKS_BLOCK], text, place, &result)) return NO_BLOCK;
  *end = result.end;
  string number = group_of(text, &result, BLOCKS_BLOCK_NUMBERED);
  if (number.size && !numbered) {
    int value = 0;
    for (size_t i = 0; i < number.size; ++i) value = 10 * value + decimal_of(number.at[i]);
    if (value != 1) return NO_BLOCK;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (has_group(&result, kinds[i].group)) return kinds[i].kind;
  return NO_BLOCK;
}

/* The lines of a paragraph, as slices of the text without block marks. */
typedef struct part {
  block_kind kind;
  spans lines;
} part;

static void put_edit(work *w, edits *result, size_t start, size_t end, const char *text) {
  PUSH(w, *result, (edit){start, end, decode_utf8(w, text)});
}

static source without_marks(work *w, source from, block_kind kind) {
  edits result = {0};
  match candidate = FIRST_MATCH;
  if (kind == NUMBERED && search(w, &PATTERNS[PARAGRAPHS_NUMBER_END], from.text, 0, &candidate))
    put_edit(w, &result, candidate.start, candidate.end, ":");
  if (kind == HEADING && search(w, &PATTERNS[PARAGRAPHS_HEADING_END], from.text, 0, &candidate))
    put_edit(w, &result, candidate.start, candidate.end, "");
  if (kind == ITEM && match_at(w, &PATTERNS[PARAGRAPHS_BOX], from.text, 0, &candidate))
    put_edit(w, &result, candidate.start, candidate.end, "");
  while (kind == ROW && next_match(w, &PATTERNS[PARAGRAPHS_CELL], from.text, &candidate))
    put_edit(w, &result, candidate.start, candidate.end, candidate.end < from.text.size ? ", " : "");
  return apply_free_edits(w, from, &result);
}

static void finish(work *w, const source *whole, const part *element, sources *candidate) {
  spans words = {0};
  for (size_t i = 0; i < element->lines.count; ++i) {
    string line = {whole->text.at, element->lines.all[i].end};
    for (size_t place = element->lines.all[i].start; place < line.size;) {
      size_t start = place;
      while (place < line.size && !is_space(line.at[place])) ++place;
      if (place > start) PUSH(w, words, (span){start, place});
      else ++place;
    }
  }
  if (!words.count) return;
  source result = without_marks(w, join_spans(w, whole, &words), element->kind);
  if (is_speakable(w, &result)) PUSH(w, *candidate, result);
}

static size_t words_of_line(work *w, string text, size_t place, size_t end) { /* where the words of a line begin */
  match lead;
  match_at(w, &PATTERNS[PARAGRAPHS_LEAD], (string){text.at, end}, place, &lead);
  return lead.end;
}

sources paragraphs(work *w, const source *whole) {
  string text = whole->text;
  sources result = {0};
  part now = {0};
  for (size_t place = 0, end; place <= text.size; place = end + 1) {
    for (end = place; end < text.size && text.at[end] != '\n';) ++end;
    size_t start = words_of_line(w, text, place, end), mark;
    if (start == end) {
      finish(w, whole, &now, &result);
      now = (part){0};
      continue;
    }
    block_kind kind = block_at(w, text, start, !now.lines.count || now.kind == NUMBERED, &mark);
    if (kind || now.kind == HEADING || now.kind == ROW || now.kind == FENCE || now.kind == RULE) {
      finish(w, whole, &now, &result);
      now = (part){.kind = kind};
    }
    if (kind == FENCE) continue;
    PUSH(w, now.lines, (span){kind && kind != NUMBERED ? mark : start, end});
  }
  finish(w, whole, &now, &result);
  return result;
}
