"""What clients of Kokoro-FastAPI use beside OpenAI's interface."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from kokoro_tvm.runtime.bundle.voice_files import encode_voice
from kokoro_tvm.runtime.notices import receiving
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.serving.bodies import Audio, Captions
from kokoro_tvm.serving.body import read_request
from kokoro_tvm.serving.downloads import save_as
from kokoro_tvm.serving.encoding import FORMATS
from kokoro_tvm.serving.names import letter_of, with_own_names
from kokoro_tvm.serving.openapi import ApiRoute
from kokoro_tvm.serving.requests import CaptionedRequest, CombineRequest, PhonemesRequest, PhonemizeRequest
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.spoken import ComputedResponse, SpokenResponse, answer, notices_header

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """The routes of a server."""

    async def captioned(request: Request) -> SpokenResponse:
        wanted, headers = await read_request(request, CaptionedRequest, service)
        voices = service.bundles.of(wanted.model).voices
        body = partial(
            Captions,
            wanted.response_format,
            wanted.volume_multiplier,
            wanted.return_timestamps,
            wanted.stream,
            with_own_names(wanted.voice, voices) if wanted.allow_voice_tags else None,
        )
        return await answer(service, request, wanted, body, headers)

    async def from_phonemes(request: Request) -> SpokenResponse:
        wanted, headers = await read_request(request, PhonemesRequest, service)
        job = service.speak_phonemes(wanted, request)
        return SpokenResponse(
            job, partial(Audio, wanted.response_format, 1.0), headers, service.settings.patience
        )

    async def phonemize(request: Request) -> ComputedResponse:
        wanted, headers = await read_request(request, PhonemizeRequest, service, computation=True)
        tts = service.bundles.of()
        languages = tts.bundle.languages
        code = letter_of(wanted.language or next(iter(languages)), languages, "language")

        def phonemes() -> JSONResponse:
            notices: list[str] = []
            with receiving(notices.append):
                lines = tts.phonemize(wanted.text, tts.voices.names[0], language=code)
            tokens = [id for line in lines for id in encode(line, tts.bundle.vocabulary)]
            found = {"phonemes": "\n".join(lines), "tokens": tokens}
            return JSONResponse(found, headers=headers | notices_header(notices))

        return ComputedResponse(service.scheduler.compute(phonemes, request.state.priority))

    async def combine(request: Request) -> ComputedResponse:
        wanted, headers = await read_request(request, CombineRequest, service, computation=True)
        voices = service.bundles.of().voices
        headers |= {"Content-Disposition": "attachment; filename=voice.pt"}

        def file() -> Response:
            data = encode_voice(voices.table(with_own_names(wanted.voices, voices)), ".pt")
            return Response(data, media_type="application/octet-stream", headers=headers)

        return ComputedResponse(service.scheduler.compute(file, request.state.priority))

    async def download(request: Request) -> FileResponse:
        name = request.path_params["name"]
        path = await asyncio.to_thread(service.downloads.find, name)
        return FileResponse(
            path,
            media_type=FORMATS[path.suffix[1:]].media_type,
            filename=save_as(request.query_params.get("name", ""), name),
            headers={"Cache-Control": "no-store"},
        )

    return [
        ApiRoute(
            "POST",
            "/dev/captioned_speech",
            captioned,
            "Speaks a text, and says when its words are heard: an object a line.",
            CaptionedRequest,
        ),
        ApiRoute(
            "POST",
            "/dev/generate_from_phonemes",
            from_phonemes,
            "Speaks phonemes.",
            PhonemesRequest,
            "audio/*",
        ),
        ApiRoute("POST", "/dev/phonemize", phonemize, "Gives the phonemes of a text.", PhonemizeRequest),
        ApiRoute(
            "POST",
            "/v1/audio/voices/combine",
            combine,
            "Gives a mix of voices as a file of PyTorch's.",
            CombineRequest,
            "application/octet-stream",
        ),
        ApiRoute(
            "GET",
            "/v1/download/{name}",
            download,
            "Gives audio that `return_download_link` has kept.",
            None,
            "audio/*",
            query={"name": "A name to save it under."},
        ),
    ]
