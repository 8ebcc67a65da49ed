"""Speaks a text with Pipecat's OpenAI service: URL, text. Prints the audio's bytes and digest, and errors."""

import asyncio
import hashlib
import json
import sys

from pipecat.frames.frames import ErrorFrame, TTSAudioRawFrame, TTSSpeakFrame
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.tests.utils import run_test


async def main(url: str, text: str) -> None:
    service = OpenAITTSService(
        api_key="none", base_url=url, settings=OpenAITTSService.Settings(voice="ash", speed=1.5)
    )
    down, up = await run_test(service, frames_to_send=[TTSSpeakFrame(text)], start_timeout=60.0)
    audio = b"".join(frame.audio for frame in down if isinstance(frame, TTSAudioRawFrame))
    rates = sorted({frame.sample_rate for frame in down if isinstance(frame, TTSAudioRawFrame)})
    errors = [frame.error for frame in (*down, *up) if isinstance(frame, ErrorFrame)]
    result = {
        "bytes": len(audio),
        "sha256": hashlib.sha256(audio).hexdigest(),
        "rates": rates,
        "errors": errors,
    }
    print(json.dumps(result))


asyncio.run(main(*sys.argv[1:]))
