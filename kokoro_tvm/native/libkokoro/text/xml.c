/* The tokens, their errors and the places of these are those of expat's xmltok_impl.c and xmlparse.c. */
#include "xml.h"

#include "names.h"
#include "numbers.h"

typedef char equal_depths[XML_MAX_DEPTH == MAX_DEPTH ? 1 : -1];

/* A token of the input: its kind, and its end or the place of an error. PARTIAL: it is not complete. UNENDED: more of it may
 * follow. */
typedef enum token_kind { PARTIAL, INVALID, NOTHING_LEFT, SPACES, PI, DECLARATION, COMMENT, TAG, END_TAG, CDATA, DATA, NEWLINE,
                          REFERENCE, CHARACTER, OTHER, UNENDED, PARAMETER } token_kind;

static int is_blank(int32_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int is_invalid(int32_t c) {
  return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || (c >= 0xD800 && c < 0xE000) || c == 0xFFFE || c == 0xFFFF;
}

static int is_within(const int32_t (*ranges)[2], size_t count, int32_t c) {
  size_t low = 0;
  while (count) {
    size_t half = count / 2;
    if (c > ranges[low + half][1]) low += half + 1, count -= half + 1;
    else if (c >= ranges[low + half][0]) return 1;
    else count = half;
  }
  return 0;
}

static int may_begin_name(int32_t c) { return is_within(NAME_FIRST, sizeof NAME_FIRST / sizeof *NAME_FIRST, c); }
static int may_be_in_name(int32_t c) { return is_within(NAME_MORE, sizeof NAME_MORE / sizeof *NAME_MORE, c); }

/* The scanners move `at` to the end of what they read, or to the place of an error. */

static int32_t char_at(string text, size_t at) { return at < text.size ? text.at[at] : -1; }

/* Scan a name; return PARTIAL, INVALID, or another kind at the character after it. */
static token_kind scan_name(string text, size_t *at) {
  if (*at == text.size) return PARTIAL;
  if (!may_begin_name(text.at[*at])) return INVALID;
  while (*at < text.size && may_be_in_name(text.at[*at])) ++*at;
  return *at == text.size ? PARTIAL : OTHER;
}

static void skip_blanks(string text, size_t *at) {
  while (*at < text.size && is_blank(text.at[*at])) ++*at;
}

/* Scan one expected character. */
static token_kind scan_char(string text, size_t *at, int32_t expected) {
  if (*at == text.size) return PARTIAL;
  if (text.at[*at] != expected) return INVALID;
  ++*at;
  return OTHER;
}

static token_kind scan_comment(string text, size_t *at) { /* after "<!-" */
  token_kind kind = scan_char(text, at, '-');
  if (kind != OTHER) return kind;
  for (; *at < text.size; ++*at) {
    if (is_invalid(text.at[*at])) return INVALID;
    if (text.at[*at] != '-') continue;
    if (char_at(text, *at + 1) < 0) return PARTIAL;
    if (text.at[*at + 1] != '-') continue;
    *at += 2;
    kind = scan_char(text, at, '>');
    return kind == OTHER ? COMMENT : kind;
  }
  return PARTIAL;
}

static int is_same_letter(int32_t c, char small) { return c == small || c == small - 'a' + 'A'; }

static token_kind scan_pi(string text, size_t *at) { /* after "<?" */
  size_t start = *at;
  token_kind kind = scan_name(text, at), target = PI;
  if (kind != OTHER) return kind;
  string name = slice(text, start, *at);
  if (name.size == 3 && is_same_letter(name.at[0], 'x') && is_same_letter(name.at[1], 'm') && is_same_letter(name.at[2], 'l'))
    target = is_ascii_text(name, "xml") ? DECLARATION : INVALID;
  if (!is_blank(text.at[*at]) && text.at[*at] != '?') return INVALID;
  if (target == INVALID) return INVALID;
  if (text.at[*at] == '?') {
    ++*at;
    kind = scan_char(text, at, '>');
    return kind == OTHER ? target : kind;
  }
  for (; *at < text.size; ++*at) {
    if (is_invalid(text.at[*at])) return INVALID;
    if (text.at[*at] != '?') continue;
    if (char_at(text, *at + 1) < 0) return PARTIAL;
    if (text.at[*at + 1] == '>') return *at += 2, target;
  }
  return PARTIAL;
}

static token_kind scan_reference(string text, size_t *at) { /* after "&" */
  token_kind kind = char_at(text, *at) == '#' ? CHARACTER : REFERENCE;
  if (kind == REFERENCE) {
    token_kind name = scan_name(text, at);
    if (name != OTHER) return name;
  } else {
    int hexadecimal = char_at(text, ++*at) == 'x';
    *at += (size_t)hexadecimal;
    size_t first = *at;
    while (*at < text.size && is_one_of(text.at[*at], hexadecimal ? "0123456789abcdefABCDEF" : "0123456789")) ++*at;
    if (*at < text.size && *at == first) return INVALID;
  }
  token_kind end = scan_char(text, at, ';');
  return end == OTHER ? kind : end;
}

static token_kind scan_attribute_value(string text, size_t *at) { /* at a quotation mark */
  int32_t mark = text.at[(*at)++];
  while (*at < text.size && text.at[*at] != mark) {
    if (is_invalid(text.at[*at]) || text.at[*at] == '<') return INVALID;
    if (text.at[(*at)++] != '&') continue;
    token_kind kind = scan_reference(text, at);
    if (kind == PARTIAL || kind == INVALID) return kind;
  }
  return scan_char(text, at, mark);
}

static token_kind scan_tag(string text, size_t *at) { /* after "<" */
  token_kind kind = scan_name(text, at);
  if (kind != OTHER) return kind;
  for (;;) {
    int32_t c = char_at(text, *at);
    if (c == '>') return ++*at, TAG;
    if (c == '/') return ++*at, kind = scan_char(text, at, '>'), kind == OTHER ? TAG : kind;
    if (c < 0) return PARTIAL;
    if (!is_blank(c)) return INVALID;
    skip_blanks(text, at);
    c = char_at(text, *at);
    if (c == '>' || c == '/') continue;
    if ((kind = scan_name(text, at)) != OTHER) return kind;
    skip_blanks(text, at);
    if ((kind = scan_char(text, at, '=')) != OTHER) return kind;
    skip_blanks(text, at);
    if (*at == text.size) return PARTIAL;
    if (text.at[*at] != '"' && text.at[*at] != '\'') return INVALID;
    if ((kind = scan_attribute_value(text, at)) != OTHER) return kind;
  }
}

static token_kind scan_end_tag(string text, size_t *at) { /* after "</" */
  token_kind kind = scan_name(text, at);
  if (kind != OTHER) return kind;
  skip_blanks(text, at);
  kind = scan_char(text, at, '>');
  return kind == OTHER ? END_TAG : kind;
}

static token_kind scan_cdata_begin(string text, size_t *at) { /* after "<![" */
  for (const char *more = "CDATA["; *more; ++more) {
    token_kind kind = scan_char(text, at, *more);
    if (kind != OTHER) return kind;
  }
  return CDATA;
}

static token_kind scan_line_break(string text, size_t *at) {
  if (text.at[(*at)++] == '\n') return NEWLINE;
  if (*at == text.size) return PARTIAL; /* a line feed may follow */
  *at += text.at[*at] == '\n';
  return NEWLINE;
}

/* Scan characters up to markup or a line break. */
static token_kind scan_data(string text, size_t *at, int is_cdata) {
  for (size_t first = *at; *at < text.size; ++*at) {
    int32_t c = text.at[*at];
    if (c == '\n' || c == '\r' || is_invalid(c) || (!is_cdata && (c == '<' || c == '&')))
      return *at > first ? DATA : INVALID;
    if (c != ']') continue;
    int32_t second = char_at(text, *at + 1), third = char_at(text, *at + 2);
    if (second < 0 || (second == ']' && third < 0)) return *at > first ? DATA : PARTIAL;
    if (second != ']' || third != '>') continue;
    if (*at > first) return DATA;
    return is_cdata ? OTHER : (*at += 2, INVALID);
  }
  return DATA;
}

static token_kind scan_content(string text, size_t *at) {
  switch (*text.at) {
    case '\n': case '\r': return scan_line_break(text, at);
    case '&': return ++*at, scan_reference(text, at);
    case '<': break;
    default: return scan_data(text, at, 0);
  }
  switch (char_at(text, ++*at)) {
    case -1: return PARTIAL;
    case '?': return ++*at, scan_pi(text, at);
    case '/': return ++*at, scan_end_tag(text, at);
    case '!': break;
    default: return scan_tag(text, at);
  }
  switch (char_at(text, ++*at)) {
    case -1: return PARTIAL;
    case '-': return ++*at, scan_comment(text, at);
    case '[': return ++*at, scan_cdata_begin(text, at);
    default: return INVALID;
  }
}

/* Scan what stands there instead of markup before or after the document's element: nothing of it is allowed. */
static token_kind scan_other(string text, size_t *at) {
  int32_t c = *text.at, begin = c;
  const char *after = ">),|[%"; /* what may follow */
  if (c == ']' && char_at(text, 1) < 0) return UNENDED;
  if (c == ']' && text.at[1] == ']' && char_at(text, 2) < 0) return PARTIAL;
  if (is_one_of(c, ",[]|(>")) return OTHER;
  if (c == '"' || c == '\'') {
    for (++*at; *at < text.size && text.at[*at] != begin; ++*at)
      if (is_invalid(text.at[*at])) return INVALID;
    if ((*at)++ >= text.size) return --*at, PARTIAL;
    after = ">%[";
  } else if (c == '%' || c == '#') {
    c = char_at(text, ++*at);
    if (begin == '%' && (is_blank(c) || c == '%')) return OTHER;
    if (c >= 0 && !may_begin_name(c)) return INVALID;
    while (*at < text.size && may_be_in_name(text.at[*at])) ++*at;
    if (begin == '%') return c = char_at(text, *at), c < 0 ? PARTIAL : c == ';' ? PARAMETER : INVALID;
    if (c < 0) return PARTIAL;
    after = ")>%|";
  } else if (c == ')') {
    ++*at;
    after = "*+?>,|)";
  } else {
    if (!may_be_in_name(c)) return INVALID;
    while (*at < text.size && may_be_in_name(text.at[*at])) ++*at;
    if (may_begin_name(begin)) after = ">),|[%+*?";
  }
  c = char_at(text, *at);
  return c < 0 ? UNENDED : is_blank(c) || is_one_of(c, after) ? OTHER : INVALID;
}

static int is_declaration_letter(int32_t c) { return c < 128 && may_begin_name(c); }

static token_kind scan_prolog(string text, size_t *at) {
  if (is_blank(*text.at)) return skip_blanks(text, at), SPACES;
  if (*text.at != '<') return scan_other(text, at);
  int32_t next = char_at(text, ++*at);
  if (next < 0) return PARTIAL;
  if (next == '?') return ++*at, scan_pi(text, at);
  if (next != '!') return may_begin_name(next) || next > 127 ? TAG : INVALID;
  next = char_at(text, ++*at);
  if (next < 0) return PARTIAL;
  if (next == '-') return ++*at, scan_comment(text, at);
  if (next == '[') return OTHER;
  while (*at < text.size && is_declaration_letter(text.at[*at])) ++*at;
  if (*at == text.size) return PARTIAL;
  return *at > 2 && (is_blank(text.at[*at]) || text.at[*at] == '%') ? CDATA : INVALID; /* a declaration, see next_outside */
}

/* Get line and column of a place of the input. Lines end with any line break. */
static void locate(const markup *m, size_t place, size_t *line, size_t *column) {
  string text = m->input.text;
  *line = m->input.line;
  *column = m->input.column;
  for (size_t i = 0; i < place && i < text.size; ++i) {
    int ends = text.at[i] == '\n' || text.at[i] == '\r';
    if (text.at[i] == '\r' && char_at(text, i + 1) == '\n' && i + 1 < place) ++i;
    if (ends) ++*line, *column = 0;
    ++*column;
  }
}

/* Remove characters of the input, and return them with their places. */
static source take_token(work *w, markup *m, size_t count) {
  size_t line, column;
  locate(m, count, &line, &column);
  source result = take_input(w, m, count);
  m->input.line = line;
  m->input.column = column;
  return result;
}

const char *innermost(work *w, const xml *x) {
  if (!x->depth) return "";
  const xml_element *last = &x->open[x->depth - 1];
  return format(w->s, &w->s->scratch, "<%s> of line %zu, column %zu", encode_utf8(w, shorten_text(w, BUILT(last->name), MOST_SHOWN)),
                last->line, last->column);
}

enum { NO_HINT, ESCAPE, CLOSE };

NORETURN static void refuse(work *w, const markup *m, const xml *x, size_t place, const char *reason, int hint) {
  size_t line, column;
  int32_t c = char_at(m->input.text, place);
  if (c >= 0xD800 && c < 0xE000) fail(w->s, FAILURE_INPUT, "The SSML is not valid UTF-8. Convert it to UTF-8 first.");
  locate(m, place, &line, &column);
  const char *inner = hint == CLOSE ? innermost(w, x) : "";
  fail(w->s, FAILURE_INPUT, "The SSML is not well-formed in line %zu, column %zu: %s.%s%s%s", line, column, reason,
       hint == ESCAPE ? " Write & as &amp; and < as &lt;." : *inner ? " Close " : "", inner, *inner ? " first." : "");
}

static const char INVALID_TOKEN[] = "not well-formed (invalid token)";

/* Return the value of digits, or -1 for a number that is no character of XML. */
static int32_t character_of(string digits) {
  int32_t code = 0;
  int hexadecimal = digits.size && *digits.at == 'x';
  for (size_t i = (size_t)hexadecimal; i < digits.size && code < 0x110000; ++i) {
    int32_t c = digits.at[i];
    code = hexadecimal ? 16 * code + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10) : 10 * code + c - '0';
  }
  return code >= 0x110000 || is_invalid(code) ? -1 : code;
}

