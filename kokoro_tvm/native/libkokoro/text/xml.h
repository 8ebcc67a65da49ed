/* A strict parser of XML 1.0 for a document that arrives in portions (runtime/text/markup/xml.py).
 *
 * It accepts what expat accepts in Python and names the same places, except that it refuses every document type, and with
 * it every entity of a document's own. */
#ifndef KOKORO_XML_H
#define KOKORO_XML_H

#include "items.h"

typedef struct xml_attribute {
  string name, value;
} xml_attribute;
typedef LIST(xml_attribute) xml_attributes;

/* A part of a document. XML_TEXT: characters with their places. */
typedef struct xml_event {
  enum { XML_NOTHING, XML_START, XML_END, XML_TEXT } kind;
  string name;
  xml_attributes attributes;
  source text;
  size_t line, column; /* of a start */
  size_t place;        /* of an end, in the source */
} xml_event;

/* An element that is open, with its place. */
typedef struct xml_element {
  builder name;
  size_t line, column;
} xml_element;

enum { XML_MAX_DEPTH = 64 };

typedef struct xml {
  enum { XML_BEFORE, XML_DECLARED, XML_PROLOG, XML_CONTENT, XML_CDATA, XML_EPILOG } stage;
  xml_element open[XML_MAX_DEPTH];
  size_t depth;
  int closes; /* whether the end of an element without content follows */
} xml;

/* Get the next part of the document. Fails with FAILURE_INPUT, and line and column. */
progress next_xml(work *w, markup *m, xml *x, xml_event *event);
/* Return the innermost open element with its place for a message, or "". */
const char *innermost(work *w, const xml *x);

#endif
