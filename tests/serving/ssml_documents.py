"""SSML documents in the dialects of other services."""

from __future__ import annotations

__all__ = ["DOCUMENTS", "WITH_VOICES"]

_W3C = 'xmlns="http://www.w3.org/2001/10/synthesis"'

DOCUMENTS = {
    "azure styles": f"""<speak version="1.0" {_W3C} xmlns:mstts="http://www.w3.org/2001/mstts">
  <mstts:silence type="Sentenceboundary" value="150ms"/>
  <mstts:express-as style="sad" styledegree="1.5">A big bad dog ran home.</mstts:express-as>
  <mstts:viseme type="redlips_front"/> <bookmark mark="b1"/>He had a cab.
</speak>""",
    "azure prosody": f"""<speak version="1.0" {_W3C} xml:lang="en-US">
  <p><s>A dog.</s><s>A cab &amp; a man.</s></p> <break/> <break strength="medium"/> <break time="350ms"/>
  <prosody pitch="+1st" rate="fast" volume="70">Go on.</prosody>
  <prosody pitch="50%" contour="(0%,+20Hz)">Ah.</prosody>
  <phoneme alphabet="ipa" ph="k&#xE6;&#x325;b&#x27E;">cab</phoneme>
  <phoneme alphabet="sapi" ph="k ae b">cab</phoneme>
  <emphasis level="reduced">he</emphasis> <lang xml:lang="de-DE">Hand</lang>
  <sub alias="number one">no. 1</sub>
</speak>""",
    "google media": """<speak><par><media xml:id="a" begin="0.2s"><speak>Who ran?</speak></media>
  <media xml:id="b" begin="a.end+1.5s" soundLevel="-3dB"><speak>A dog ran.</speak></media></par>
  <seq><media repeatCount="2" fadeInDur="1s"><audio src="https://example.com/bark.ogg"><desc>a dog that
  barks</desc>
  Bad dog.</audio></media></seq></speak>""",
    "google say-as": """<speak xmlns:google="http://www.google.com/2017/ssml">
  <say-as interpret-as="currency" language="en-US">$3</say-as>
  <say-as interpret-as="date" format="md">4-5</say-as>
  <say-as interpret-as="telephone" google:style="zero-as-zero">555-0100</say-as>
  <google:style name="calm">And he had a cab.</google:style>
  <voice language="en-GB" gender="male">A man.</voice>
  <mark name="here"/> Go <break time="2s"/> home.</speak>""",
    "polly": """<speak xmlns:amazon="https://aws.amazon.com/polly"><amazon:domain name="news">
  I <w role="amazon:VB">do</w> it. <amazon:effect name="whispered">He ran.</amazon:effect>
  <amazon:effect vocal-tract-length="+10%" phonation="soft">A hand.</amazon:effect>
  <amazon:breath duration="long"/>
  <prosody amazon:max-duration="1s" volume="+6dB" rate="80%">A land.</prosody>
  <phoneme alphabet="x-sampa" ph="k{b">cab</phoneme> <break strength="x-strong"/></amazon:domain></speak>""",
    "w3c": f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- of a recording -->
<speak version="1.1" {_W3C} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.w3.org/2001/10/synthesis
  http://www.w3.org/TR/speech-synthesis11/synthesis.xsd">
  <lexicon uri="http://example.com/words.pls" xml:id="words"/><meta name="author" content="nobody"/>
  <metadata><about>not to be spoken</about></metadata>
  He had a <audio src="ham.wav">ham<desc xml:lang="en-US">the noise of a ham</desc></audio>.
  <lang xml:lang="fr-FR"><token>Rend</token> la <audio src="main.wav">main</audio>.</lang></speak>""",
}
WITH_VOICES = {
    "azure voice": f"""<speak version="1.0" {_W3C} xml:lang="en-US"><voice name="en-US-AvaNeural">A dog
  ran.</voice>
  <voice name="en-US-Ava:DragonHDLatestNeural">A cab ran.</voice></speak>""",
    "google voice": '<speak>A man had <voice name="fr-CA-Wavenet-B">la main</voice> in land.</speak>',
    "w3c voice": '<speak version="1.1"><voice name="Mike" languages="en" required="name">No.</voice></speak>',
}
"""They name voices of those services, which no other one has."""