/* Return the character of a reference between & and ; that begins at `place` of the input. */
static int32_t resolve(work *w, const markup *m, const xml *x, string name, size_t place) {
  static const struct { const char *name; int32_t c; } entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  if (*name.at == '#') {
    int32_t c = character_of(slice(name, 1, name.size));
    if (c < 0) refuse(w, m, x, place, "reference to invalid character number", NO_HINT);
    return c;
  }
  for (size_t i = 0; i < sizeof entities / sizeof *entities; ++i)
    if (is_ascii_text(name, entities[i].name)) return entities[i].c;
  refuse(w, m, x, place, "undefined entity", ESCAPE);
}

/* Read the value of an attribute between two places of the input. */
static string read_value(work *w, const markup *m, const xml *x, size_t start, size_t end) {
  string text = m->input.text;
  builder out = {0};
  for (size_t i = start; i < end; ++i) {
    int32_t c = text.at[i];
    if (c == '&') {
      size_t last = i;
      while (text.at[last] != ';') ++last;
      put_char(w, &out, resolve(w, m, x, slice(text, i + 1, last), i));
      i = last;
      continue;
    }
    if (c == '\r' && char_at(text, i + 1) == '\n') ++i;
    put_char(w, &out, is_blank(c) ? ' ' : c);
  }
  return some(BUILT(out));
}

