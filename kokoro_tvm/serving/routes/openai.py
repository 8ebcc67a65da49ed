"""OpenAI's speech interface, and what Open WebUI looks for beside it."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kokoro_tvm.common.words import truncate
from kokoro_tvm.serving.bodies import Audio, Events
from kokoro_tvm.serving.body import read_request
from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.names import listed, named
from kokoro_tvm.serving.openapi import ApiRoute
from kokoro_tvm.serving.requests import SpeechRequest
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.spoken import SpokenResponse, answer

__all__ = ["routes"]

_ALIASES = ("kokoro", "tts-1", "tts-1-hd", "gpt-4o-mini-tts")
"""Names of models that clients look for: Kokoro-FastAPI's and OpenAI's. They stand for the first bundle."""


def routes(service: Service) -> list[Route]:
    """The routes of a server."""

    async def speech(request: Request) -> SpokenResponse:
        wanted, headers = await read_request(request, SpeechRequest, service)
        kind = Events if wanted.stream_format == "sse" else Audio
        body = partial(kind, wanted.response_format, wanted.volume_multiplier)
        return await answer(service, request, wanted, body, headers)

    async def models(request: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [_model(name) for name in _names(service)]})

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if name in _names(service):
            return JSONResponse(_model(name))
        raise ApiError(404, f"There is no model {truncate(repr(name))}.", "model", "model_not_found")

    async def voices(request: Request) -> JSONResponse:
        tts = service.bundles.of(request.query_params.get("model", ""))
        found, languages = tts.voices, tts.bundle.languages
        if request.query_params.get("legacy", "").lower() in {"1", "true"}:
            return JSONResponse({"voices": list(found.names)})
        return JSONResponse({"voices": listed(found, languages), "languages": named(languages)})

    async def audio_models(request: Request) -> JSONResponse:
        return JSONResponse({"models": [{"id": name} for name in _names(service)]})

    return [
        ApiRoute(
            "POST",
            "/v1/audio/speech",
            speech,
            "Speaks a text.",
            SpeechRequest,
            "audio/*",
            "text/event-stream",
        ),
        ApiRoute("GET", "/v1/models", models, "Lists the models."),
        ApiRoute("GET", "/v1/models/{name}", model, "Describes a model."),
        ApiRoute(
            "GET",
            "/v1/audio/voices",
            voices,
            "Lists the voices.",
            query={"model": "The bundle whose voices they are.", "legacy": "`true` for names alone."},
        ),
        ApiRoute("GET", "/v1/audio/models", audio_models, "Lists the models, as Open WebUI asks for them."),
    ]


def _names(service: Service) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*service.bundles.names, *_ALIASES)))


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "kokoro-tvm"}
