/* A subset of SSML 1.1 (W3C, 2010): runtime/text/markup/ssml.py. Text in unknown elements is spoken, text of descriptions
 * is not. Notices name each of them once, and attributes without effect. */
#include <string.h>

#include "numbers.h"
#include "xml.h"

/* Style and stress that apply again after an element. */
typedef struct ssml_state {
  const speaking_style *style;
  stress stress;
} ssml_state;

/* A document on its way to items. */
typedef struct ssml {
  xml xml;
  ssml_state before[MAX_DEPTH]; /* of the open elements */
  stress stress;
  int pending; /* whether the text of an element is collected, which its link replaces */
  text_link link;
  builder text;
  LIST(size_t) starts, ends;
  size_t silent; /* open elements within one that is not spoken, itself included */
  notes noted;
} ssml;

typedef struct element { /* an element with an effect, and its attributes with one */
  const char *name, *attributes[3];
  void (*begin)(work *w, markup *m, markup_items *items, const xml_event *event);
} element;

static void add_note(work *w, markup *m, const char *what) {
  ssml *d = m->document;
  if (!add_text_once(&m->lasting, &d->noted, decode_utf8(&m->lasting, what))) return;
  const xml_element *last = &d->xml.open[d->xml.depth - 1];
  const char *sentence = format(w->s, &w->s->scratch, "In line %zu of the SSML, %s.", last->line, what);
  PUSH(m->noting, *m->notices, (notice){.sentence = decode_utf8(m->noting, sentence)});
}

static const char *shown(work *w, string name) { return encode_utf8(w, shorten_text(w, name, MOST_SHOWN)); }
static const char *quoted(work *w, string text) { return encode_utf8(w, quote(w, text, MOST_SHOWN)); }

/* Return an attribute's value, or NONE. */
static string attribute(const xml_event *event, const char *name) {
  for (size_t i = 0; i < event->attributes.count; ++i)
    if (is_ascii_text(event->attributes.all[i].name, name)) return event->attributes.all[i].value;
  return NONE;
}

static void change_style(markup *m, work *w, markup_items *items, const speaking_style *style) {
  if (!is_same(style->voice, m->style->voice)) put_break(w, items, CLAUSE, -1);
  m->style = style;
}

static void begin_pending(markup *m, string phonemes, string alias) {
  ssml *d = m->document;
  d->pending = 1;
  d->link = (text_link){.phonemes = IS_NONE(phonemes) ? NONE : some(join(&m->lasting, phonemes, NONE)),
                        .alias = IS_NONE(alias) ? NONE : some(join(&m->lasting, alias, NONE))};
  d->text.count = d->starts.count = d->ends.count = 0;
}

/* Add the pending text with its link. An element without text gets what is spoken as its text. */
static void end_pending(work *w, markup *m, markup_items *items, size_t place) {
  ssml *d = m->document;
  source whole = {.text = BUILT(d->text), .starts = d->starts.all, .ends = d->ends.all, .marked = 1};
  source run = collapse_space(w, &whole);
  d->pending = 0;
  if (!run.text.size) {
    string spoken = d->link.phonemes.size ? d->link.phonemes : d->link.alias;
    size_t *places = room(w, spoken.size, sizeof *places);
    for (size_t i = 0; i < spoken.size; ++i) places[i] = place;
    run = (source){.text = join(w, spoken, NONE), .starts = places, .ends = places, .marked = 1};
  }
  d->link.end = run.text.size;
  text_link link = d->link;
  if (!IS_NONE(link.phonemes)) link.phonemes = some(join(w, link.phonemes, NONE));
  if (!IS_NONE(link.alias)) link.alias = some(join(w, link.alias, NONE));
  if (run.text.size) PUSH(w, run.links, link);
  put_run(w, m, items, run);
}

static void check_length(work *w, const char *name, string value) {
  if (value.size > LONGEST_LINK)
    fail(w->s, FAILURE_INPUT, "'%s' has %zu characters; %d are the most.", name, value.size, LONGEST_LINK);
}

static void begin_speak(work *w, markup *m, markup_items *items, const xml_event *event) {
  (void)items, (void)event;
  if (m->document->xml.depth > 1) add_note(w, m, "<speak> stands within <speak>");
}

static void begin_paragraph(work *w, markup *m, markup_items *items, const xml_event *event) {
  (void)m, (void)event;
  put_break(w, items, PARAGRAPH, -1);
}

static void begin_sentence(work *w, markup *m, markup_items *items, const xml_event *event) {
  (void)m, (void)event;
  put_break(w, items, SENTENCE, -1);
}