/* Read the attributes of a tag whose name ends at `at`. */
static xml_attributes read_attributes(work *w, const markup *m, const xml *x, size_t at) {
  string text = m->input.text;
  xml_attributes result = {0};
  notes names = {0};
  for (;;) {
    skip_blanks(text, &at);
    if (text.at[at] == '>' || text.at[at] == '/') return result;
    size_t first = at;
    while (may_be_in_name(text.at[at])) ++at;
    string name = slice(text, first, at);
    if (!add_text_once(w, &names, name)) refuse(w, m, x, first, "duplicate attribute", NO_HINT);
    while (text.at[at] != '"' && text.at[at] != '\'') ++at;
    int32_t mark = text.at[at];
    size_t start = ++at;
    while (text.at[at] != mark) ++at;
    PUSH(w, result, (xml_attribute){join(w, name, NONE), read_value(w, m, x, start, at)});
    ++at;
  }
}

static void open_element(work *w, markup *m, xml *x, size_t size, xml_event *event) {
  string text = m->input.text;
  size_t end = 1;
  while (may_be_in_name(text.at[end])) ++end;
  event->kind = XML_START;
  event->name = join(w, slice(text, 1, end), NONE);
  event->attributes = read_attributes(w, m, x, end);
  event->line = m->input.line;
  event->column = m->input.column;
  if (x->depth == MAX_DEPTH) {
    at_place(w, event->line, event->column);
    fail(w->s, FAILURE_INPUT, "more than %d elements are open. Close some of them.", MAX_DEPTH);
  }
  xml_element *element = &x->open[x->depth++];
  element->name.count = 0;
  put(&m->lasting, &element->name, event->name);
  element->line = event->line;
  element->column = event->column;
  x->stage = XML_CONTENT;
  x->closes = text.at[size - 2] == '/';
  take_token(w, m, size);
}

