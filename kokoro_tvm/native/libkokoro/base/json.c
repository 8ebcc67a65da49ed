/* JSON (RFC 8259). */
#include "base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST_NUMBER = 64, MOST = 1 << 18 };
static const char *const KINDS[] = {"nothing", "bool", "int", "float", "str", "list", "dict"};

typedef struct reader {
  scope *s;
  const char *start, *at, *end;
  const char *why; /* set at the first error */
  int values;
} reader;

static json *read_value(reader *r, const json *parent, const char *key, int depth);

static void *refuse(reader *r, const char *why) {
  if (!r->why) r->why = why;
  return NULL;
}

static void skip_space(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) ++r->at;
}

static int take_word(reader *r, const char *word) {
  size_t size = strlen(word);
  if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size)) return 0;
  r->at += size;
  return 1;
}

/* Return four hexadecimal digits as a number, or -1. */
static int32_t read_unit(reader *r) {
  int32_t unit = 0;
  for (int i = 0; i < 4; ++i, ++r->at) {
    if (r->at == r->end) return -1;
    const char *digits = "0123456789abcdefABCDEF", *result = *r->at ? strchr(digits, *r->at) : NULL;
    if (!result) return -1;
    unit = unit * 16 + (int32_t)(result - digits < 16 ? result - digits : result - digits - 6);
  }
  return unit;
}

static char *write_symbol(char *out, int32_t symbol) {
  if (symbol < 0x80) return *out++ = (char)symbol, out;
  static const int first[] = {0, 0xC0, 0xE0, 0xF0};
  int more = symbol < 0x800 ? 1 : symbol < 0x10000 ? 2 : 3;
  *out++ = (char)(first[more] | symbol >> (6 * more));
  while (more--) *out++ = (char)(0x80 | (symbol >> (6 * more) & 0x3F));
  return out;
}

static char *read_escape(reader *r, char *out) {
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (r->at == r->end) return refuse(r, "a string does not end");
  char name = *r->at++;
  const char *result = name ? strchr(names, name) : NULL;
  if (result) return *out++ = meanings[result - names], out;
  int32_t symbol = name == 'u' ? read_unit(r) : -1;
  if (symbol >= 0xD800 && symbol < 0xDC00) {
    int32_t low = take_word(r, "\\u") ? read_unit(r) : -1;
    symbol = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((symbol - 0xD800) << 10) + (low - 0xDC00) : -1;
  }
  if (symbol <= 0 || (symbol >= 0xDC00 && symbol < 0xE000)) return refuse(r, "an escape that is no character");
  return write_symbol(out, symbol);
}

/* Read a text after its quotation mark. */
static const char *read_text(reader *r) {
  const char *end = r->at;
  while (end < r->end && *end != '"') end += *end == '\\' ? 2 : 1;
  if (end >= r->end) return refuse(r, "a string does not end");
  char *text = take(r->s, &r->s->scratch, (size_t)(end - r->at) + 1, 1), *out = text;
  while (*r->at != '"') {
    if (*r->at == '\\') {
      ++r->at;
      if (!(out = read_escape(r, out))) return NULL;
      continue;
    }
    if ((unsigned char)*r->at < 0x20) return refuse(r, "a control character in a string");
    const char *next = r->at; /* the content ends with a NUL, so this reads nothing after it */
    if (next_symbol(&next) < 0) return refuse(r, "a byte that is no UTF-8");
    while (r->at < next) *out++ = *r->at++;
  }
  ++r->at;
  return text;
}

static json *read_number(reader *r, json *value) {
  char copy[LONGEST_NUMBER + 1];
  const char *at = r->at;
  int whole = 1;
#define DIGITS() (at < r->end && *at >= '0' && *at <= '9')
  if (at < r->end && *at == '-') ++at;
  if (!DIGITS()) return refuse(r, "a value is missing");
  if (*at == '0') ++at;
  else while (DIGITS()) ++at;
  if (at < r->end && *at == '.') {
    ++at, whole = 0;
    if (!DIGITS()) return refuse(r, "a number without digits");
    while (DIGITS()) ++at;
  }
  if (at < r->end && (*at == 'e' || *at == 'E')) {
    ++at, whole = 0;
    if (at < r->end && (*at == '+' || *at == '-')) ++at;
    if (!DIGITS()) return refuse(r, "a number without digits");
    while (DIGITS()) ++at;
  }
#undef DIGITS
  size_t size = (size_t)(at - r->at);
  if (size > LONGEST_NUMBER) return refuse(r, "a number of too many digits");
  memcpy(copy, r->at, size);
  copy[size] = 0;
  errno = 0;
  value->kind = whole ? WHOLE : NUMBER;
  if (whole) value->whole = strtoll(copy, NULL, 10);
  else value->number = strtod(copy, NULL);
  if (whole && errno) return refuse(r, "a whole number of more than 64 bits");
  r->at = at;
  return value;
}

