#include "language.h"

#include <stdlib.h>
#include <string.h>

/* Limits: digits of a number with a name, characters of context before a form, bytes of a file. */
enum { LONGEST = 66, BEFORE = 40, MOST_BYTES = 1 << 22 };

static int by_key(const void *a, const void *b) { return compare(((const pair *)a)->key, ((const pair *)b)->key); }
static int by_word(const void *a, const void *b) { return compare(((const item *)a)->word, ((const item *)b)->word); }

pairs read_pairs(work *w, const json *object) {
  pairs result = {room(w, (size_t)object->count, sizeof(pair)), 0};
  for (const json *element = object->first; element; element = element->next)
    if (element->kind == TEXT) result.all[result.count++] = (pair){decode_utf8(w, element->key), decode_utf8(w, element->text)};
  if (result.count) qsort(result.all, result.count, sizeof *result.all, by_key);
  return result;
}

const string *value_of(const pairs *all, string key) {
  pair expected = {.key = key}, *result = all->count ? bsearch(&expected, all->all, all->count, sizeof expected, by_key) : NULL;
  return result ? &result->value : NULL;
}

const items *find_list(const language *l, string name) {
  for (size_t i = 0; i < l->list_count; ++i)
    if (is_same(l->lists[i].name, name)) return &l->lists[i];
  return NULL;
}

const item *find_item(const items *list, string word) {
  item expected = {.word = word};
  return list->count ? bsearch(&expected, list->all, list->count, sizeof expected, by_word) : NULL;
}

static string optional(scope *s, work *w, const json *object, const char *key) {
  const json *result = find(s, object, key, TEXT);
  return result ? decode_utf8(w, result->text) : (string){0};
}

static items read_list(scope *s, work *w, const json *list) {
  items result = {decode_utf8(w, list->key), room(w, (size_t)list->count, sizeof(item)), 0};
  for (const json *element = list->first; element; element = element->next) {
    item *to = &result.all[result.count++];
    to->word = decode_utf8(w, element->key);
    to->is_text = element->kind == TEXT;
    if (to->is_text) {
      to->text = decode_utf8(w, element->text);
    } else {
      to->one = optional(s, w, element, "one");
      to->other = optional(s, w, element, "other");
      to->minor_one = optional(s, w, element, "minor_one");
      to->minor_other = optional(s, w, element, "minor_other");
      to->gender = optional(s, w, element, "gender");
    }
  }
  if (result.count) qsort(result.all, result.count, sizeof *result.all, by_word);
  return result;
}

static spellings read_set(work *w, const json *set) {
  spellings result = {decode_utf8(w, set->key), room(w, (size_t)set->count, sizeof(spelling)), 0};
  for (const json *element = set->first; element; element = element->next) {
    const json *least = element->first, *divisor = least->next;
    result.all[result.count++] =
        (spelling){decode_utf8(w, least->text), decode_utf8(w, divisor->text), decode_utf8(w, divisor->next->text)};
  }
  return result;
}

static void read_groups(work *w, rule *r, const char *names, size_t size) {
  LIST(string) result = {0};
  for (size_t start = 0, end; start < size; start = end + 1) {
    for (end = start; end < size && names[end] != ' ';) ++end;
    builder name = {0};
    for (size_t i = start; i < end; ++i) put_char(w, &name, (unsigned char)names[i]);
    PUSH(w, result, BUILT(name));
  }
  r->groups = result.all;
  r->group_count = result.count;
}

void add_char(charset *to, int32_t c) {
  int32_t bit = c < 128 ? c : 128 + (c & 127);
  to->bits[bit >> 6] |= (uint64_t)1 << (bit & 63);
}

static rule read_rule(scope *s, work *w, const json *from) {
  const json *kind = find(s, from, "begins", TEXT), *where = find(s, from, "where", TEXT), *needs = find(s, from, "needs", LIST);
  rule result = {.say = decode_utf8(w, get_text(s, from, "say")), .first = optional(s, w, from, "first")};
  result.kind = format(s, s->kept, "%s", get_text(s, from, "kind"));
  result.begins = format(s, s->kept, "%s", kind ? kind->text : "");
  result.where = !where || strcmp(where->text, "word") == 0 ? AT_WORD : strcmp(where->text, "loose") == 0 ? LOOSE : INSIDE;
  result.types = read_pairs(w, get(s, from, "types", OBJECT));
  charset *sets = room(w, needs ? (size_t)needs->count : 0, sizeof *sets);
  for (const json *element = needs ? needs->first : NULL; element; element = element->next, ++result.need_count) {
    string chars = decode_utf8(w, element->text);
    for (size_t i = 0; i < chars.size; ++i) add_char(&sets[result.need_count], chars.at[i]);
  }
  result.needs = sets;
  return result;
}