/* End the innermost element; its name stays until the next start. */
static void close_element(const markup *m, xml *x, xml_event *event) {
  event->kind = XML_END;
  event->name = BUILT(x->open[x->depth - 1].name);
  event->place = *m->input.places;
  if (!--x->depth) x->stage = XML_EPILOG;
  x->closes = 0;
}

static void close_tag(work *w, markup *m, xml *x, size_t size, xml_event *event) {
  string text = m->input.text;
  size_t end = 2;
  while (may_be_in_name(text.at[end])) ++end;
  if (!is_same(slice(text, 2, end), BUILT(x->open[x->depth - 1].name))) refuse(w, m, x, 2, "mismatched tag", CLOSE);
  close_element(m, x, event);
  take_token(w, m, size);
}

static void speak(work *w, markup *m, xml_event *event, size_t size, token_kind kind) {
  event->kind = XML_TEXT;
  event->text = take_token(w, m, size);
  if (kind == DATA) return;
  int32_t *c = room(w, 1, sizeof *c);
  size_t *places = room(w, 2, sizeof *places);
  *c = '\n';
  places[0] = event->text.starts[0];
  places[1] = event->text.ends[size - 1];
  event->text = (source){.text = {c, 1}, .starts = places, .ends = places + 1, .marked = 1};
}

