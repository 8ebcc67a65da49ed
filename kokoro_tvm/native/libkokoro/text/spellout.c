/* Numbers in words by the spellout rules of Unicode CLDR (runtime/text/frontend/normalization/spellout.py). Numbers are
 * digits without leading zeros, because they may exceed integers. */
#include "language.h"

#include "patterns.h"

enum { DEEPEST = 500 };
typedef struct speller {
  work *w;
  const language *l;
  int depth;
} speller;

static int apply(speller *sp, string number, const spellings *set, size_t place, builder *words);

static string strip_zeros(string figures) { /* without leading zeros */
  while (figures.size > 1 && *figures.at == '0') ++figures.at, --figures.size;
  return figures;
}

static int at_least(string number, string least) {
  return number.size != least.size ? number.size > least.size : compare(number, least) >= 0;
}

static int is_zero(string number) { return number.size == 1 && *number.at == '0'; }

/* Divide by a power of ten or by a number of 31 bits. */
static void divide(speller *sp, string number, string divisor, string *quotient, string *rest) {
  static const int32_t zero[] = {'0'};
  size_t zeros = 0;
  uint64_t by = 0, left = 0;
  while (zeros + 1 < divisor.size && divisor.at[zeros + 1] == '0') ++zeros;
  if (*divisor.at == '1' && zeros + 1 == divisor.size) {
    size_t whole = number.size > zeros ? number.size - zeros : 0;
    *quotient = whole ? slice(number, 0, whole) : (string){zero, 1};
    *rest = whole < number.size ? strip_zeros(slice(number, whole, number.size)) : (string){zero, 1};
    return;
  }
  if (divisor.size > 9) fail(sp->w->s, FAILURE_BUNDLE, "The bundle's numbers have a divisor that this version does not read.");
  for (size_t i = 0; i < divisor.size; ++i) by = 10 * by + (uint64_t)(divisor.at[i] - '0');
  builder out = {0}, remainder = {0};
  for (size_t i = 0; i < number.size; ++i) {
    left = 10 * left + (uint64_t)(number.at[i] - '0');
    put_char(sp->w, &out, (int32_t)('0' + left / by));
    left %= by;
  }
  char figures[24], *end = figures;
  do *end++ = (char)('0' + left % 10);
  while (left /= 10);
  while (end > figures) put_char(sp->w, &remainder, *--end);
  *quotient = strip_zeros(BUILT(out));
  *rest = BUILT(remainder);
}

static const spellings *find_set(const language *l, string name) {
  for (size_t i = 0; i < l->set_count; ++i)
    if (is_same(l->sets[i].name, name)) return &l->sets[i];
  return NULL;
}

static int by_set(speller *sp, string number, const spellings *set, builder *words) {
  if (!set) fail(sp->w->s, FAILURE_BUNDLE, "The bundle's numbers name rules that are not there. Build the bundle again.");
  size_t place = 0;
  while (place < set->count && at_least(number, set->all[place].least)) ++place;
  return place && apply(sp, number, set, place - 1, words);
}

static int part(speller *sp, string text, const match *result, string number, const spellings *set, size_t place,
                builder *words);

static int text_of(speller *sp, string text, string number, const spellings *set, size_t place, builder *words) {
  size_t done = 0;
  for (match result = FIRST_MATCH; next_match(sp->w, &PATTERNS[SPELLOUT_PART], text, &result); done = result.end) {
    put(sp->w, words, slice(text, done, result.start));
    if (!part(sp, text, &result, number, set, place, words)) return 0;
  }
  put(sp->w, words, slice(text, done, text.size));
  return 1;
}

static int part(speller *sp, string text, const match *result, string number, const spellings *set, size_t place,
                builder *words) {
  string quotient, rest, name;
  divide(sp, number, set->all[place].divisor, &quotient, &rest);
  if (has_group(result, SPELLOUT_PART_ONE)) {
    int one = quotient.size == 1 && *quotient.at == '1';
    put(sp->w, words, group_of(text, result, one ? SPELLOUT_PART_ONE : SPELLOUT_PART_OTHER));
    return 1;
  }
  if (has_group(result, SPELLOUT_PART_REST))
    return is_zero(rest) || text_of(sp, group_of(text, result, SPELLOUT_PART_REST), number, set, place, words);
  if (has_group(result, SPELLOUT_PART_HIGH)) {
    name = group_of(text, result, SPELLOUT_PART_BY);
    return by_set(sp, quotient, name.size ? find_set(sp->l, name) : set, words);
  }
  if (has_group(result, SPELLOUT_PART_BEFORE)) return place && apply(sp, rest, set, place - 1, words);
  if (has_group(result, SPELLOUT_PART_LOW)) {
    name = group_of(text, result, SPELLOUT_PART_WITH);
    return by_set(sp, rest, name.size ? find_set(sp->l, name) : set, words);
  }
  const spellings *other = find_set(sp->l, group_of(text, result, SPELLOUT_PART_AS));
  return other && by_set(sp, number, other, words);
}

static int apply(speller *sp, string number, const spellings *set, size_t place, builder *words) {
  string quotient, rest, of_base;
  if (++sp->depth > DEEPEST) fail(sp->w->s, FAILURE_BUNDLE, "The bundle's numbers go round in circles. Build the bundle again.");
  for (;; --place) { /* skip rules for a remainder if there is none */
    divide(sp, number, set->all[place].divisor, &quotient, &rest);
    divide(sp, set->all[place].least, set->all[place].divisor, &quotient, &of_base);
    if (!place || !is_zero(rest) || is_zero(of_base) || !contains(set->all[place].text, 0x2192)) break;
  }
  int spelled = text_of(sp, set->all[place].text, number, set, place, words);
  --sp->depth;
  return spelled;
}

int spell_out(work *w, const language *l, string number, string set, string *words) {
  speller sp = {w, l, 0};
  builder out = {0};
  int spelled = by_set(&sp, strip_zeros(number), find_set(l, set), &out);
  *words = BUILT(out);
  return spelled;
}
