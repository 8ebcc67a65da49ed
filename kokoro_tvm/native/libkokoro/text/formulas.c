#include <string.h>

#include "formula_tables.h"
#include "omissions.h"
#include "patterns.h"

enum { MOST_DEPTH = 12, FUNCTION_END = 0x2061, MINUS = 0x2796, PRIME = 0x2032, DEGREE = 0xB0, ARROW = 0x2192 };

/* Tokens of a formula; those from `place` on are not written yet. */
typedef struct formula {
  work *w;
  LIST(string) tokens;
  size_t place;
} formula;

static string atom(formula *f, string token, int depth);

static string token_at(const formula *f, size_t place) { return place < f->tokens.count ? f->tokens.all[place] : NONE; }
static int is_token(const formula *f, size_t place, const char *ascii) { return is_ascii_text(token_at(f, place), ascii); }
static string next_token(formula *f) { return f->tokens.all[f->place++]; }
static int32_t last_of(string text) { return text.size ? text.at[text.size - 1] : 0; }
static string with_char(work *w, string text, int32_t c) { return join(w, text, (string){&(int32_t){c}, 1}); }

static string around(work *w, const char *before, string text, const char *after) {
  return join(w, join(w, decode_utf8(w, before), text), decode_utf8(w, after));
}

static int is_simple(work *w, string text) {
  match ignored;
  return full_match(w, &PATTERNS[FORMULAS_SIMPLE], text, &ignored);
}

static string grouped(work *w, string text) { return is_simple(w, text) ? text : around(w, "(", text, ")"); }

static int is_listed(string name, const char *const *names) {
  for (; *names; ++names)
    if (is_ascii_text(name, *names)) return 1;
  return 0;
}

/* Return whether the minus at the end is a sign: nothing, or an operator, stands before it. */
static int is_sign(string written) {
  string before = strip_spaces_right(slice(written, 0, written.size - 1));
  return !before.size || is_one_of(last_of(before), FORMULA_OPERATORS) || is_one_of(last_of(before), "(➖,");
}

/* Append an atom, with a space if two letters, figures or signs would run together. */
static string append(work *w, string written, string next) {
  if (!written.size || last_of(written) == ' ') return join(w, written, next);
  int touches = (next.size == 1 && is_one_of(*next.at, ",;:.!?)]…")) || is_one_of(last_of(written), "([√∛") ||
                (is_ascii_text(next, "(") && is_alpha(last_of(written))) ||
                (last_of(written) == MINUS && is_sign(written));
  return join(w, touches ? written : with_char(w, written, ' '), next);
}

static string joined_tokens(formula *f, size_t start, size_t end) {
  builder out = {0};
  for (size_t i = start; i < end; ++i) put(f->w, &out, f->tokens.all[i]);
  return BUILT(out);
}

static string verbatim_rest(formula *f) {
  size_t start = f->place;
  while (f->place < f->tokens.count && !is_token(f, f->place, "}")) ++f->place;
  return strip_spaces(joined_tokens(f, start, f->place));
}

/* Return the words of the next group as they are. */
static string verbatim(formula *f) {
  if (!is_token(f, f->place, "{")) return some(NONE);
  ++f->place;
  string written = verbatim_rest(f);
  ++f->place;
  return written;
}

/* Take a group of letters, such as that of x_{max}; return the empty text if the next is none. */
static string word_of(formula *f) {
  size_t end = f->place + 1;
  while (all_alpha(token_at(f, end))) ++end;
  if (end - f->place < 3 || !is_token(f, f->place, "{") || !is_token(f, end, "}")) return some(NONE);
  string word = joined_tokens(f, f->place + 1, end);
  f->place = end + 1;
  return word;
}

/* Write a group, or the next atom alone. */
static string argument(formula *f, int depth) {
  while (f->place < f->tokens.count && is_space(*token_at(f, f->place).at)) ++f->place;
  if (f->place >= f->tokens.count || is_token(f, f->place, "}")) return some(NONE);
  string token = next_token(f);
  if (depth > MOST_DEPTH) return token;
  int digits = token.size > 1;
  for (size_t i = 0; i < token.size; ++i) digits = digits && is_digit(token.at[i]);
  if (digits) { /* of x^23 the exponent is 2 */
    f->tokens.all[--f->place] = slice(token, 1, token.size);
    token = slice(token, 0, 1);
  }
  return is_ascii_text(token, "-") ? decode_utf8(f->w, "➖") : atom(f, token, depth);
}

/* Append an exponent or an index, or the bounds of a large operator: `bound`, whether the lower one is there. */
static string script(formula *f, string written, int is_index, int depth, int bound) {
  work *w = f->w;
  string word = is_index ? word_of(f) : NONE, value = word.size ? word : argument(f, depth);
  int is_limit = written.size >= 4 && last_of(written) == FUNCTION_END &&
                 is_ascii_text(slice(written, written.size - 4, written.size - 1), "lim");
  if (is_index || is_limit || is_one_of(last_of(written), "∫∑∏")) return join(w, with_char(w, written, ' '), value);
  if (bound) return join(w, written, around(w, " → ", value, ","));
  if (value.size == 1 && (*value.at == DEGREE || *value.at == PRIME)) return join(w, written, value);
  builder minus = {0}, raised = {0};
  for (size_t i = 0; i < value.size; ++i) {
    int32_t c = value.at[i] == MINUS ? '-' : value.at[i];
    put_char(w, &minus, c);
    if (c == '-' || c == '+') put_char(w, &raised, c == '-' ? 0x207B : 0x207A);
    else if (c == '1') put_char(w, &raised, 0xB9);
    else if (c == '2' || c == '3') put_char(w, &raised, 0xB0 + c - '0');
    else put_char(w, &raised, 0x2070 + c - '0');
  }
  match ignored;
  if (full_match(w, &PATTERNS[FORMULAS_POWER], BUILT(minus), &ignored)) return join(w, written, BUILT(raised));
  if (last_of(written) == ')') written = with_char(w, written, ' ');
  return join(w, with_char(w, written, '^'), grouped(w, value));
}