static doubt read_doubt(scope *s, work *w, const json *from) {
  const json *next = find(s, from, "next", LIST), *alone = find(s, from, "alone", LIST), *cost = get(s, from, "cost", WHOLE);
  doubt result = {.kind = format(s, s->kept, "%s", get_text(s, from, "kind")), .cost = (int)cost->whole};
  string *tags = room(w, next ? (size_t)next->count : 0, sizeof *tags);
  for (const json *element = next ? next->first : NULL; element; element = element->next)
    tags[result.next_count++] = decode_utf8(w, element->text);
  const char **kinds = room(w, alone ? (size_t)alone->count : 0, sizeof *kinds);
  for (const json *element = alone ? alone->first : NULL; element; element = element->next)
    kinds[result.alone_count++] = format(s, s->kept, "%s", element->text);
  result.next = tags;
  result.alone = kinds;
  return result;
}

static int is_doubted(const language *l, const char *kind) {
  for (size_t i = 0; i < l->doubt_count; ++i)
    if (strcmp(l->doubts[i].kind, kind) == 0) return 1;
  return 0;
}

/* Read the rules and doubts with their compiled expressions, without rules of other variants. */
static void read_rules(scope *s, work *w, const tensors *file, const char *name, char code, const json *data, language *l) {
  const json *rules = get(s, data, "rules", LIST), *doubts = find(s, data, "doubts", LIST);
  int64_t doubt_count = doubts ? doubts->count : 0;
#define PART(part) format(s, &s->scratch, "text.%s." part, name)
  const tensor *packed = get_tensor(s, file, PART("code"), "U8", 1), *sizes = get_tensor(s, file, PART("sizes"), "I32", 1);
  const tensor *groups = get_tensor(s, file, PART("groups"), "U8", 1);
  const int32_t *size = sizes->data;
  int64_t count = sizes->elements == 3 ? (int64_t)size[0] + size[1] + size[2] : 0;
  if (!count || count > MOST_BYTES || size[2] != 2 + 3 * rules->count + 4 * doubt_count || rules->count >= NO_RULE)
    fail(s, FAILURE_BUNDLE, "The bundle's rules of %s are damaged. Build the bundle again.", name);
  int32_t *codes = room(w, (size_t)count, sizeof *codes), *sets = codes + size[0], *place = sets + size[1];
  unpack(s, packed, codes, (size_t)count * sizeof *codes);
  const char *line = groups->data, *end = line + groups->size;
#define COMPILED(at) ((pattern){*(at) < 0 ? NULL : codes + *(at), sets})
  l->letters = COMPILED(place);
  l->singular = COMPILED(place + 1);
  l->rules = room(w, (size_t)rules->count, sizeof *l->rules);
  place += 2;
  for (const json *element = rules->first; element; element = element->next, place += 3) {
    const char *behind = memchr(line, '\n', (size_t)(end - line));
    if (!behind) behind = end;
    const json *only = find(s, element, "only", TEXT);
    if (!only || strchr(only->text, code)) {
      rule *to = &l->rules[l->rule_count++];
      *to = read_rule(s, w, element);
      to->pattern = COMPILED(place);
      to->after = COMPILED(place + 1);
      to->not_after = COMPILED(place + 2);
      read_groups(w, to, line, (size_t)(behind - line));
    }
    line = behind < end ? behind + 1 : end;
  }
  l->doubts = room(w, (size_t)doubt_count, sizeof *l->doubts);
  for (const json *element = doubts ? doubts->first : NULL; element; element = element->next, place += 4) {
    doubt *to = &l->doubts[l->doubt_count++];
    *to = read_doubt(s, w, element);
    to->after = COMPILED(place);
    to->before = COMPILED(place + 1);
    to->near = COMPILED(place + 2);
    to->unless = COMPILED(place + 3);
  }
  for (size_t i = 0; i < l->rule_count; ++i) l->rules[i].doubted = is_doubted(l, l->rules[i].kind);
}

