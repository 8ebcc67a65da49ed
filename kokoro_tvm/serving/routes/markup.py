"""Routes that clients of Kokoro-FastAPI use for texts with markup: SSML as text with brackets, dialogues."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.runtime.prosody import FACTORS
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, is_ssml, parse_markup
from kokoro_tvm.runtime.text.markup.ssml import BREAKS, ELEMENTS, IGNORED_ELEMENTS
from kokoro_tvm.runtime.text.markup.values import RATES
from kokoro_tvm.runtime.text.markup.written import write_brackets
from kokoro_tvm.serving.bodies import AudioBody
from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.feed import read_in_turns
from kokoro_tvm.serving.json_input import ComputationRoute, JsonRoute
from kokoro_tvm.serving.requests import DialogueRequest, SsmlRequest
from kokoro_tvm.serving.responses import ComputedResponse, SpeechResponse, content_of, respond_with_speech
from kokoro_tvm.serving.service import CurrentService, Service

__all__ = ["router"]

router = APIRouter(route_class=JsonRoute)
_computations = APIRouter(route_class=ComputationRoute)


@router.get("/dev/ssml", summary="Says what of SSML is understood.")
async def describe_ssml() -> dict[str, Any]:
    return {
        "elements": {name: element.about for name, element in ELEMENTS.items()},
        "ignored": list(IGNORED_ELEMENTS),
        "break_strengths": {strength: seconds or 0.0 for strength, seconds in BREAKS.items()},
        "prosody_rates": RATES,
        "rate_range": list(FACTORS),
    }


@_computations.post("/dev/ssml", summary="Writes SSML as a text with brackets.", response_class=JSONResponse)
async def convert_ssml(body: SsmlRequest, request: Request, service: CurrentService) -> ComputedResponse:
    bundle = service.bundles.of().bundle
    # Which voices exist is checked when the text is spoken.
    context = MarkupVocabulary(
        bundle.vocabulary, lambda voice: describe(voice or body.voice or "", bundle.languages).code
    )

    def compute() -> JSONResponse:
        """Return the text, with brackets if it is SSML."""
        text = body.text
        if is_ssml(text):
            text = write_brackets(parse_markup(read_in_turns(text), context, ssml=True), body.voice or None)
        return JSONResponse({"text": text}, headers=body.headers)

    return ComputedResponse(service.scheduler.compute(compute, request.state.priority))


@router.post(
    "/dev/dialogue",
    summary="Speaks a script of several voices.",
    response_class=Response,
    responses=content_of("audio/*"),
)
async def dialogue(body: DialogueRequest, request: Request, service: CurrentService) -> SpeechResponse:
    speech = body.to_speech(_write_script(body, service))
    audio = partial(
        AudioBody, speech.response_format, speech.volume_multiplier, sample_rate=speech.sample_rate
    )
    return await respond_with_speech(service, request, speech, audio, body.headers)


router.include_router(_computations)


def _write_script(body: DialogueRequest, service: Service) -> str:
    """Join the turns into one text with brackets. Raises ApiError for an unknown voice or too much text."""
    voices, limit = service.bundles.of(body.model).voices, service.settings.max_characters
    characters = sum(len(turn.text) for turn in body.turns)
    if characters > limit:
        message = f"`turns` have {characters} characters together; 1 to {limit} may be."
        raise ApiError(400, message, "turns", "string_above_max_length")
    parts = []
    for index, turn in enumerate(body.turns):
        voice = voices.resolve(turn.voice)
        try:
            voices.split(voice)
        except InputError as error:
            raise ApiError(400, str(error), f"turns[{index}].voice", "invalid_input") from error
        parts.append(f"[voice:{voice}][rate:]{_separate_links(turn.text.strip())}")
    pause = f" [pause:{body.pause_between_turns:.3f}s] " if body.pause_between_turns else " "
    return pause.join(parts)


def _separate_links(text: str) -> str:
    """Break the start of a link after the last `)` of a turn: the next turn might have its end."""
    before, bracket, rest = text.rpartition(")")
    return before + bracket + rest.replace("](", "] (")
