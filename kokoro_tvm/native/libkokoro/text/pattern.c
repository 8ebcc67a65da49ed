/* An interpreter of regular expressions: it tries what Python's engine tries, in the same order, and takes back what
 * does not fit. It calls itself only for lookaround, as deep as an expression has it. */
#include "characters.h"

#include <string.h>

/* What follows each in the code; OPERATIONS of kokoro_tvm/native/libkokoro/patterns.py. Places are of the code. */
enum {
  MATCH,
  CHAR,      /* character */
  SET,       /* class */
  SPLIT,     /* place: goes on, and there if that fails */
  JUMP,      /* place */
  SAVE,      /* slot: gets the place in the text */
  RUN,       /* class, least, most (-1: any): as many as there are, then fewer */
  LAZY_RUN,  /* the same: as few as may be, then more */
  ENTER,     /* slot: counts from 0 */
  LOOP,      /* slot, least, most, place behind: once more, else there */
  LAZY_LOOP, /* the same: there, else once more */
  COUNT,     /* slot: one more, at the beginning of what a loop repeats */
  AHEAD,     /* place behind: what follows as far as MATCH is to fit here */
  NOT_AHEAD,
  BEHIND, /* width, place behind */
  NOT_BEHIND,
  AT,     /* see below */
  SAME,   /* group: what it took, once more */
  SWITCH, /* count, place for others, then (character, place) in order */
};
enum { BEGINNING, END, END_STRING, BOUNDARY, NOT_BOUNDARY };

enum { HEAD = 3, MOST_SLOTS = 128, STEPS = 4096 };
static const size_t UNSET = (size_t)-1;

/* What is taken back where nothing fits any more. */
typedef struct choice {
  enum { GO_ON, RESTORE, FEWER, MORE } kind;
  int32_t code;  /* where it goes on; RESTORE: the slot */
  size_t at, end; /* in the text; FEWER: from `end` down to `at`, MORE: from `at` up to `end`. RESTORE: `at` is the value */
} choice;

typedef struct matcher {
  work *w;
  const int32_t *head, *code, *sets;
  string text;
  choice *choices; /* of the call's memory, which one expression after the other uses */
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
  m->choices = m->w->choices = grown(m->w, m->choices, m->count, &m->w->choices_room, sizeof *m->choices);
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

static int32_t chosen(const int32_t *table, int32_t c) { /* by a SWITCH; c: -1 at the end of the text */
  int32_t low = 0, high = table[0];
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (table[2 + 2 * middle] < c) low = middle + 1;
    else high = middle;
  }
  return low < table[0] && table[2 + 2 * low] == c ? table[3 + 2 * low] : table[1];
}

static size_t counted(matcher *m, int32_t set, size_t place, int32_t most) { /* characters of a class from a place on */
  size_t end = most < 0 || (size_t)most > m->text.size - place ? m->text.size : place + (size_t)most, at = place;
  while (at < end && takes(m, set, m->text.at[at])) ++at;
  m->steps += at - place;
  return at - place;
}

/* Takes back until something else can be tried; 0: nothing was left above `base`. */
static int back(matcher *m, size_t base, int32_t *code, size_t *place) {
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

/* Whether the code fits from a place on, to the end of the text if `whole`, and where that ends. What it saved stays, and can be taken back. */
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
        size_t count = counted(m, at[1], place, at[3]), least = (size_t)at[2];
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
        int looks_back = *at == BEHIND || *at == NOT_BEHIND, wanted = *at == AHEAD || *at == BEHIND;
        size_t width = looks_back ? (size_t)at[1] : 0, before = m->count;
        int found = width <= place && run(m, code + 2 + looks_back, place - width, 0, &inner);
        size_t kept = before; /* what was saved inside is kept; what else could have been tried there is not */
        for (size_t i = before; i < m->count; ++i)
          if (m->choices[i].kind == RESTORE) m->choices[kept++] = m->choices[i];
        m->count = kept;
        fits = found == wanted;
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
               same((string){m->text.at + start, size}, (string){m->text.at + place, size});
        m->steps += fits ? size : 0;
        code += 2, place += fits ? size : 0;
        break;
      }
      default: /* SWITCH */
        code = chosen(at + 1, c);
    }
    if (!fits && !back(m, base, &code, &place)) return 0;
  }
}

static int attempt(matcher *m, size_t place, int whole, match *found) {
  int32_t c = place < m->text.size ? m->text.at[place] : -1;
  step(m);
  if (m->head[2] >= 0 && (c < 0 || !takes(m, m->head[2], c))) return 0;
  for (int32_t i = 0; i < m->head[1]; ++i) m->slots[i] = UNSET;
  m->count = 0;
  if (!run(m, 0, place, whole, &found->end)) return 0;
  found->start = place;
  for (int32_t i = 1; i < m->head[0]; ++i) {
    int whole = m->slots[2 * i + 1] != UNSET; /* a group that has begun and not ended took no part */
    found->groups[i].start = whole ? m->slots[2 * i] : UNSET;
    found->groups[i].end = whole ? m->slots[2 * i + 1] : UNSET;
  }
  found->groups[0].start = found->start;
  found->groups[0].end = found->end;
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

int match_at(work *w, const pattern *p, string text, size_t place, match *found) {
  matcher m;
  begin(&m, w, p, text);
  int fits = attempt(&m, place, 0, found);
  w->steps += m.steps;
  return fits;
}

int full_match(work *w, const pattern *p, string text, match *found) {
  matcher m;
  begin(&m, w, p, text);
  int fits = attempt(&m, 0, 1, found);
  w->steps += m.steps;
  return fits;
}

int search(work *w, const pattern *p, string text, size_t place, match *found) {
  return search_until(w, p, text, place, text.size, found);
}

int search_until(work *w, const pattern *p, string text, size_t place, size_t last, match *found) {
  matcher m;
  int fits = 0;
  begin(&m, w, p, text);
  for (; place <= last && place <= text.size && !fits; ++place) fits = attempt(&m, place, 0, found);
  w->steps += m.steps;
  return fits;
}

int next_match(work *w, const pattern *p, string text, match *found) {
  size_t place = found->groups[0].start == UNSET ? 0 : found->end + (found->end == found->start);
  return search(w, p, text, place, found);
}

string group_of(string text, const match *found, int number) {
  if (!took_part(found, number)) return (string){text.at, 0};
  return slice(text, found->groups[number].start, found->groups[number].end);
}

int took_part(const match *found, int number) { return found->groups[number].start != UNSET; }