char kind_of(int32_t c) {
  if (is_alpha(c)) return 'l';
  if (is_decimal(c)) return 'd';
  return category(c) == CATEGORY('M', 'n') || category(c) == CATEGORY('M', 'c') ? 'l' : 's';
}

int may_begin_with(const rule *r, int32_t c, char kind, int pointed) {
  return contains(r->first, c) || strchr(r->begins, pointed ? 's' : kind) || (pointed && strchr(r->begins, 'p'));
}

static void index_rules(work *w, language *l) {
  for (int32_t c = 0; c < BEGINNINGS; ++c) {
    uint16_t *numbers = room(w, l->rule_count + 1, sizeof *numbers);
    size_t count = 0;
    for (size_t i = 0; i < l->rule_count; ++i)
      if (c == POINTED ? may_begin_with(&l->rules[i], '.', 's', 1) : may_begin_with(&l->rules[i], c, kind_of(c), 0))
        numbers[count++] = (uint16_t)i;
    numbers[count] = NO_RULE;
    l->beginning[c] = numbers;
  }
}

static void read_numbers(scope *s, work *w, const json *numbers, language *l) {
  const json *figures = find(s, numbers, "figures", LIST);
  l->joint = decode_utf8(w, get_text(s, numbers, "joint"));
  l->point = decode_utf8(w, get_text(s, numbers, "point"));
  l->decimal = *get_text(s, numbers, "decimal");
  l->decimals_by_figure = strcmp(get_text(s, numbers, "decimals"), "figures") == 0;
  const json *figure = figures ? figures->first : NULL;
  for (int i = 0; i < 10; ++i) {
    int32_t written[] = {'0' + i};
    l->figures[i] = figure ? decode_utf8(w, figure->text) : in_words(w, l, (string){written, 1}, "cardinal", (string){0});
    figure = figure ? figure->next : NULL;
  }
}

const language *open_language(scope *s, const tensors *file, const char *name, char code) {
  const tensor *packed = find_tensor(file, format(s, &s->scratch, "text.%s", name));
  if (!packed) return NULL;
  const json *data = unpack_json(s, packed);
  work w = WORK(s, s->kept);
  language *l = room(&w, 1, sizeof *l);
  const json *lists = get(s, data, "lists", OBJECT), *types = get(s, data, "types", OBJECT);
  const json *spellout = get(s, data, "spellout", OBJECT), *sets = get(s, spellout, "sets", OBJECT);
  l->lists = room(&w, (size_t)lists->count, sizeof *l->lists);
  for (const json *element = lists->first; element; element = element->next) l->lists[l->list_count++] = read_list(s, &w, element);
  l->says.all = room(&w, (size_t)types->count, sizeof *l->says.all);
  for (const json *element = types->first; element; element = element->next)
    l->says.all[l->says.count++] = (pair){decode_utf8(&w, element->key), optional(s, &w, element, "say")};
  if (l->says.count) qsort(l->says.all, l->says.count, sizeof *l->says.all, by_key);
  l->signs = read_pairs(&w, get(s, data, "signs", OBJECT));
  l->replacements = read_pairs(&w, get(s, data, "replacements", OBJECT));
  l->names = read_pairs(&w, get(s, spellout, "names", OBJECT));
  l->sets = room(&w, (size_t)sets->count, sizeof *l->sets);
  for (const json *element = sets->first; element; element = element->next) l->sets[l->set_count++] = read_set(&w, element);
  read_rules(s, &w, file, name, code, data, l);
  index_rules(&w, l);
  read_numbers(s, &w, get(s, data, "numbers", OBJECT), l);
  return l;
}

int stands_before(work *w, const pattern *p, string text, size_t place) {
  match ignored;
  return search(w, p, slice(text, place > BEFORE ? place - BEFORE : 0, place), 0, &ignored);
}

int match_rule(work *w, const rule *r, string text, size_t place, match *result) {
  if (!match_at(w, &r->pattern, text, place, result) || result->end == place) return 0;
  if (r->after.code && !stands_before(w, &r->after, text, place)) return 0;
  return !r->not_after.code || !stands_before(w, &r->not_after, text, place);
}

