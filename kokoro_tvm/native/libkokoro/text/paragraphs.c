#include "paragraphs.h"

#include "patterns.h"

int may_begin_block(int32_t c) { return is_one_of(c, "#-*+•‣◦▪0123456789|`~_="); }

block_kind block_at(work *w, string text, size_t place, int numbered, size_t *end) {
  static const struct { int group; block_kind kind; } kinds[] = {
      {BLOCKS_BLOCK_HEADING, HEADING}, {BLOCKS_BLOCK_ITEM, ITEM}, {BLOCKS_BLOCK_NUMBERED, NUMBERED},
      {BLOCKS_BLOCK_ROW, ROW}, {BLOCKS_BLOCK_FENCE, FENCE}, {BLOCKS_BLOCK_RULE, RULE}};
  match found;
  if (place >= text.size || !match_at(w, &PATTERNS[BLOCKS_BLOCK], text, place, &found)) return NO_BLOCK;
  *end = found.end;
  string number = group_of(text, &found, BLOCKS_BLOCK_NUMBERED);
  if (number.size && !numbered) {
    int value = 0;
    for (size_t i = 0; i < number.size; ++i) value = 10 * value + decimal_of(number.at[i]);
    if (value != 1) return NO_BLOCK;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (took_part(&found, kinds[i].group)) return kinds[i].kind;
  return NO_BLOCK;
}

/* The lines of a paragraph, as slices of the text without marks. */
typedef struct part {
  block_kind kind;
  spans lines;
} part;

static void put_edit(work *w, edits *made, size_t start, size_t end, const char *text) {
  PUSH(w, *made, (edit){start, end, decoded(w, text)});
}

static source without_marks(work *w, source from, block_kind kind) {
  edits made = {0};
  match found = FIRST_MATCH;
  if (kind == NUMBERED && search(w, &PATTERNS[PARAGRAPHS_NUMBER_END], from.text, 0, &found))
    put_edit(w, &made, found.start, found.end, ":");
  if (kind == HEADING && search(w, &PATTERNS[PARAGRAPHS_HEADING_END], from.text, 0, &found))
    put_edit(w, &made, found.start, found.end, "");
  if (kind == ITEM && match_at(w, &PATTERNS[PARAGRAPHS_BOX], from.text, 0, &found))
    put_edit(w, &made, found.start, found.end, "");
  while (kind == ROW && next_match(w, &PATTERNS[PARAGRAPHS_CELL], from.text, &found))
    put_edit(w, &made, found.start, found.end, found.end < from.text.size ? ", " : "");
  return freely_edited(w, from, &made);
}

static void finish(work *w, const source *whole, const part *each, sources *found) {
  spans words = {0};
  for (size_t i = 0; i < each->lines.count; ++i) {
    string line = {whole->text.at, each->lines.all[i].end};
    for (size_t place = each->lines.all[i].start; place < line.size;) {
      size_t start = place;
      while (place < line.size && !is_space(line.at[place])) ++place;
      if (place > start) PUSH(w, words, (span){start, place});
      else ++place;
    }
  }
  if (!words.count) return;
  source made = without_marks(w, joined_spans(w, whole, &words), each->kind);
  if (is_speakable(w, &made)) PUSH(w, *found, made);
}

static size_t words_of_line(work *w, string text, size_t place, size_t end) { /* where they begin */
  match lead;
  match_at(w, &PATTERNS[PARAGRAPHS_LEAD], (string){text.at, end}, place, &lead);
  return lead.end;
}

sources paragraphs(work *w, const source *whole) {
  string text = whole->text;
  sources found = {0};
  part now = {0};
  for (size_t place = 0, end; place <= text.size; place = end + 1) {
    for (end = place; end < text.size && text.at[end] != '\n';) ++end;
    size_t start = words_of_line(w, text, place, end), mark;
    if (start == end) {
      finish(w, whole, &now, &found);
      now = (part){0};
      continue;
    }
    block_kind kind = block_at(w, text, start, !now.lines.count || now.kind == NUMBERED, &mark);
    if (kind || now.kind == HEADING || now.kind == ROW || now.kind == FENCE || now.kind == RULE) {
      finish(w, whole, &now, &found);
      now = (part){.kind = kind};
    }
    if (kind == FENCE) continue;
    PUSH(w, now.lines, (span){kind && kind != NUMBERED ? mark : start, end});
  }
  finish(w, whole, &now, &found);
  return found;
}