/* Write atoms up to a closing brace or bracket, which stays. */
static string sequence(formula *f, int depth, const char *closing) {
  string written = some(NONE);
  int bound = 0; /* whether a lower bound of a large operator stands at the end */
  while (f->place < f->tokens.count && !is_token(f, f->place, closing) && !is_token(f, f->place, "}")) {
    string token = next_token(f);
    int32_t c = token.size == 1 ? *token.at : 0;
    int had_bound = bound;
    bound = c == '_' && is_one_of(last_of(written), "∫∑∏");
    if (c == '^' || c == '_') written = script(f, written, c == '_', depth, had_bound);
    else if (c == '\'') written = with_char(f->w, written, PRIME);
    else if (c == '*' || c == '-') written = append(f->w, written, decode_utf8(f->w, c == '*' ? "×" : "➖"));
    else {
      string next = c && is_one_of(c, "=<>+") ? token : atom(f, token, depth);
      if (next.size) written = append(f->w, written, next);
    }
  }
  return strip_spaces(written);
}

static string group(formula *f, int depth) {
  string written = depth < MOST_DEPTH ? sequence(f, depth + 1, "}") : verbatim_rest(f);
  ++f->place;
  return written;
}

static string fraction(formula *f, int depth) {
  work *w = f->w;
  match ignored;
  string over = argument(f, depth), under = argument(f, depth);
  const pattern *integer = &PATTERNS[FORMULAS_INTEGER];
  if (full_match(w, integer, over, &ignored) && full_match(w, integer, under, &ignored))
    return join(w, with_char(w, over, '/'), under);
  return join(w, join(w, grouped(w, over), decode_utf8(w, " ÷ ")), grouped(w, under));
}

static string root(formula *f, int depth) {
  work *w = f->w;
  string degree = some(NONE);
  if (is_token(f, f->place, "[")) {
    ++f->place;
    degree = sequence(f, depth, "]");
    ++f->place;
  }
  string radicand = grouped(w, argument(f, depth));
  string sign = is_ascii_text(degree, "3") ? decode_utf8(w, "∛") : decode_utf8(w, degree.size ? " √" : "√");
  if (degree.size && !is_ascii_text(degree, "3")) sign = join(w, degree, sign);
  return join(w, radicand.size && *radicand.at == '(' ? with_char(w, sign, ' ') : sign, radicand);
}

static string command(formula *f, string name, int depth) {
  static const char *const fractions[] = {"frac", "dfrac", "tfrac", "cfrac", 0};
  work *w = f->w;
  if (is_ascii_text(name, "\\")) return decode_utf8(w, ",");
  if (is_listed(name, fractions)) return fraction(f, depth + 1);
  if (is_ascii_text(name, "sqrt")) return root(f, depth + 1);
  if (is_ascii_text(name, "binom")) {
    string above = argument(f, depth + 1), below = argument(f, depth + 1);
    return join(w, around(w, "(", above, ", "), with_char(w, below, ')'));
  }
  if (is_listed(name, FORMULA_TEXTS)) {
    int words = starts_with(name, decode_utf8(w, "text")) || starts_with(name, decode_utf8(w, "operator")) ||
                starts_with(name, decode_utf8(w, "mathrm"));
    return words ? verbatim(f) : argument(f, depth + 1);
  }
  if (is_listed(name, FORMULA_SPACES)) return some(NONE);
  if (is_ascii_text(name, "begin") || is_ascii_text(name, "end")) return verbatim(f), some(NONE);
  if (is_listed(name, FORMULA_FUNCTIONS)) return with_char(w, name, FUNCTION_END);
  for (size_t i = 0; i < sizeof FORMULA_SIGNS / sizeof *FORMULA_SIGNS; ++i)
    if (is_ascii_text(name, FORMULA_SIGNS[i].name)) return decode_utf8(w, FORMULA_SIGNS[i].sign);
  return name;
}

static string atom(formula *f, string token, int depth) {
  if (is_ascii_text(token, "{")) return group(f, depth);
  if (is_space(*token.at) || is_ascii_text(token, "~") || is_ascii_text(token, "&")) return some(NONE);
  if (*token.at != '\\') return token;
  string name = slice(token, 1, token.size);
  while (last_of(name) == '*') --name.size;
  return command(f, name, depth);
}

string write_formula(work *w, string text, const match *formula_match) {
  static const int groups[] = {FORMULAS_FORMULA_DISPLAY, FORMULAS_FORMULA_SQUARE, FORMULAS_FORMULA_ROUND,
                               FORMULAS_FORMULA_BLOCK, FORMULAS_FORMULA_INLINE, FORMULAS_FORMULA_BARE};
  formula f = {.w = w};
  string written = NONE;
  builder out = {0};
  for (size_t i = 0; i < sizeof groups / sizeof *groups && !written.size; ++i) written = group_of(text, formula_match, groups[i]);
  for (match token = FIRST_MATCH; next_match(w, &PATTERNS[FORMULAS_TOKEN], written, &token);)
    PUSH(w, f.tokens, slice(written, token.start, token.end));
  for (; f.place < f.tokens.count; ++f.place) { /* a brace too many */
    string part = sequence(&f, 0, "}");
    if (part.size && out.count) put_char(w, &out, ' ');
    put(w, &out, part);
  }
  return BUILT(out);
}
