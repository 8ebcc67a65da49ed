#include "source.h"

#include "patterns.h"

source source_of(work *w, string text) {
  size_t *starts = room(w, text.size, sizeof *starts), *ends = room(w, text.size, sizeof *ends);
  for (size_t i = 0; i < text.size; ++i) starts[i] = i, ends[i] = i + 1;
  return (source){.text = text, .starts = starts, .ends = ends};
}

int is_fixed(const text_link *l) { return !IS_NONE(l->phonemes) || !IS_NONE(l->alias); }

void span_of(const source *from, size_t start, size_t end, size_t *first, size_t *last) {
  *first = from->starts[start];
  *last = start < end ? from->ends[end - 1] : 0; /* ends never decrease */
}

source join_spans(work *w, const source *from, const spans *kept) {
  size_t size = 0;
  for (size_t i = 0; i < kept->count; ++i) size += kept->all[i].end - kept->all[i].start + (i > 0);
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends), count = 0, next = 0;
  source result = {{text, size}, starts, ends, {0}, from->marked};
  for (size_t i = 0; i < kept->count; ++i) {
    span element = kept->all[i];
    if (i) {
      text[count] = ' ';
      starts[count] = ends[count - 1];
      ends[count++] = from->starts[element.start];
    }
    for (size_t place = element.start; place < element.end; ++place, ++count) {
      text[count] = from->text.at[place];
      starts[count] = from->starts[place];
      ends[count] = from->ends[place];
    }
    for (; next < from->links.count && from->links.all[next].start < element.end; ++next) {
      text_link moved = from->links.all[next];
      if (moved.start < element.start) continue; /* it begins between two */
      moved.start = moved.start - element.end + count;
      moved.end = moved.end - element.end + count;
      if (moved.end > size) moved.end = size;
      PUSH(w, result.links, moved);
    }
  }
  return result;
}

source apply_edits(work *w, source from, const edits *part) {
  if (!part->count) return from;
  size_t size = from.text.size, count = 0, done = 0;
  /* Map characters to the beginning and end of their edited words. */
  size_t *first_of = from.links.count ? room(w, size, sizeof *first_of) : NULL;
  size_t *behind = from.links.count ? room(w, size, sizeof *behind) : NULL;
  for (size_t i = 0; i < part->count; ++i) size += part->all[i].text.size - (part->all[i].end - part->all[i].start);
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends);
  for (size_t i = 0; i <= part->count; ++i) {
    size_t until = i < part->count ? part->all[i].start : from.text.size;
    for (; done < until; ++done, ++count) {
      if (first_of) first_of[done] = count, behind[done] = count + 1;
      text[count] = from.text.at[done];
      starts[count] = from.starts[done];
      ends[count] = from.ends[done];
    }
    if (i == part->count) break;
    const edit *element = &part->all[i];
    size_t first = 0, last = 0;
    for (size_t place = element->start; first_of && place < element->end; ++place)
      first_of[place] = count, behind[place] = count + element->text.size;
    if (element->start < element->end) span_of(&from, element->start, element->end, &first, &last);
    else if (element->start) first = last = from.ends[element->start - 1];
    else if (from.text.size) first = last = from.starts[0];
    for (size_t j = 0; j < element->text.size; ++j, ++count) {
      text[count] = element->text.at[j];
      starts[count] = first;
      ends[count] = last;
    }
    done = element->end;
  }
  source result = {{text, size}, starts, ends, {0}, from.marked};
  for (size_t i = 0; i < from.links.count; ++i) {
    text_link moved = from.links.all[i];
    moved.start = first_of[moved.start];
    moved.end = behind[moved.end - 1];
    if (moved.start < moved.end) PUSH(w, result.links, moved);
  }
  return result;
}

source apply_free_edits(work *w, source from, const edits *result) {
  edits kept = {0};
  size_t next = 0;
  if (!from.links.count) return apply_edits(w, from, result);
  for (size_t i = 0; i < result->count; ++i) {
    edit element = result->all[i];
    while (next < from.links.count && from.links.all[next].end <= element.start) ++next;
    if (next == from.links.count || element.end <= from.links.all[next].start) PUSH(w, kept, element);
  }
  return apply_edits(w, from, &kept);
}

source apply_aliases(work *w, source from) {
  edits result = {0};
  links others = {0};
  for (size_t i = 0; i < from.links.count; ++i) {
    text_link element = from.links.all[i];
    if (IS_NONE(element.alias)) PUSH(w, others, element);
    else PUSH(w, result, (edit){element.start, element.end, element.alias});
  }
  from.links = others;
  return apply_edits(w, from, &result);
}

int is_speakable(work *w, const source *of) {
  if (has_words(w, of->text)) return 1;
  for (size_t i = 0; i < of->links.count; ++i)
    if (of->links.all[i].phonemes.size) return 1;
  return 0;
}

int has_words(work *w, string text) {
  match result;
  return search(w, &PATTERNS[PICTURES_SPOKEN], text, 0, &result);
}
