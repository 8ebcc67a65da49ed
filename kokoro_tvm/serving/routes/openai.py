"""OpenAI's speech interface, and what Open WebUI requests beside it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from kokoro_tvm.common.words import truncate
from kokoro_tvm.serving.bodies import AudioBody, EventBody
from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.json_input import JsonRoute
from kokoro_tvm.serving.names import describe_languages, list_voices
from kokoro_tvm.serving.requests import SpeechRequest
from kokoro_tvm.serving.responses import SpeechResponse, content_of, respond_with_speech
from kokoro_tvm.serving.service import CurrentService, Service

__all__ = ["router"]

router = APIRouter(route_class=JsonRoute)

# Names of models that clients look for: Kokoro-FastAPI's and OpenAI's. They stand for the first bundle.
_ALIASES = ("kokoro", "tts-1", "tts-1-hd", "gpt-4o-mini-tts")


@router.post(
    "/v1/audio/speech",
    summary="Speaks a text.",
    response_class=Response,
    responses=content_of("audio/*", "text/event-stream"),
)
async def speech(body: SpeechRequest, request: Request, service: CurrentService) -> SpeechResponse:
    kind = EventBody if body.stream_format == "sse" else AudioBody
    audio = partial(kind, body.response_format, body.volume_multiplier, sample_rate=body.sample_rate)
    return await respond_with_speech(service, request, body, audio, body.headers)


@router.get("/v1/models", summary="Lists the models.")
async def models(service: CurrentService) -> dict[str, Any]:
    return {"object": "list", "data": [_describe_model(name) for name in _model_names(service)]}


@router.get("/v1/models/{name}", summary="Describes a model.")
async def model(name: str, service: CurrentService) -> dict[str, Any]:
    if name in _model_names(service):
        return _describe_model(name)
    raise ApiError(404, f"There is no model {truncate(repr(name))}.", "model", "model_not_found")


@router.get("/v1/audio/voices", summary="Lists the voices.")
async def voices(
    service: CurrentService,
    model: Annotated[str, Query(description="The bundle whose voices they are.")] = "",
    legacy: Annotated[bool, Query(description="`true` for names alone.")] = False,
) -> dict[str, Any]:
    tts = service.bundles.of(model)
    if legacy:
        return {"voices": list(tts.voices.names)}
    languages = tts.bundle.languages
    return {
        "model": service.bundles.name_of(model),
        "voices": list_voices(tts.voices, languages),
        "languages": describe_languages(languages),
    }


@router.get("/v1/audio/models", summary="Lists the models, as Open WebUI asks for them.")
async def audio_models(service: CurrentService) -> dict[str, Any]:
    return {"models": [{"id": name} for name in _model_names(service)]}


def _model_names(service: Service) -> tuple[str, ...]:
    """Return the names of bundles, then OpenAI's, for which the first bundle speaks."""
    return tuple(dict.fromkeys((*service.bundles.names, *_ALIASES)))


def _describe_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "kokoro-tvm"}
