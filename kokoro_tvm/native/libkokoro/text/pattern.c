/* An interpreter of regular expressions. It tries alternatives in the order of Python's engine and backtracks. It
 * recurses only for lookaround. */
#include "characters.h"

#include <string.h>

/* Operands of each operation; OPERATIONS of kokoro_tvm/native/libkokoro/patterns.py. Places are of the code. */
enum {
  MATCH,
  CHAR,      /* character */
  SET,       /* class */
  SPLIT,     /* place: continue, and there on a failure */
  JUMP,      /* place */
  SAVE,      /* slot: gets the place in the text */
  RUN,       /* class, least, most (-1: any): greedy */
  LAZY_RUN,  /* the same, lazy */
  ENTER,     /* slot: set the counter to 0 */
  LOOP,      /* slot, least, most, place of the end: once more, else the end */
  LAZY_LOOP, /* the same: the end, else once more */
  COUNT,     /* slot: increment, at the beginning of the loop's body */
  AHEAD,     /* place of the end: the code up to MATCH has to match here */
  NOT_AHEAD,
  BEHIND, /* width, place of the end */
  NOT_BEHIND,
  AT,     /* see below */
  SAME,   /* group: its text once more */
  SWITCH, /* count, place for others, then (character, place) in order */
};
enum { BEGINNING, END, END_STRING, BOUNDARY, NOT_BOUNDARY };

enum { HEAD = 3, MOST_SLOTS = 128, STEPS = 4096 };
static const size_t UNSET = (size_t)-1;

/* An alternative to return to. */
typedef struct choice {
  enum { GO_ON, RESTORE, FEWER, MORE } kind;
  int32_t code;  /* where to continue; RESTORE: the slot */
  size_t at, end; /* in the text; FEWER: from `end` down to `at`, MORE: from `at` up to `end`. RESTORE: `at` is the value */
} choice;

typedef struct matcher {
  work *w;
  const int32_t *head, *code, *sets;
  string text;
  choice *choices; /* in the call's memory, shared by all expressions */
  size_t count;
  size_t slots[MOST_SLOTS];
  uint64_t steps, most;
} matcher;

static int takes(const matcher *m, int32_t set, int32_t c) {
  const int32_t *at = m->sets + set;
  if (c < 128) return (uint32_t)at[c >> 5] >> (c & 31) & 1;
  int32_t low = 0, high = at[4];
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (at[6 + 2 * middle] < c) low = middle + 1;
    else high = middle;
  }
  return low < at[4] && at[5 + 2 * low] <= c;
}

static void step(matcher *m) {
  if (++m->steps > m->most)
    fail(m->w->s, FAILURE_INPUT, "The text takes too long to read: an expression takes more than %d steps a character.", STEPS);
}

static void later(matcher *m, int kind, int32_t code, size_t at, size_t end) {
  m->choices = m->w->choices = grow_list(m->w, m->choices, m->count, &m->w->choices_room, sizeof *m->choices);
  m->choices[m->count++] = (choice){kind, code, at, end};
}

static void set_slot(matcher *m, int32_t slot, size_t value) {
  later(m, RESTORE, slot, m->slots[slot], 0);
  m->slots[slot] = value;
}

static int is_word(const matcher *m, size_t place) {
  return place < m->text.size && (m->text.at[place] == '_' || is_alnum(m->text.at[place]));
}

static int is_at(const matcher *m, int32_t where, size_t place) {
  size_t size = m->text.size;
  if (where == BEGINNING) return place == 0;
  if (where == END) return place == size || (place + 1 == size && m->text.at[place] == '\n');
  if (where == END_STRING) return place == size;
  return (is_word(m, place - 1) != is_word(m, place)) == (where == BOUNDARY);
}

/* Return the place of a SWITCH for a character. c: -1 at the end of the text. */
static int32_t select_place(const int32_t *table, int32_t c) {
  int32_t low = 0, high = table[0];
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (table[2 + 2 * middle] < c) low = middle + 1;
    else high = middle;
  }
  return low < table[0] && table[2 + 2 * low] == c ? table[3 + 2 * low] : table[1];
}

/* Count characters of a class from a place on. */
static size_t count_characters(matcher *m, int32_t set, size_t place, int32_t most) {
  size_t end = most < 0 || (size_t)most > m->text.size - place ? m->text.size : place + (size_t)most, at = place;
  while (at < end && takes(m, set, m->text.at[at])) ++at;
  m->steps += at - place;
  return at - place;
}

/* Backtrack to the next alternative above `base`; 0 if there is none. */
static int backtrack(matcher *m, size_t base, int32_t *code, size_t *place) {
  while (m->count > base) {
    choice *last = &m->choices[m->count - 1];
    if (last->kind == RESTORE) {
      m->slots[last->code] = last->at;
      --m->count;
      continue;
    }
    *code = last->code;
    if (last->kind == GO_ON) {
      *place = last->at;
      --m->count;
    } else if (last->kind == FEWER) {
      *place = --last->end;
      if (last->end == last->at) --m->count;
    } else {
      *place = ++last->at;
      if (last->at == last->end) --m->count;
    }
    step(m);
    return 1;
  }
  return 0;
}

static void loop(matcher *m, int32_t *code, size_t place) {
  const int32_t *at = m->code + *code;
  size_t count = m->slots[at[1]];
  int32_t again = *code + 5, behind = at[4];
  int lazy = *at == LAZY_LOOP, ends = at[3] >= 0 && count >= (size_t)at[3];
  if (count >= (size_t)at[2] && !ends) later(m, GO_ON, lazy ? again : behind, place, 0);
  *code = count >= (size_t)at[2] && (ends || lazy) ? behind : again;
}

