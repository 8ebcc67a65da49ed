#include "characters.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

void *room(work *w, size_t count, size_t size) {
  if (size && count > ((size_t)-1 >> 1) / size) fail_memory(w->s);
  size_t bytes = (count * size + 15) & ~(size_t)15;
  if (bytes > BLOCK / 4) return take(w->s, w->memory, bytes, 1);
  if (!w->next || bytes > (size_t)(w->end - w->next)) {
    w->next = take(w->s, w->memory, BLOCK, 1);
    w->end = w->next + BLOCK;
  }
  void *result = w->next;
  w->next += bytes;
  return result;
}

void *grow_list(work *w, void *all, size_t count, size_t *most, size_t size) {
  if (count < *most) return all;
  *most = count < 8 ? 8 : 2 * count;
  void *more = room(w, *most, size);
  if (count) memcpy(more, all, count * size);
  return more;
}

string some(string text) {
  static const int32_t nothing;
  return text.at ? text : (string){&nothing, 0};
}

void put(work *w, builder *text, string more) {
  if (!more.size) return;
  if (text->count + more.size > text->room) {
    size_t most = 2 * (text->count + more.size);
    int32_t *all = room(w, most, sizeof *all);
    if (text->count) memcpy(all, text->all, text->count * sizeof *all);
    text->all = all;
    text->room = most;
  }
  memcpy(text->all + text->count, more.at, more.size * sizeof *more.at);
  text->count += more.size;
}

void put_char(work *w, builder *text, int32_t c) { PUSH(w, *text, c); }

void put_ascii(work *w, builder *text, const char *more) {
  while (*more) put_char(w, text, (unsigned char)*more++);
}

string slice(string text, size_t start, size_t end) {
  if (end > text.size) end = text.size;
  if (start > end) start = end;
  return (string){text.at + start, end - start};
}

string join(work *w, string a, string b) {
  builder text = {0};
  put(w, &text, a);
  put(w, &text, b);
  return BUILT(text);
}

string decode_utf8(work *w, const char *utf8) {
  builder text = {0};
  while (*utf8) {
    int32_t c = next_symbol(&utf8);
    if (c < 0) fail(w->s, FAILURE_INPUT, "The text is not valid UTF-8. Convert it to UTF-8 first.");
    put_char(w, &text, c);
  }
  return BUILT(text);
}

char *encode_utf8(work *w, string text) {
  char *result = room(w, 4 * text.size + 1, 1), *out = result;
  for (size_t i = 0; i < text.size; ++i) {
    int32_t c = text.at[i];
    if (c < 0x80) {
      *out++ = (char)c;
      continue;
    }
    static const int first[] = {0, 0xC0, 0xE0, 0xF0};
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)(first[more] | c >> (6 * more));
    while (more--) *out++ = (char)(0x80 | (c >> (6 * more) & 0x3F));
  }
  return result;
}

int is_same(string a, string b) {
  return a.size == b.size && (!a.size || memcmp(a.at, b.at, a.size * sizeof *a.at) == 0);
}

int is_ascii_text(string text, const char *ascii) {
  for (size_t i = 0; i < text.size; ++i)
    if (!ascii[i] || text.at[i] != (unsigned char)ascii[i]) return 0;
  return !ascii[text.size];
}

int compare(string a, string b) {
  for (size_t i = 0; i < a.size && i < b.size; ++i)
    if (a.at[i] != b.at[i]) return a.at[i] < b.at[i] ? -1 : 1;
  return a.size < b.size ? -1 : a.size > b.size;
}

int starts_with(string text, string begin) {
  return begin.size <= text.size && is_same((string){text.at, begin.size}, begin);
}

int contains(string text, int32_t c) {
  for (size_t i = 0; i < text.size; ++i)
    if (text.at[i] == c) return 1;
  return 0;
}

int is_one_of(int32_t c, const char *utf8) {
  for (int32_t element; (element = next_symbol(&utf8)) > 0;)
    if (element == c) return 1;
  return 0;
}

string strip_spaces_right(string text) {
  while (text.size && is_space(text.at[text.size - 1])) --text.size;
  return text;
}

string strip_spaces(string text) {
  while (text.size && is_space(*text.at)) ++text.at, --text.size;
  return strip_spaces_right(text);
}