static void speak_reference(work *w, markup *m, const xml *x, xml_event *event, size_t size) {
  int32_t c = resolve(w, m, x, slice(m->input.text, 1, size - 1), 0);
  speak(w, m, event, size, NEWLINE);
  *(int32_t *)event->text.text.at = c;
}

/* Read a name and its value of an XML declaration; return 0 for another form, whose place `at` gets. An empty name: the
 * end. */
static int read_pseudo(string text, size_t *at, size_t end, string *name, string *value) {
  size_t first = *at, next = *at;
  *name = slice(text, 0, 0);
  if (next == end) return 1;
  if (!is_blank(text.at[next])) return 0;
  while (next < end && is_blank(text.at[next])) ++next;
  if (next == end) return 1;
  first = *at = next;
  while (*at < end && text.at[*at] != '=' && !is_blank(text.at[*at])) {
    if (text.at[*at] > 127) return 0;
    ++*at;
  }
  string word = slice(text, first, *at);
  while (*at < end && is_blank(text.at[*at])) ++*at;
  if (*at == end || text.at[*at] != '=' || !word.size) return 0;
  for (++*at; *at < end && is_blank(text.at[*at]);) ++*at;
  if (*at == end || (text.at[*at] != '"' && text.at[*at] != '\'')) return 0;
  int32_t mark = text.at[*at];
  for (first = ++*at; *at < end && text.at[*at] != mark; ++*at) {
    int32_t c = text.at[*at];
    if (!(c < 128 && (is_alnum(c) || c == '.' || c == '-' || c == '_'))) return 0;
  }
  if (*at == end) return 0;
  *name = word;
  *value = slice(text, first, *at);
  ++*at;
  return 1;
}

