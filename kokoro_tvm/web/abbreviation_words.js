/** The content of runtime/text/abbreviations.json, for abbreviations.js. */
export default {
  "titles": [
    "mr", "mrs", "ms", "dr", "prof", "rev", "hon", "gen", "col", "maj", "capt", "lt", "sgt", "cpl", "pres", "gov",
    "sen", "rep", "messrs", "mme", "mlle", "sra", "srta", "sig", "mt", "vs", "e.g", "i.e", "cf", "approx", "z.b",
    "bzw"
  ],
  "others": [
    "st", "sr", "jr", "etc", "al", "dept", "est", "fig", "figs", "eq", "no", "nos", "vol", "vols", "ch", "pp", "p",
    "ed", "eds", "inc", "ltd", "co", "corp", "bros", "usw", "ave", "blvd", "rd", "ft", "jan", "feb", "apr", "jun",
    "jul", "aug", "sep", "sept", "oct", "nov", "dec", "ph.d"
  ],
  "beginnings": [
    "a", "about", "after", "all", "also", "although", "among", "an", "and", "another", "any", "as", "at", "because",
    "before", "both", "but", "by", "despite", "during", "each", "even", "every", "everyone", "everything", "few",
    "finally", "first", "for", "from", "furthermore", "he", "he'd", "he'll", "he's", "hence", "her", "here", "his",
    "how", "however", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "indeed", "instead", "it", "it'd", "it'll",
    "it's", "its", "last", "later", "like", "many", "meanwhile", "moreover", "most", "my", "neither", "nevertheless",
    "next", "nobody", "none", "nor", "not", "nothing", "now", "of", "on", "once", "one", "only", "or", "other", "our",
    "over", "perhaps", "several", "she", "she'd", "she'll", "she's", "since", "so", "some", "soon", "still", "such",
    "that", "that's", "the", "their", "then", "there", "there's", "therefore", "these", "they", "they'd", "they'll",
    "they're", "they've", "this", "those", "though", "three", "through", "thus", "to", "today", "two", "under",
    "unless", "until", "we", "we'd", "we'll", "we're", "we've", "what", "what's", "when", "where", "whether", "which",
    "while", "who", "why", "with", "without", "yet", "you", "you'd", "you'll", "you're", "you've", "your"
  ],
  "dates": [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march",
    "april", "may", "june", "july", "august", "september", "october", "november", "december", "eastern", "pacific",
    "central", "mountain", "greenwich"
  ]
};
