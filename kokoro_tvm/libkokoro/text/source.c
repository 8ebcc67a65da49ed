#include "source.h"

#include "patterns.h"

source source_of(work *w, string text) {
  size_t *starts = room(w, text.size, sizeof *starts), *ends = room(w, text.size, sizeof *ends);
  for (size_t i = 0; i < text.size; ++i) starts[i] = i, ends[i] = i + 1;
  return (source){text, starts, ends};
}

void span_of(const source *from, size_t start, size_t end, size_t *first, size_t *last) {
  *first = from->starts[start];
  *last = 0;
  for (size_t i = start; i < end; ++i)
    if (from->ends[i] > *last) *last = from->ends[i];
}

source joined_spans(work *w, const source *from, const spans *kept) {
  size_t size = 0;
  for (size_t i = 0; i < kept->count; ++i) size += kept->all[i].end - kept->all[i].start + (i > 0);
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends), count = 0;
  for (size_t i = 0; i < kept->count; ++i) {
    span each = kept->all[i];
    if (i) {
      text[count] = ' ';
      starts[count] = ends[count - 1];
      ends[count++] = from->starts[each.start];
    }
    for (size_t place = each.start; place < each.end; ++place, ++count) {
      text[count] = from->text.at[place];
      starts[count] = from->starts[place];
      ends[count] = from->ends[place];
    }
  }
  return (source){{text, size}, starts, ends};
}

source edited(work *w, source from, const edits *made) {
  if (!made->count) return from;
  size_t size = from.text.size, count = 0, done = 0;
  for (size_t i = 0; i < made->count; ++i) size += made->all[i].text.size - (made->all[i].end - made->all[i].start);
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends);
  for (size_t i = 0; i <= made->count; ++i) {
    size_t until = i < made->count ? made->all[i].start : from.text.size;
    for (; done < until; ++done, ++count) {
      text[count] = from.text.at[done];
      starts[count] = from.starts[done];
      ends[count] = from.ends[done];
    }
    if (i == made->count) break;
    const edit *each = &made->all[i];
    size_t first = 0, last = 0;
    if (each->start < each->end) span_of(&from, each->start, each->end, &first, &last);
    else if (each->start) first = last = from.ends[each->start - 1];
    else if (from.text.size) first = last = from.starts[0];
    for (size_t j = 0; j < each->text.size; ++j, ++count) {
      text[count] = each->text.at[j];
      starts[count] = first;
      ends[count] = last;
    }
    done = each->end;
  }
  return (source){{text, size}, starts, ends};
}

int has_words(work *w, string text) {
  match found;
  return search(w, &PATTERNS[PICTURES_SPOKEN], text, 0, &found);
}