static void begin_break(work *w, markup *m, markup_items *items, const xml_event *event) {
  string strength = attribute(event, "strength"), time = attribute(event, "time");
  size_t count = sizeof BREAKS / sizeof *BREAKS, i = 0;
  (void)m;
  if (IS_NONE(strength)) strength = decode_utf8(w, "medium");
  while (i < count && !is_ascii_text(strength, BREAKS[i].name)) ++i;
  if (i == count)
    fail(w->s, FAILURE_INPUT, "%s is no strength of <break>. Known: none, x-weak, weak, medium, strong, x-strong.", quoted(w, strength));
  double pause = IS_NONE(time) ? BREAKS[i].value : parse_duration(w, time, "time=\"0.5s\" or time=\"500ms\"");
  if (pause >= 0) put_break(w, items, CLAUSE, pause);
}

/* Return phonemes of the International Phonetic Alphabet as the model's; a note lists those that it lacks. */
static string read_ipa(work *w, markup *m, string phonemes) {
  builder known = {0}, unknown = {0};
  string ours = single_spaces(w, convert_ipa(w, phonemes, m->names.language(m->names.with, w, m->style->voice)));
  for (size_t i = 0; i < ours.size; ++i)
    put_char(w, ours.at[i] == ' ' || m->names.knows(m->names.with, ours.at[i]) ? &known : &unknown, ours.at[i]);
  if (unknown.count)
    add_note(w, m, format(w->s, &w->s->scratch, "the model does not know these phonemes of %s: %s; they are left out",
                          quoted(w, phonemes), encode_utf8(w, list_symbols(w, BUILT(unknown)))));
  return strip_spaces(BUILT(known));
}

static void begin_phoneme(work *w, markup *m, markup_items *items, const xml_event *event) {
  string alphabet = attribute(event, "alphabet"), phonemes = strip_spaces(attribute(event, "ph"));
  (void)items;
  if (!phonemes.size) fail(w->s, FAILURE_INPUT, "<phoneme> needs phonemes. Write them as ph=\"...\".");
  check_length(w, "ph", phonemes);
  alphabet = lower(w, alphabet);
  if (IS_NONE(attribute(event, "alphabet")) || is_ascii_text(alphabet, "misaki")) {
    phonemes = check_symbols(w, &m->names, phonemes);
  } else if (is_ascii_text(alphabet, "ipa")) {
    phonemes = read_ipa(w, m, phonemes);
  } else {
    add_note(w, m, format(w->s, &w->s->scratch, "the alphabet %s of <phoneme> is not known; its text is spoken", quoted(w, alphabet)));
    return;
  }
  if (phonemes.size) begin_pending(m, phonemes, NONE);
}

static void begin_sub(work *w, markup *m, markup_items *items, const xml_event *event) {
  string alias = single_spaces(w, attribute(event, "alias"));
  (void)items;
  if (!alias.size) fail(w->s, FAILURE_INPUT, "<sub> needs what is spoken. Write it as alias=\"...\".");
  check_length(w, "alias", alias);
  begin_pending(m, NONE, alias);
}

static void begin_prosody(work *w, markup *m, markup_items *items, const xml_event *event) {
  string rate = attribute(event, "rate"), pitch = attribute(event, "pitch");
  speaking_style style = *m->style;
  (void)items;
  if (!IS_NONE(rate)) style.rate = parse_rate(w, rate);
  if (!IS_NONE(pitch)) {
    double factor = parse_pitch(w, pitch, style.pitch);
    if (factor > 0) style.pitch = factor;
    else add_note(w, m, "a pitch in Hz changes nothing; write a change of it, such as +10%");
  }
  set_style(m, style);
}

static void begin_emphasis(work *w, markup *m, markup_items *items, const xml_event *event) {
  static const struct { const char *name; stress stress; } levels[] = {
      {"strong", STRONG}, {"moderate", STRESSED}, {"none", AS_IT_IS}, {"reduced", LOWERED}};
  string level = attribute(event, "level");
  size_t count = sizeof levels / sizeof *levels, i = IS_NONE(level) ? 1 : 0;
  (void)items;
  while (!IS_NONE(level) && i < count && !is_ascii_text(level, levels[i].name)) ++i;
  if (i == count)
    fail(w->s, FAILURE_INPUT, "%s is no level of <emphasis>. Known: strong, moderate, none, reduced.", quoted(w, level));
  m->document->stress = levels[i].stress;
}

static void begin_voice(work *w, markup *m, markup_items *items, const xml_event *event) {
  string name = strip_spaces(attribute(event, "name"));
  speaking_style style = *m->style;
  if (!name.size) {
    add_note(w, m, "<voice> has no name, so the voice stays the same");
    return;
  }
  m->names.language(m->names.with, w, name);
  if (!is_same(name, style.voice)) put_break(w, items, CLAUSE, -1);
  style.voice = join(&m->lasting, name, NONE);
  set_style(m, style);
}

static const element ELEMENTS[] = {
    {"speak", {0}, begin_speak}, {"p", {0}, begin_paragraph}, {"s", {0}, begin_sentence},
    {"break", {"time", "strength"}, begin_break}, {"phoneme", {"ph", "alphabet"}, begin_phoneme}, {"sub", {"alias"}, begin_sub},
    {"prosody", {"rate", "pitch"}, begin_prosody}, {"emphasis", {"level"}, begin_emphasis}, {"voice", {"name"}, begin_voice}};

