"""Settings of a server, from options, environment variables and a YAML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_settings import (
    BaseSettings,
    CliApp,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import hint, shorten
from kokoro_tvm.common.yaml_file import parse_yaml, read_text

PREFIX = "KOKORO_TVM_SERVE_"
"""Of the environment variables."""
Omission = Literal["citations", "code", "math", "notes"]
"""A kind of text that can be left out."""


def _split(value: Any) -> Any:
    """Split a text at commas; return other values as they are."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


_Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
_Count = Annotated[int, Field(ge=1)]
_Port = Annotated[int, Field(ge=0, le=65535)]
_Seconds = Annotated[float, Field(ge=0.01, allow_inf_nan=False)]


class Settings(BaseSettings):
    """Settings of a server."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        cli_prog_name="kokoro-tvm serve",
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_hide_none_type=True,
    )

    config: Path | None = None
    """YAML file of settings, by their names here."""
    bundle: _Names = ()
    """Folder of a bundle, `NAME=DIR` to name it. Several may be given; the first speaks for models that have
    no bundle of their name."""
    voices: str | None = None
    """Folder of your own voices, beside those of every bundle: .pt, .npy, .bin or .safetensors files, each
    named as its file. SIGHUP reads it again."""
    lexicon: str | None = None
    """YAML file of words and their phonemes, or respellings such as `kuh-TAR`, for every text. SIGHUP reads
    it again."""
    host: str = "127.0.0.1"
    """Address to listen at."""
    port: _Port = 8880
    """Port to listen at."""
    wyoming_port: _Port | None = None
    """Port of Wyoming, for Home Assistant."""
    wyoming_omit: Annotated[tuple[Omission, ...], NoDecode, BeforeValidator(_split)] = ()
    """Kind of text that is not spoken to clients of Wyoming: citations, code, math or notes. Several may be
    given."""
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes, which share the pages of the weights."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads that compute in each process. By default its share of the cores."""
    api_key: _Names = ()
    """Key that requests must have as `Authorization: Bearer KEY`. Several may be given."""
    priority_key: _Names = ()
    """Key whose requests go before all others. Several may be given."""
    hosts: _Names = ()
    """Name by which clients reach the server, or `*`. Several may be given. Addresses and names without a dot
    need none, nor does a server with `api_key`."""
    cors: _Names = ()
    """Origin whose pages may send requests, or `*`. Several may be given."""
    max_requests: Annotated[int, Field(ge=1, le=4096)] = 64
    """Requests that are spoken or wait at a time. More are refused with status 429."""
    max_connections: _Count = 4096
    """Connections at a time. More are closed."""
    max_head_bytes: _Count = 1 << 16
    """Bytes of the head of a request."""
    max_body_bytes: _Count = 1 << 20
    """Bytes of the body of a request and of each part of a Wyoming event."""
    max_message_bytes: _Count = 1 << 18
    """Bytes of a WebSocket message. A longer one closes the session."""
    max_characters: _Count = 100_000
    """Characters of a text, or of its phonemes. 100,000 are two hours of speech."""
    max_phonemize_characters: _Count = 10_000
    """Characters of a text for `/dev/phonemize`."""
    max_sessions: Annotated[int, Field(ge=0)] = 256
    """WebSocket sessions at a time, and as many clients of Wyoming. More are refused."""
    max_session_speeches: _Count = 8
    """Speeches of a WebSocket session that wait or are spoken. More fail."""
    max_speech_s: Annotated[float, Field(ge=1)] = 36_000.0
    """Seconds that a speech may last."""
    max_pause_s: Annotated[float, Field(ge=0)] = 300.0
    """Seconds that a pause may last."""
    audio_buffer_s: Annotated[float, Field(ge=0)] = 60.0
    """Seconds of audio that are computed ahead for a client that reads slowly."""
    write_timeout_s: _Seconds = 120.0
    """Seconds after which a client that reads nothing is disconnected."""
    request_timeout_s: _Seconds = 20.0
    """Seconds in which the head of a request, and then its body, must arrive."""
    idle_timeout_s: _Seconds = 300.0
    """Seconds after which a WebSocket session or a client of Wyoming that sends nothing is closed, unless
    complete texts are still spoken for it."""
    first_audio_priority_s: Annotated[float, Field(ge=0)] = 30.0
    """Seconds for which a request without audio so far goes before those with audio. After them, the request
    that has waited longest goes first."""
    shutdown_timeout_s: Annotated[float, Field(ge=0)] = 30.0
    """Seconds that requests may take to end after SIGTERM."""
    cache: str | None = None
    """Folder, or URL that fsspec reaches, of spoken pieces, which are not computed again."""
    cache_size_mib: _Count = 1024
    """MiB that the cache may have."""
    download_folder: str | None = None
    """Folder of the audio that `return_download_link` keeps. By default a temporary one."""
    download_size_mib: _Count = 256
    """MiB that the kept audio may have."""
    download_age_s: Annotated[float, Field(ge=1)] = 3600.0
    """Seconds that audio is kept."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe level that is logged. `--quiet` means `warning`, `--verbose` means `debug`."""
    log_texts: bool = False
    """Log the texts of requests, and notices about their words."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the command line, then the environment, then the file."""
        return init_settings, env_settings, _ConfigFile(settings_cls)