static int is_ascii_letter(int32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Return the place of a mistake in the XML declaration of `size` characters, or 0. */
static size_t declaration_mistake(string text, size_t size) {
  size_t at = 5, end = size - 2;
  string name, value;
#define PLACE_OF(part) ((size_t)((part).at - text.at))
  if (!read_pseudo(text, &at, end, &name, &value) || !name.size) return at;
  if (!is_ascii_text(name, "version")) return PLACE_OF(name);
  if (!read_pseudo(text, &at, end, &name, &value)) return at;
  if (!name.size) return 0;
  if (is_ascii_text(name, "encoding")) {
    if (!value.size || !is_ascii_letter(*value.at)) return PLACE_OF(value);
    if (!read_pseudo(text, &at, end, &name, &value)) return at;
    if (!name.size) return 0;
  }
  if (!is_ascii_text(name, "standalone")) return PLACE_OF(name);
  if (!is_ascii_text(value, "yes") && !is_ascii_text(value, "no")) return PLACE_OF(value);
#undef PLACE_OF
  while (at < end && is_blank(text.at[at])) ++at;
  return at == end ? 0 : at;
}

/* Return WAITS for a token that is not complete, unless it is too long or no more text follows. */
static progress await_token(work *w, const markup *m, const xml *x) {
  size_t bytes = 0;
  string text = m->input.text;
  for (size_t i = 0; i < text.size; ++i) bytes += text.at[i] < 0x80 ? 1 : text.at[i] < 0x800 ? 2 : text.at[i] < 0x10000 ? 3 : 4;
  if (bytes > MAX_PENDING) {
    at_place(w, m->input.line, m->input.column);
    fail(w->s, FAILURE_INPUT, "what begins here has more than %d bytes. Close the tag.", MAX_PENDING);
  }
  if (!m->input.complete) return WAITS;
  if (x->stage == XML_CDATA) refuse(w, m, x, 0, "unclosed CDATA section", NO_HINT);
  refuse(w, m, x, 0, "unclosed token", ESCAPE);
}

/* Skip the space before the document, which an XML declaration must not have. Its lines end with a line feed. */
static void begin_document(work *w, markup *m, xml *x) {
  size_t count = 0;
  while (count < m->input.text.size && is_one_of(m->input.text.at[count], "\xEF\xBB\xBF \t\r\n")) ++count;
  take_input(w, m, count);
  if (m->input.text.size) x->stage = XML_DECLARED;
}

/* Read the next token before or after the document's element. */
static progress next_outside(work *w, markup *m, xml *x, xml_event *event) {
  string text = m->input.text;
  size_t at = 0;
  int ended = x->stage == XML_EPILOG;
  if (!text.size) {
    if (!m->input.complete) return WAITS;
    if (!ended) refuse(w, m, x, 0, "it ends too early", NO_HINT);
    return ENDS;
  }
  token_kind kind = scan_prolog(text, &at);
  if (kind == INVALID) refuse(w, m, x, at, INVALID_TOKEN, ESCAPE);
  if (kind == PARTIAL) return await_token(w, m, x);
  if (kind == UNENDED && !m->input.complete) return WAITS;
  if (kind == SPACES && text.at[at - 1] == '\r' && at == text.size && !m->input.complete && !--at) return WAITS; /* see scan_line_break */
  if (kind == TAG && !ended) return x->stage = XML_CONTENT, GIVES;
  if (kind == DECLARATION && x->stage == XML_DECLARED) {
    size_t mistake = declaration_mistake(text, at);
    if (mistake) refuse(w, m, x, mistake, "XML declaration not well-formed", NO_HINT);
  } else if (kind == DECLARATION && !ended) {
    refuse(w, m, x, 0, "XML or text declaration not at start of entity", ESCAPE);
  } else if (kind == CDATA && !ended && is_ascii_text(slice(text, 0, at), "<!DOCTYPE")) {
    fail(w->s, FAILURE_INPUT, "SSML with a document type is not read. Remove <!DOCTYPE ...> and its entities.");
  } else if (kind == PARAMETER && !ended) {
    refuse(w, m, x, 0, "illegal parameter entity reference", ESCAPE);
  } else if (kind != SPACES && kind != PI && kind != COMMENT) {
    refuse(w, m, x, 0, ended ? "junk after document element" : "syntax error", NO_HINT);
  }
  if (!ended) x->stage = XML_PROLOG;
  take_token(w, m, at);
  event->kind = XML_NOTHING;
  return GIVES;
}

static progress next_in_cdata(work *w, markup *m, xml *x, xml_event *event) {
  string text = m->input.text;
  size_t at = 0;
  if (!text.size) return await_token(w, m, x);
  token_kind kind = *text.at == '\n' || *text.at == '\r' ? scan_line_break(text, &at) : scan_data(text, &at, 1);
  if (kind == INVALID) refuse(w, m, x, at, INVALID_TOKEN, ESCAPE);
  if (kind == PARTIAL) return await_token(w, m, x);
  if (kind == OTHER) return x->stage = XML_CONTENT, take_token(w, m, 3), GIVES;
  return speak(w, m, event, at, kind), GIVES;
}

static progress next_in_content(work *w, markup *m, xml *x, xml_event *event) {
  string text = m->input.text;
  size_t at = 0;
  if (!text.size) {
    if (!m->input.complete) return WAITS;
    refuse(w, m, x, 0, "it ends too early", CLOSE);
  }
  token_kind kind = scan_content(text, &at);
  if (kind == PARTIAL && m->input.complete && (*text.at == ']' || *text.at == '\r'))
    refuse(w, m, x, *text.at == ']' ? text.size : 0, "it ends too early", CLOSE);
  switch (kind) {
    case INVALID: refuse(w, m, x, at, INVALID_TOKEN, ESCAPE);
    case PARTIAL: return await_token(w, m, x);
    case DECLARATION: refuse(w, m, x, 0, "XML or text declaration not at start of entity", ESCAPE);
    case TAG: return open_element(w, m, x, at, event), GIVES;
    case END_TAG: return close_tag(w, m, x, at, event), GIVES;
    case CDATA: x->stage = XML_CDATA; break;
    case REFERENCE: case CHARACTER: return speak_reference(w, m, x, event, at), GIVES;
    case DATA: case NEWLINE: return speak(w, m, event, at, kind), GIVES;
    default: break; /* a comment or an instruction */
  }
  return take_token(w, m, at), GIVES;
}

progress next_xml(work *w, markup *m, xml *x, xml_event *event) {
  *event = (xml_event){.kind = XML_NOTHING};
  if (x->stage == XML_BEFORE) begin_document(w, m, x);
  if (x->closes) return close_element(m, x, event), GIVES;
  if (x->stage == XML_CONTENT) return next_in_content(w, m, x, event);
  return x->stage == XML_CDATA ? next_in_cdata(w, m, x, event) : next_outside(w, m, x, event);
}
