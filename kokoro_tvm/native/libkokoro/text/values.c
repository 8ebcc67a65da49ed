/* Values in markup: times, factors, phonemes (runtime/text/markup/values.py). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "items.h"
#include "numbers.h"
#include "patterns.h"

/* Parse digits with a point. strtod gets none, because the locale decides which mark it takes for one. */
static double number_of(string written) {
  char digits[32];
  int count = 0, fraction = 0, pointed = 0;
  for (size_t i = 0; i < written.size && count < 20; ++i) {
    if (written.at[i] == '.') {
      pointed = 1;
      continue;
    }
    digits[count++] = (char)written.at[i];
    fraction += pointed;
  }
  snprintf(digits + count, sizeof digits - (size_t)count, "e-%d", fraction);
  return strtod(digits, NULL);
}

NORETURN static void refuse(work *w, string value, const char *what) {
  fail(w->s, FAILURE_INPUT, "%s %s", encode_utf8(w, quote(w, value, MOST_SHOWN)), what);
}

static double check_limits(work *w, double factor, const char *what, string value) {
  if (factor >= FACTORS_LOW && factor <= FACTORS_HIGH) return factor;
  refuse(w, value, format(w->s, &w->s->scratch, "is no %s: the factor should lie within %.1f and %.1f.", what, FACTORS_LOW,
                          FACTORS_HIGH));
}

double parse_duration(work *w, string value, const char *example) {
  match result;
  if (!full_match(w, &PATTERNS[VALUES_TIME], strip_spaces(value), &result))
    refuse(w, value, format(w->s, &w->s->scratch, "is no length of a pause. Write %s.", example));
  value = strip_spaces(value);
  double seconds = number_of(group_of(value, &result, 1)) / (group_of(value, &result, 2).size == 2 ? 1000 : 1);
  if (seconds > LONGEST_PAUSE)
    fail(w->s, FAILURE_INPUT, "A pause of %s is too long; %d s is the longest.", encode_utf8(w, quote(w, value, MOST_SHOWN)),
         LONGEST_PAUSE);
  return seconds;
}

static const named_number *named_value(const named_number *all, size_t count, string name) { /* or NULL */
  for (size_t i = 0; i < count; ++i)
    if (is_ascii_text(name, all[i].name)) return &all[i];
  return NULL;
}

/* Parse a change such as "+20%" or "-2st"; return its unit, or 0. */
static int32_t parse_change(work *w, string value, double *number) {
  match result;
  if (!full_match(w, &PATTERNS[VALUES_CHANGE], value, &result)) return 0;
  string written = group_of(value, &result, 1);
  int negative = *written.at == '-';
  *number = number_of(slice(written, negative || *written.at == '+', written.size));
  if (negative) *number = -*number;
  return *group_of(value, &result, 2).at;
}

double parse_rate(work *w, string value) {
  match result;
  double change;
  value = strip_spaces(value);
  const named_number *by_name = named_value(RATES, sizeof RATES / sizeof *RATES, value);
  if (by_name) return by_name->value;
  if (full_match(w, &PATTERNS[VALUES_FACTOR], value, &result))
    return check_limits(w, number_of(group_of(value, &result, 1)) / (group_of(value, &result, 2).size ? 100 : 1), "speed", value);
  if (parse_change(w, value, &change) == '%') return check_limits(w, 1 + change / 100, "speed", value);
  refuse(w, value, "is no speed. Write a factor or a percentage, 1.2 or 120%.");
}

static int is_hertz(work *w, string value) {
  match result;
  return full_match(w, &PATTERNS[VALUES_HERTZ], lower(w, value), &result);
}

double parse_pitch(work *w, string value, double around) {
  double change;
  value = strip_spaces(value);
  const named_number *by_name = named_value(PITCHES, sizeof PITCHES / sizeof *PITCHES, value);
  if (by_name) return by_name->value;
  int32_t unit = parse_change(w, value, &change);
  if (unit == '%') return check_limits(w, around * (1 + change / 100), "pitch", value);
  if (unit) return check_limits(w, around * pow(2, (change < -99 ? -99 : change > 99 ? 99 : change) / 12), "pitch", value);
  if (is_hertz(w, value)) return 0;
  refuse(w, value, "is no pitch. Write a change such as +10% or -2st, or a name such as high.");
}

string check_symbols(work *w, const vocabulary *names, string phonemes) {
  builder unknown = {0};
  phonemes = single_spaces(w, phonemes);
  for (size_t i = 0; i < phonemes.size; ++i)
    if (phonemes.at[i] != ' ' && !names->knows(names->with, phonemes.at[i])) put_char(w, &unknown, phonemes.at[i]);
  if (unknown.count)
    fail(w->s, FAILURE_INPUT, "The model does not know these phonemes of %s: %s. Write them in misaki's alphabet.",
         encode_utf8(w, quote(w, phonemes, MOST_SHOWN)), encode_utf8(w, list_symbols(w, BUILT(unknown))));
  return some(phonemes);
}

static string replaced(work *w, string text, const replacement *all, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    string old = decode_utf8(w, all[i].symbols), new = decode_utf8(w, all[i].replacement);
    builder out = {0};
    for (size_t place = 0; place < text.size;) {
      if (starts_with(slice(text, place, text.size), old)) put(w, &out, new), place += old.size;
      else put_char(w, &out, text.at[place++]);
    }
    text = BUILT(out);
  }
  return text;
}

#define REPLACED(w, text, table) replaced(w, text, table, sizeof table / sizeof *table)

string convert_ipa(work *w, string phonemes, char letter) {
  phonemes = REPLACED(w, phonemes, IPA);
  if (letter != 'a' && letter != 'b') return REPLACED(w, phonemes, IPA_OTHERS);
  phonemes = REPLACED(w, phonemes, IPA_ENGLISH);
  return letter == 'a' ? REPLACED(w, phonemes, IPA_AMERICAN) : REPLACED(w, phonemes, IPA_BRITISH);
}
