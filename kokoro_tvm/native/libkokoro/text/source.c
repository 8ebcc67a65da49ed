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

source joined_spans(work *w, const source *from, const spans *kept) {
  size_t size = 0;
  for (size_t i = 0; i < kept->count; ++i) size += kept->all[i].end - kept->all[i].start + (i > 0);
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends), count = 0, next = 0;
  source made = {{text, size}, starts, ends, {0}, from->marked};
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
    for (; next < from->links.count && from->links.all[next].start < each.end; ++next) {
      text_link moved = from->links.all[next];
      if (moved.start < each.start) continue; /* it begins between two */
      moved.start = moved.start - each.end + count;
      moved.end = moved.end - each.end + count;
      if (moved.end > size) moved.end = size;
      PUSH(w, made.links, moved);
    }
  }
  return made;
}

source edited(work *w, source from, const edits *made) {
  if (!made->count) return from;
  size_t size = from.text.size, count = 0, done = 0;
  /* Where in the edited text the words begin and end that a character is in. */
  size_t *first_of = from.links.count ? room(w, size, sizeof *first_of) : NULL;
  size_t *behind = from.links.count ? room(w, size, sizeof *behind) : NULL;
  for (size_t i = 0; i < made->count; ++i) size += made->all[i].text.size - (made->all[i].end - made->all[i].start);
  int32_t *text = room(w, size, sizeof *text);
  size_t *starts = room(w, size, sizeof *starts), *ends = room(w, size, sizeof *ends);
  for (size_t i = 0; i <= made->count; ++i) {
    size_t until = i < made->count ? made->all[i].start : from.text.size;
    for (; done < until; ++done, ++count) {
      if (first_of) first_of[done] = count, behind[done] = count + 1;
      text[count] = from.text.at[done];
      starts[count] = from.starts[done];
      ends[count] = from.ends[done];
    }
    if (i == made->count) break;
    const edit *each = &made->all[i];
    size_t first = 0, last = 0;
    for (size_t place = each->start; first_of && place < each->end; ++place)
      first_of[place] = count, behind[place] = count + each->text.size;
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
  source found = {{text, size}, starts, ends, {0}, from.marked};
  for (size_t i = 0; i < from.links.count; ++i) {
    text_link moved = from.links.all[i];
    moved.start = first_of[moved.start];
    moved.end = behind[moved.end - 1];
    if (moved.start < moved.end) PUSH(w, found.links, moved);
  }
  return found;
}

source freely_edited(work *w, source from, const edits *made) {
  edits kept = {0};
  size_t next = 0;
  if (!from.links.count) return edited(w, from, made);
  for (size_t i = 0; i < made->count; ++i) {
    edit each = made->all[i];
    while (next < from.links.count && from.links.all[next].end <= each.start) ++next;
    if (next == from.links.count || each.end <= from.links.all[next].start) PUSH(w, kept, each);
  }
  return edited(w, from, &kept);
}

source aliased(work *w, source from) {
  edits made = {0};
  links others = {0};
  for (size_t i = 0; i < from.links.count; ++i) {
    text_link each = from.links.all[i];
    if (IS_NONE(each.alias)) PUSH(w, others, each);
    else PUSH(w, made, (edit){each.start, each.end, each.alias});
  }
  from.links = others;
  return edited(w, from, &made);
}

int is_speakable(work *w, const source *of) {
  if (has_words(w, of->text)) return 1;
  for (size_t i = 0; i < of->links.count; ++i)
    if (of->links.all[i].phonemes.size) return 1;
  return 0;
}

int has_words(work *w, string text) {
  match found;
  return search(w, &PATTERNS[PICTURES_SPOKEN], text, 0, &found);
}