static const string *set_named(work *w, const language *l, const char *name, string gender) {
  builder key = {0};
  put_ascii(w, &key, name);
  size_t bare = key.count;
  put_char(w, &key, '-');
  put(w, &key, gender);
  const string *result = value_of(&l->names, BUILT(key));
  if (!result) result = value_of(&l->names, (string){key.all, bare});
  if (!result) fail(w->s, FAILURE_BUNDLE, "The bundle has no numbers of the kind '%s'. Build the bundle again.", name);
  return result;
}

string in_words(work *w, const language *l, string figures, const char *name, string gender) {
  if (!all_decimal(figures)) return in_number(w, l, figures, gender);
  const string *set = set_named(w, l, name, gender);
  builder number = {0};
  string words;
  for (size_t i = 0; i < figures.size; ++i) put_char(w, &number, '0' + decimal_of(figures.at[i]));
  return figures.size <= LONGEST && spell_out(w, l, BUILT(number), *set, &words) ? words : in_figures(w, l, figures);
}

string in_figures(work *w, const language *l, string figures) {
  builder out = {0};
  int any = 0;
  for (size_t i = 0; i < figures.size; ++i) {
    int32_t c = figures.at[i];
    if (c < '0' || c > '9') continue;
    if (any++) put(w, &out, l->joint);
    put(w, &out, l->figures[c - '0']);
  }
  return BUILT(out);
}

static void put_word(work *w, const language *l, builder *out, string word) { /* with the joint before it */
  if (!word.size) return;
  if (out->count) put(w, out, l->joint);
  put(w, out, word);
}

string in_number(work *w, const language *l, string plain, string gender) {
  builder out = {0};
  size_t point = 0;
  while (point < plain.size && plain.at[point] != '.') ++point;
  string whole = slice(plain, 0, point), rest = slice(plain, point + 1, plain.size);
  if (whole.size && !all_decimal(whole))
    fail(w->s, FAILURE_BUNDLE, "A rule of the bundle has a number that is none. Build the bundle again.");
  if (whole.size) put_word(w, l, &out, in_words(w, l, whole, "cardinal", gender));
  if (point == plain.size) return BUILT(out);
  put_word(w, l, &out, l->point);
  size_t zeros = 0;
  while (zeros < rest.size && rest.at[zeros] == '0') ++zeros;
  if (l->decimals_by_figure || zeros == rest.size) {
    put_word(w, l, &out, in_figures(w, l, rest));
  } else {
    put_word(w, l, &out, in_figures(w, l, slice(rest, 0, zeros)));
    put_word(w, l, &out, in_words(w, l, slice(rest, zeros, rest.size), "cardinal", (string){0}));
  }
  return BUILT(out);
}

string plain_number(work *w, const language *l, string written) {
  int32_t last = 0, first = 0, decimal = l->decimal;
  size_t counts[2] = {0}, behind = 0;
  for (size_t i = 0; i < written.size; ++i) {
    int32_t c = written.at[i];
    ++behind;
    if (c != '.' && c != ',') continue;
    ++counts[c == ','];
    last = c;
    if (!first) first = c;
    behind = 0;
  }
  if (counts[0] && counts[1]) decimal = counts[last == ','] == 1 ? last : 0;
  else if (counts[0] + counts[1] > 1 || (first && first != decimal && behind >= 3)) decimal = 0;
  else if (first) decimal = first;
  builder out = {0};
  for (size_t i = 0; i < written.size; ++i) {
    int32_t c = written.at[i];
    if (c == decimal) put_char(w, &out, '.');
    else if (is_digit(c)) put_char(w, &out, c);
  }
  return BUILT(out);
}

int counts_one(work *w, const language *l, string number) {
  static const int32_t zero[] = {'0'};
  match result;
  while (number.size && *number.at == '0') ++number.at, --number.size;
  return full_match(w, &l->singular, number.size ? number : (string){zero, 1}, &result);
}

int has_verb(const language *l, const char *name) {
  for (size_t i = 0; i < l->names.count; ++i)
    if (is_ascii_text(l->names.all[i].key, name)) return 1;
  return 0;
}
