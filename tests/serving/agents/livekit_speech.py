"""Speaks a text with LiveKit's OpenAI plug-in: URL, text, format. Prints the audio's bytes and digest."""

import asyncio
import hashlib
import json
import sys

from livekit.plugins import openai


async def main(url: str, text: str, format: str) -> None:
    service = openai.TTS(base_url=url, api_key="none", voice="ash", speed=1.5, response_format=format)
    async with service.synthesize(text) as stream:
        frames = [event.frame async for event in stream]
    await service.aclose()
    audio = b"".join(bytes(frame.data) for frame in frames)
    rates = sorted({frame.sample_rate for frame in frames})
    print(json.dumps({"bytes": len(audio), "sha256": hashlib.sha256(audio).hexdigest(), "rates": rates}))


asyncio.run(main(*sys.argv[1:]))
