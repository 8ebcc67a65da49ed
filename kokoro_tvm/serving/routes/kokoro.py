"""Routes that clients of Kokoro-FastAPI use beside OpenAI's interface."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from kokoro_tvm.runtime.bundle.voice_files import encode_voice
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.serving.bodies import AudioBody, CaptionBody
from kokoro_tvm.serving.downloads import choose_file_name
from kokoro_tvm.serving.encoding import FORMATS
from kokoro_tvm.serving.json_input import ComputationRoute, JsonRoute
from kokoro_tvm.serving.names import letter_of
from kokoro_tvm.serving.requests import CaptionedRequest, CombineRequest, PhonemesRequest, PhonemizeRequest
from kokoro_tvm.serving.responses import ComputedResponse, SpeechResponse, content_of, respond_with_speech
from kokoro_tvm.serving.service import CurrentService

__all__ = ["router"]

router = APIRouter(route_class=JsonRoute)
_computations = APIRouter(route_class=ComputationRoute)


@router.post(
    "/dev/captioned_speech",
    summary="Speaks a text, and says when its words are heard: an object a line.",
    response_class=Response,
    responses=content_of("application/json"),
)
async def captioned(body: CaptionedRequest, request: Request, service: CurrentService) -> SpeechResponse:
    voices = service.bundles.of(body.model).voices
    captions = partial(
        CaptionBody,
        body.response_format,
        body.volume_multiplier,
        body.return_timestamps,
        body.stream,
        voices.resolve(body.voice) if body.allow_voice_tags else None,
        sample_rate=body.sample_rate,
    )
    return await respond_with_speech(service, request, body, captions, body.headers)


@router.post(
    "/dev/generate_from_phonemes",
    summary="Speaks phonemes.",
    response_class=Response,
    responses=content_of("audio/*"),
)
async def from_phonemes(body: PhonemesRequest, request: Request, service: CurrentService) -> SpeechResponse:
    job = service.speak_phonemes(body, request)
    audio = partial(AudioBody, body.response_format, 1.0, sample_rate=body.sample_rate)
    return SpeechResponse(job, audio, body.headers, service.settings.write_timeout_s)


@_computations.post("/dev/phonemize", summary="Gives the phonemes of a text.", response_class=JSONResponse)
async def phonemize(body: PhonemizeRequest, request: Request, service: CurrentService) -> ComputedResponse:
    tts = service.bundles.of()
    languages = tts.bundle.languages
    code = letter_of(body.language or next(iter(languages)), languages)

    def compute() -> JSONResponse:
        """Return the phonemes and tokens of the text."""
        lines = tts.phonemize(body.text, tts.voices.names[0], language=code)
        tokens = [id for line in lines for id in encode(line, tts.bundle.vocabulary)]
        return JSONResponse({"phonemes": "\n".join(lines), "tokens": tokens}, headers=body.headers)

    return ComputedResponse(service.scheduler.compute(compute, request.state.priority))


@_computations.post(
    "/v1/audio/voices/combine",
    summary="Gives a mix of voices as a file of PyTorch's.",
    response_class=Response,
    responses=content_of("application/octet-stream"),
)
async def combine(body: CombineRequest, request: Request, service: CurrentService) -> ComputedResponse:
    voices = service.bundles.of().voices
    headers = body.headers | {"Content-Disposition": "attachment; filename=voice.pt"}

    def compute() -> Response:
        """Return the mix of voices as a file."""
        data = encode_voice(voices.table(voices.resolve(body.voices)), ".pt")
        return Response(data, media_type="application/octet-stream", headers=headers)

    return ComputedResponse(service.scheduler.compute(compute, request.state.priority))


@router.get(
    "/v1/download/{name}",
    summary="Gives audio that `return_download_link` has kept.",
    response_class=Response,
    responses=content_of("audio/*"),
)
async def download(
    file: Annotated[str, Path(alias="name")],
    service: CurrentService,
    save_as: Annotated[str, Query(alias="name", description="A name to save it under.")] = "",
) -> FileResponse:
    path = await asyncio.to_thread(service.downloads.find, file)
    return FileResponse(
        path,
        media_type=FORMATS[path.suffix[1:]].media_type,
        filename=choose_file_name(save_as, file),
        headers={"Cache-Control": "no-store"},
    )


router.include_router(_computations)
