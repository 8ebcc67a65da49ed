"""What clients of Kokoro-FastAPI use for texts with markup: SSML as a text with brackets, and dialogues."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.runtime.prosody import FACTORS
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, is_ssml, parse_markup
from kokoro_tvm.runtime.text.markup.ssml import BREAKS, ELEMENTS, IGNORED_ELEMENTS
from kokoro_tvm.runtime.text.markup.values import RATES
from kokoro_tvm.runtime.text.markup.written import write_brackets
from kokoro_tvm.serving.bodies import Audio
from kokoro_tvm.serving.body import read_request
from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.names import with_own_names
from kokoro_tvm.serving.openapi import ApiRoute
from kokoro_tvm.serving.requests import DialogueRequest, SsmlRequest
from kokoro_tvm.serving.scheduler import read_in_turns
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.spoken import ComputedResponse, SpokenResponse, answer

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """The routes of a server."""

    async def understood(request: Request) -> JSONResponse:
        return JSONResponse(
            {
                "elements": {name: element.about for name, element in ELEMENTS.items()},
                "ignored": list(IGNORED_ELEMENTS),
                "break_strengths": {strength: seconds or 0.0 for strength, seconds in BREAKS.items()},
                "prosody_rates": RATES,
                "rate_range": list(FACTORS),
            }
        )

    async def brackets(request: Request) -> ComputedResponse:
        wanted, headers = await read_request(request, SsmlRequest, service, computation=True)
        bundle = service.bundles.of().bundle
        # Which voices there are is decided when the text is spoken.
        known = MarkupVocabulary(
            bundle.vocabulary, lambda voice: describe(voice or wanted.voice or "", bundle.languages).code
        )

        def parsed() -> JSONResponse:
            text = wanted.text
            if is_ssml(text):
                text = write_brackets(
                    parse_markup(read_in_turns(text), known, ssml=True), wanted.voice or None
                )
            return JSONResponse({"text": text}, headers=headers)

        return ComputedResponse(service.scheduler.compute(parsed, request.state.priority))

    async def dialogue(request: Request) -> SpokenResponse:
        wanted, headers = await read_request(request, DialogueRequest, service)
        speech = wanted.speech(_script(wanted, service))
        body = partial(Audio, speech.response_format, speech.volume_multiplier)
        return await answer(service, request, speech, body, headers)

    return [
        ApiRoute("GET", "/dev/ssml", understood, "Says what of SSML is understood."),
        ApiRoute("POST", "/dev/ssml", brackets, "Writes SSML as a text with brackets.", SsmlRequest),
        ApiRoute(
            "POST",
            "/dev/dialogue",
            dialogue,
            "Speaks a script of several voices.",
            DialogueRequest,
            "audio/*",
        ),
    ]


def _script(wanted: DialogueRequest, service: Service) -> str:
    """The turns as one text with brackets. Raises ApiError for an unknown voice and for too much text."""
    voices, most = service.bundles.of(wanted.model).voices, service.settings.most_characters
    characters = sum(len(turn.text) for turn in wanted.turns)
    if characters > most:
        words = f"`turns` have {characters} characters together; 1 to {most} may be."
        raise ApiError(400, words, "turns", "string_above_max_length")
    parts = []
    for place, turn in enumerate(wanted.turns):
        voice = with_own_names(turn.voice, voices)
        try:
            voices.split(voice)
        except InputError as error:
            raise ApiError(400, str(error), f"turns[{place}].voice", "invalid_input") from error
        parts.append(f"[voice:{voice}][rate:]{_closed(turn.text.strip())}")
    pause = f" [pause:{wanted.pause_between_turns:.3f}s] " if wanted.pause_between_turns else " "
    return pause.join(parts)


def _closed(text: str) -> str:
    """The text of a turn without the beginning of a link, whose end would be looked for in the next turn."""
    before, bracket, rest = text.rpartition(")")
    return before + bracket + rest.replace("](", "] (")