static const element *find_element(string name) { /* or NULL */
  for (size_t i = 0; i < sizeof ELEMENTS / sizeof *ELEMENTS; ++i)
    if (is_ascii_text(name, ELEMENTS[i].name)) return &ELEMENTS[i];
  return NULL;
}

/* Return whether an attribute has no effect on speech and needs no note. */
static int is_neutral(string name) {
  static const char *const names[] = {"version", "xmlns", "xml", "xsi"};
  size_t end = 0;
  while (end < name.size && name.at[end] != ':') ++end;
  for (int i = 0; i < 4; ++i)
    if (is_ascii_text(slice(name, 0, end), names[i])) return 1;
  return 0;
}

static void note_attributes(work *w, markup *m, const element *of, const xml_event *event) {
  for (size_t i = 0; i < event->attributes.count; ++i) {
    string name = event->attributes.all[i].name;
    int known = is_neutral(name);
    for (int j = 0; !known && of->attributes[j]; ++j) known = is_ascii_text(name, of->attributes[j]);
    if (!known) add_note(w, m, format(w->s, &w->s->scratch, "%s of <%s> changes nothing", quoted(w, name), of->name));
  }
}

static void begin_element(work *w, markup *m, markup_items *items, const xml_event *event) {
  ssml *d = m->document;
  size_t depth = d->xml.depth;
  int is_silent = is_ascii_text(event->name, "desc") || is_ascii_text(event->name, "metadata");
  const element *known = find_element(event->name);
  if (depth == 1 && !is_ascii_text(event->name, "speak"))
    fail(w->s, FAILURE_INPUT, "SSML begins with <speak>, not with <%s>.", shown(w, event->name));
  if (d->pending)
    fail(w->s, FAILURE_INPUT, "<%s> holds text alone, no <%s>.", encode_utf8(w, BUILT(d->xml.open[depth - 2].name)), shown(w, event->name));
  d->before[depth - 1] = (ssml_state){m->style, d->stress};
  if (d->silent || is_silent) {
    if (!d->silent++) add_note(w, m, format(w->s, &w->s->scratch, "<%s> is left out", shown(w, event->name)));
  } else if (!known) {
    add_note(w, m, format(w->s, &w->s->scratch, "<%s> is not known; its text is spoken", shown(w, event->name)));
  } else {
    known->begin(w, m, items, event);
    note_attributes(w, m, known, event);
  }
}

static void end_element(work *w, markup *m, markup_items *items, const xml_event *event) {
  ssml *d = m->document;
  const ssml_state *before = &d->before[d->xml.depth]; /* of the element that ended */
  if (d->pending) end_pending(w, m, items, event->place);
  change_style(m, w, items, before->style);
  d->stress = before->stress;
  if (d->silent) --d->silent;
  else if (is_ascii_text(event->name, "p")) put_break(w, items, PARAGRAPH, -1);
  else if (is_ascii_text(event->name, "s")) put_break(w, items, SENTENCE, -1);
}

static int is_word_part(int32_t c) { return is_alnum(c) || c == '_'; }

static void speak_text(work *w, markup *m, markup_items *items, source run) {
  ssml *d = m->document;
  if (d->silent) return;
  if (d->pending) {
    const xml_element *last = &d->xml.open[d->xml.depth - 1];
    if (d->text.count + run.text.size > LONGEST_LINK) {
      at_place(w, last->line, last->column);
      fail(w->s, FAILURE_INPUT, "<%s> has more than %d characters.", encode_utf8(w, BUILT(last->name)), LONGEST_LINK);
    }
    put(&m->lasting, &d->text, run.text);
    for (size_t i = 0; i < run.text.size; ++i) PUSH(&m->lasting, d->starts, run.starts[i]);
    for (size_t i = 0; i < run.text.size; ++i) PUSH(&m->lasting, d->ends, run.ends[i]);
    return;
  }
  for (size_t i = 0, end; d->stress != AS_IT_IS && i < run.text.size; i = end + 1) {
    for (end = i; end < run.text.size && is_word_part(run.text.at[end]);) ++end;
    if (end > i) PUSH(w, run.links, (text_link){.start = i, .end = end, .stress = d->stress});
  }
  put_run(w, m, items, run);
}

progress next_element(work *w, markup *m, markup_items *items) {
  xml_event event;
  if (!m->document) m->document = room(&m->lasting, 1, sizeof *m->document);
  progress step = next_xml(w, m, &m->document->xml, &event);
  if (step != GIVES || event.kind == XML_NOTHING) return step;
  if (event.kind == XML_TEXT) return speak_text(w, m, items, event.text), GIVES;
  if (event.kind == XML_END) return end_element(w, m, items, &event), GIVES;
  at_place(w, event.line, event.column);
  begin_element(w, m, items, &event);
  at_no_place(w);
  return GIVES;
}
