"""Texts of the benchmark, as phonemes in misaki's alphabet: from two words to a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kokoro_tvm.common.errors import InputError

VOICE = "af_heart"


@dataclass(frozen=True)
class Text:
    """A text as utterances, each within the 510 symbols that the model accepts."""

    name: str
    utterances: tuple[str, ...]


# "Hello world."
_HELLO = "həlˈO wˈɜɹld."
# "The morning train crosses the green valley slowly, and every window is full of light."
_TRAIN = "ðə mˈɔɹnɪŋ tɹˈAn kɹˈɔsᵻz ðə ɡɹˈin vˈæli slˈOli, ænd ˈɛvəɹi wˈɪndO ɪz fˈʊl ʌv lˈIt."
# "When the harbor lights came on, ... he knew whose hand was pulling the rope."
_HARBOR = (
    "wˌɛn ðə hˈɑɹbəɹ lˈIts kˈAm ˌɔn, ðə bˈOts wɜɹ ˌɔlɹˈɛdi mˈuvɪŋ. ɐn ˈOld kˈæptᵊn stˈʊd æt ðə ɹˈAl, "
    "hˈʌmɪŋ ɐ tˈun fɹʌm hɪz jˈuθ, ænd kˈWntᵻd ðə bˈɛlz əkɹˈɔs ðə wˈɔTəɹ. nˈObˌɑdi ˈænsəɹd hˌɪm; ðə fˈɔɡ hæd "
    "tˈAkən ˈɛvəɹi sˈWnd bˌʌt wˈʌn. ðˈɛn, vˈɛɹi fˈɑɹ əwˈA, ɐ sˈɛkənd bˈɛl bəɡˈæn tə ɹˈɪŋ, ænd hi smˈIld, "
    "bəkˈʌz hi nˈu hˌuz hˈænd wʌz pˈʊlɪŋ ðə ɹˈOp."
)
# "By the time the fog had lifted, half the town was standing on the pier. ..."
_PIER = (
    "bI ðə tˈIm ðə fˈɔɡ hæd lˈɪftᵻd, hˈæf ðə tˈWn wʌz stˈændɪŋ ˌɔn ðə pˈɪɹ. ðə bˈAkəɹ hæd bɹˈɔt wˈɔɹm "
    "bɹˈɛd, ænd ðə ʧˈɪldɹən pˈæst ɪt əlˈɔŋ ðə lˈIn wɪðˌWt bˈiɪŋ ˈæskt. ˈWt ˌɔn ðə ɡɹˈA wˈɔTəɹ ɐ smˈɔl wˈIt "
    "sˈAl tˈɜɹnd slˈOli təwˈɔɹdz ðə lˈænd, ænd sˈʌmbɑdi bəɡˈæn tə kˈWnt ðə pˈipᵊl ˌɔn hɜɹ dˈɛk. ðɛɹ wɜɹ "
    "sˈɛvən ʌv ðˌɛm, wˈʌn mˈɔɹ ðɐn hæd ɡˈɔn ˈWt."
)
# "The seventh was a girl of nine or ten, wrapped in a coat much too long for her. ..."
_GIRL = (
    "ðə sˈɛvənθ wʌz ɐ ɡˈɜɹl ʌv nˈIn ɔɹ tˈɛn, ɹˈæpt ɪn ɐ kˈOt mˈʌʧ tˈu lˈɔŋ fɔɹ hˌɜɹ. ʃi hæd bˌɪn fˈWnd, ðə "
    "kˈæptᵊn sˈɛd, ɪn ɐ bˈOt wɪð nˈO ˈɔɹz, sˈɪŋɪŋ tə kˈip hɜɹsˈɛlf əwˈAk. ʃi wʊd nˌɑt tˈɛl wˌɛɹ ʃi kˈAm "
    "fɹʌm, bˌʌt ʃi nˈu ðə nˈAm ʌv ˈɛvəɹi stˈɑɹ əbˈʌv ðə hˈɑɹbəɹ, ænd wˌɛn ðə lˈæmps wɜɹ lˈɪt ðæt ˈivnɪŋ ʃi "
    "lˈæft, æz ɪf ðə skˈI hæd kˈʌm dˈWn tə mˈit hˌɜɹ."
)

# In ascending length, the order of measurement: peak memory is that of the texts so far.
TEXTS = (
    Text("short", (_HELLO,)),
    Text("medium", (_TRAIN,)),
    Text("long", (_HARBOR,)),
    Text("minute", (_HARBOR, _PIER, _GIRL)),
)
FIDELITY_TEXT = TEXTS[1]
"""Text that systems are compared on."""


def choose_texts(names: Sequence[str] | None) -> tuple[Text, ...]:
    """Choose texts by name, or all if None. Raises InputError for an unknown name."""
    available = [text.name for text in TEXTS]
    for name in names or ():
        if name not in available:
            raise InputError(f"There is no text {name!r} to measure. There are: {', '.join(available)}.")
    return tuple(text for text in TEXTS if names is None or text.name in names)