static json *read_items(reader *r, json *value, char last, int depth) {
  json **end = &value->first;
  if (depth == DEEPEST) return refuse(r, "values nested too deeply");
  skip_space(r);
  if (r->at < r->end && *r->at == last) return ++r->at, value;
  for (;;) {
    const char *key = NULL;
    skip_space(r);
    if (last == '}') {
      if (!take_word(r, "\"")) return refuse(r, "a key is missing");
      if (!(key = read_text(r))) return NULL;
      skip_space(r);
      if (!take_word(r, ":")) return refuse(r, "a colon is missing");
    }
    json *item = read_value(r, value, key, depth + 1);
    if (!item) return NULL;
    *end = item, end = &item->next, ++value->count;
    skip_space(r);
    if (r->at < r->end && *r->at == last) return ++r->at, value;
    if (!take_word(r, ",")) return refuse(r, "a comma is missing");
  }
}

static json *read_value(reader *r, const json *parent, const char *key, int depth) {
  if (++r->values > MOST) return refuse(r, "too many values");
  json *value = take(r->s, &r->s->scratch, 1, sizeof *value);
  value->parent = parent;
  value->key = key;
  value->index = parent ? parent->count : 0;
  skip_space(r);
  if (take_word(r, "null")) return value;
  if (take_word(r, "true")) return value->kind = BOOLEAN, value->whole = 1, value;
  if (take_word(r, "false")) return value->kind = BOOLEAN, value;
  if (take_word(r, "\"")) return value->kind = TEXT, (value->text = read_text(r)) ? value : NULL;
  if (take_word(r, "[")) return value->kind = LIST, read_items(r, value, ']', depth);
  if (take_word(r, "{")) return value->kind = OBJECT, read_items(r, value, '}', depth);
  return read_number(r, value);
}

json *parse(scope *s, const char *text, size_t size, const char *file, char why[120]) {
  char *copy = take(s, &s->scratch, size + 1, 1);
  memcpy(copy, text, size);
  reader r = {s, copy, copy, copy + size, NULL, 0};
  json *value = read_value(&r, NULL, file, 0);
  skip_space(&r);
  if (value && r.at == r.end) return value;
  refuse(&r, "something stands behind the value");
  int line = 1;
  const char *begin = copy;
  for (const char *at = copy; at < r.at && at < r.end; ++at)
    if (*at == '\n') ++line, begin = at + 1;
  snprintf(why, 120, "%s: line %d, byte %td", r.why, line, r.at - begin + 1);
  return NULL;
}

const char *place_of(scope *s, const json *value) {
  if (!value->parent) return value->key;
  const char *before = place_of(s, value->parent);
  return value->key ? format(s, &s->scratch, "%s: %s", before, value->key)
                    : format(s, &s->scratch, "%s[%lld]", before, (long long)value->index);
}

const json *find_value(const json *object, const char *key) {
  const json *result = NULL;
  for (const json *item = object->first; item; item = item->next)
    if (item->key && strcmp(item->key, key) == 0) result = item; /* the last one counts, as in Python */
  return result && result->kind != NOTHING ? result : NULL;
}

const json *find(scope *s, const json *object, const char *key, kind expected) {
  if (object->kind != OBJECT)
    fail(s, FAILURE_BUNDLE, "%s should be a JSON object but is %s. " MEND, place_of(s, object), KINDS[object->kind]);
  const json *result = find_value(object, key);
  if (result && result->kind != expected)
    fail(s, FAILURE_BUNDLE, "%s: '%s' should be %s but is %s. " MEND, place_of(s, object), key, KINDS[expected],
         KINDS[result->kind]);
  return result;
}

const json *get(scope *s, const json *object, const char *key, kind expected) {
  const json *result = find(s, object, key, expected);
  if (result) return result;
  for (const json *item = object->first; item; item = item->next)
    if (strcmp(item->key, key) == 0)
      fail(s, FAILURE_BUNDLE, "%s: '%s' should be %s but is nothing. " MEND, place_of(s, object), key, KINDS[expected]);
  fail(s, FAILURE_BUNDLE, "%s lacks '%s'. " MEND, place_of(s, object), key);
}

int64_t get_positive(scope *s, const json *object, const char *key) {
  int64_t value = get(s, object, key, WHOLE)->whole;
  if (value <= 0 || value > 1 << 20) /* so that no size of an array overflows */
    fail(s, FAILURE_BUNDLE, "%s: '%s' should be positive, and no more than 2^20, but is %lld. Build the bundle again.", place_of(s, object), key,
         (long long)value);
  return value;
}

const char *get_text(scope *s, const json *object, const char *key) { return get(s, object, key, TEXT)->text; }