/* Match the code from a place on, up to the end of the text if `whole`. `end` gets the end of the match. Saved slots
 * stay and can be restored. */
static int run(matcher *m, int32_t code, size_t place, int whole, size_t *end) {
  size_t base = m->count, inner;
  for (;;) {
    const int32_t *at = m->code + code;
    int32_t c = place < m->text.size ? m->text.at[place] : -1;
    int fits = 1;
    step(m);
    switch (*at) {
      case MATCH:
        *end = place;
        if (!whole || place == m->text.size) return 1;
        fits = 0;
        break;
      case CHAR:
        fits = c == at[1];
        code += 2, ++place;
        break;
      case SET:
        fits = c >= 0 && takes(m, at[1], c);
        code += 2, ++place;
        break;
      case SPLIT:
        later(m, GO_ON, at[1], place, 0);
        code += 2;
        break;
      case JUMP:
        code = at[1];
        break;
      case SAVE:
        set_slot(m, at[1], place);
        code += 2;
        break;
      case RUN:
      case LAZY_RUN: {
        size_t count = count_characters(m, at[1], place, at[3]), least = (size_t)at[2];
        code += 4;
        if (!(fits = count >= least)) break;
        if (count > least) later(m, *at == RUN ? FEWER : MORE, code, place + least, place + count);
        place += *at == RUN ? count : least;
        break;
      }
      case ENTER:
        set_slot(m, at[1], 0);
        code += 2;
        break;
      case LOOP:
      case LAZY_LOOP:
        loop(m, &code, place);
        break;
      case COUNT:
        set_slot(m, at[1], m->slots[at[1]] + 1);
        code += 2;
        break;
      case AHEAD:
      case NOT_AHEAD:
      case BEHIND:
      case NOT_BEHIND: {
        int looks_back = *at == BEHIND || *at == NOT_BEHIND, expected = *at == AHEAD || *at == BEHIND;
        size_t width = looks_back ? (size_t)at[1] : 0, before = m->count;
        int result = width <= place && run(m, code + 2 + looks_back, place - width, 0, &inner);
        size_t kept = before; /* keep what was saved inside, but drop its alternatives */
        for (size_t i = before; i < m->count; ++i)
          if (m->choices[i].kind == RESTORE) m->choices[kept++] = m->choices[i];
        m->count = kept;
        fits = result == expected;
        code = at[1 + looks_back];
        break;
      }
      case AT:
        fits = is_at(m, at[1], place);
        code += 2;
        break;
      case SAME: {
        size_t start = m->slots[2 * at[1]], behind = m->slots[2 * at[1] + 1], size = behind - start;
        fits = start != UNSET && behind != UNSET && size <= m->text.size - place &&
               is_same((string){m->text.at + start, size}, (string){m->text.at + place, size});
        m->steps += fits ? size : 0;
        code += 2, place += fits ? size : 0;
        break;
      }
      default: /* SWITCH */
        code = select_place(at + 1, c);
    }
    if (!fits && !backtrack(m, base, &code, &place)) return 0;
  }
}

static int attempt(matcher *m, size_t place, int whole, match *result) {
  int32_t c = place < m->text.size ? m->text.at[place] : -1;
  step(m);
  if (m->head[2] >= 0 && (c < 0 || !takes(m, m->head[2], c))) return 0;
  for (int32_t i = 0; i < m->head[1]; ++i) m->slots[i] = UNSET;
  m->count = 0;
  if (!run(m, 0, place, whole, &result->end)) return 0;
  result->start = place;
  for (int32_t i = 1; i < m->head[0]; ++i) {
    int whole = m->slots[2 * i + 1] != UNSET; /* a group that began and did not end took no part */
    result->groups[i].start = whole ? m->slots[2 * i] : UNSET;
    result->groups[i].end = whole ? m->slots[2 * i + 1] : UNSET;
  }
  result->groups[0].start = result->start;
  result->groups[0].end = result->end;
  return 1;
}

static void begin(matcher *m, work *w, const pattern *p, string text) {
  m->w = w;
  m->head = p->code;
  m->code = p->code + HEAD;
  m->sets = p->sets;
  m->text = text;
  m->choices = w->choices;
  m->count = 0;
  m->steps = 0;
  m->most = STEPS * ((uint64_t)text.size + 16);
}

int match_at(work *w, const pattern *p, string text, size_t place, match *result) {
  matcher m;
  begin(&m, w, p, text);
  int fits = attempt(&m, place, 0, result);
  w->steps += m.steps;
  return fits;
}

int full_match(work *w, const pattern *p, string text, match *result) {
  matcher m;
  begin(&m, w, p, text);
  int fits = attempt(&m, 0, 1, result);
  w->steps += m.steps;
  return fits;
}

int search(work *w, const pattern *p, string text, size_t place, match *result) {
  return search_until(w, p, text, place, text.size, result);
}

int search_until(work *w, const pattern *p, string text, size_t place, size_t last, match *result) {
  matcher m;
  int fits = 0;
  begin(&m, w, p, text);
  for (; place <= last && place <= text.size && !fits; ++place) fits = attempt(&m, place, 0, result);
  w->steps += m.steps;
  return fits;
}

int next_match(work *w, const pattern *p, string text, match *result) {
  size_t place = result->groups[0].start == UNSET ? 0 : result->end + (result->end == result->start);
  return search(w, p, text, place, result);
}

string group_of(string text, const match *result, int number) {
  if (!has_group(result, number)) return (string){text.at, 0};
  return slice(text, result->groups[number].start, result->groups[number].end);
}

int has_group(const match *result, int number) { return result->groups[number].start != UNSET; }
