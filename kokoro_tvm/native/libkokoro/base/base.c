/* Memory, failures and UTF-8. */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct block {
  struct block *next;
  void (*release)(void *);
  void *resource;
} block;

static void set_text(scope *s, int code, const char *pattern, va_list arguments) {
  s->code = code;
  if (!s->message) return;
  size_t end = s->message_size - 1;
  int before = snprintf(s->message, s->message_size, "%s", s->where ? s->where : "");
  size_t begin = before < 0 ? 0 : (size_t)before < end ? (size_t)before : end;
  int length = vsnprintf(s->message + begin, s->message_size - begin, pattern, arguments);
  if (length < 0 || begin + (size_t)length <= end) return;
  while (end > 0 && ((unsigned char)s->message[end] & 0xC0) == 0x80) --end; /* do not cut a character in half */
  s->message[end] = 0;
}

void fail(scope *s, int code, const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  set_text(s, code, pattern, arguments);
  va_end(arguments);
  longjmp(s->failed, 1);
}

void fail_memory(scope *s) { fail(s, FAILURE_SYSTEM, "There is not enough memory."); }

void give(scope *s, arena *to, void (*function)(void *), void *resource) {
  block *result = malloc(sizeof *result);
  if (!result) {
    function(resource);
    fail_memory(s);
  }
  result->release = function;
  result->resource = resource;
  result->next = to->blocks;
  to->blocks = result;
}

void *take(scope *s, arena *from, size_t count, size_t size) {
  if (size && count > ((size_t)-1 - 2 * ALIGNMENT) / size) fail_memory(s);
  char *raw = calloc(1, count * size + ALIGNMENT);
  if (!raw)
    fail(s, FAILURE_SYSTEM, "There is not enough memory: %zu bytes more were wanted. End other programs, or raise the limit "
                           "of memory.", count * size);
  give(s, from, free, raw);
  return raw + (ALIGNMENT - (uintptr_t)raw % ALIGNMENT) % ALIGNMENT;
}

char *format(scope *s, arena *from, const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, pattern, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : take(s, from, (size_t)length + 1, 1);
  if (text) vsnprintf(text, (size_t)length + 1, pattern, again);
  va_end(again);
  if (!text) fail_memory(s);
  return text;
}

const char *shorten(scope *s, const char *text, size_t size) {
  enum { MOST = 40 };
  size_t shown = 0, count = 0;
  while (shown < size && (((unsigned char)text[shown] & 0xC0) == 0x80 || count++ < MOST)) ++shown;
  return format(s, &s->scratch, "%.*s%s", (int)shown, text, shown < size ? "…" : "");
}

void release(arena *all) {
  while (all->blocks) {
    block *last = all->blocks;
    all->blocks = last->next;
    last->release(last->resource);
    free(last);
  }
}

int32_t next_symbol(const char **text) {
  const unsigned char *at = (const unsigned char *)*text;
  if (*at == 0) return 0;
  if (*at < 0x80) return ++*text, *at;
  int more = *at >= 0xF0 && *at < 0xF5 ? 3 : *at >= 0xE0 && *at < 0xF0 ? 2 : *at >= 0xC2 && *at < 0xE0 ? 1 : 0;
  if (!more) return -1;
  static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
  int32_t symbol = *at & (0x3F >> more);
  for (int i = 1; i <= more; ++i) {
    if ((at[i] & 0xC0) != 0x80) return -1;
    symbol = symbol << 6 | (at[i] & 0x3F);
  }
  if (symbol < least[more] || symbol > 0x10FFFF || (symbol >= 0xD800 && symbol < 0xE000)) return -1;
  *text += more + 1;
  return symbol;
}

int is_space(int32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