class _ConfigFile(PydanticBaseSettingsSource):
    """The YAML file that the setting `config` names. Errors show the place in the file."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError  # all values are read at once

    def __call__(self) -> dict[str, Any]:
        path, fields = self.current_state.get("config"), self.settings_cls.model_fields
        if path is None:
            return {}
        nodes = parse_yaml(read_text(Path(path), InputError), strings=True, max_depth=2).entries
        for name, node in nodes.items():
            if name not in fields:
                raise node.key.error(f"unknown setting `{shorten(name)}`{hint(name, list(fields))}")
            try:
                TypeAdapter(fields[name].rebuild_annotation()).validate_python(node.data())
            except ValidationError as error:
                raise node.span.error(f"`{name}`: {_describe(error)}") from None
        return {name: node.data() for name, node in nodes.items()}


def _describe(error: ValidationError) -> str:
    """Describe the first fault of a setting's value."""
    details = error.errors()[0]
    return f"{details['msg']}, but is {details['input']!r}"


def option(name: str) -> str:
    """Return the command-line option of a setting."""
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def _join_lists(arguments: Sequence[str]) -> list[str]:
    """Join the values of a repeated option: pydantic-settings before 2.16 takes the last one."""
    lists = [option(name) for name, field in Settings.model_fields.items() if field.default == ()]
    values: dict[str, list[str]] = {}
    others, words = [], iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in lists:
            others.append(word)
        else:
            values.setdefault(name, []).append(value if equals else next(words, ""))
    return [*others, *(f"{name}={','.join(parts)}" for name, parts in values.items())]


def read_settings(arguments: Sequence[str]) -> Settings:
    """Read settings from a command line, else from the environment, else from a YAML file.

    Raises:
        InputError: Names the setting that is unknown or has an invalid value.
    """
    variables = [variable(name) for name in Settings.model_fields]
    for name in os.environ:
        if name.startswith(PREFIX) and name not in variables:
            raise InputError(f"There is no environment variable {name}{hint(name, variables)}")
    try:
        return CliApp.run(Settings, _join_lists(arguments), cli_exit_on_error=False)
    except SettingsError as error:
        message = str(error).removeprefix("error parsing CLI: ")
        unknown = message.partition("unrecognized arguments: ")[2].split()
        options = [option(name) for name in Settings.model_fields]
        raise InputError(message + (hint(unknown[0], options) if unknown else "")) from None
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise InputError(f"{option(name)} or {variable(name)}: {_describe(error)}.") from None
