"""What a server is started with: one table for flags, environment, YAML file and docs."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import hint, shorten

__all__ = ["PREFIX", "Setting", "Settings", "read_settings", "settings"]

PREFIX = "KOKORO_TVM_SERVE_"
"""Of the environment variables."""


@dataclass(frozen=True)
class Setting:
    """One setting: `low` and `high` bound numbers; `metavar` names its value."""

    name: str
    kind: type
    default: Any
    about: str
    metavar: str | None
    low: float | None
    high: float | None

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    def check(self, value: Any) -> Any:
        """The value itself; raises InputError, whose message goes on after the name of the setting."""
        if self.kind in (int, float):
            kind, what = ((int,), "a whole number") if self.kind is int else ((int, float), "a number")
            if isinstance(value, bool) or not isinstance(value, kind) or not math.isfinite(value):
                raise InputError(f"should be {what}, but is {value!r}.")
            low, high = self.low or 0, math.inf if self.high is None else self.high
            if not low <= value <= high:
                most = f" to {high:g}" if self.high is not None else " or more"
                raise InputError(f"should be {low:g}{most}, but is {value!r}.")
        return value

    def parse(self, text: str) -> Any:
        """The value that a text stands for; raises InputError as `check` does. A list has commas."""
        if self.kind is tuple:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        if self.kind is bool:
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            if text.lower() not in words:
                raise InputError(f"should be true or false, but is {text!r}.")
            return words[text.lower()]
        if self.kind is str:
            return text
        try:
            return self.check(self.kind(text))
        except ValueError:
            what = "a whole number" if self.kind is int else "a number"
            raise InputError(f"should be {what}, but is {text!r}.") from None


def _setting(
    default: Any, about: str, metavar: str | None = None, low: float | None = None, high: float | None = None
) -> Any:
    made = {"about": about, "metavar": metavar, "low": low, "high": high}
    return dataclasses.field(default=default, metadata=made)


@dataclass(frozen=True)
class Settings:
    """Settings of a server; `settings()` says what each means."""

    bundle: tuple[str, ...] = _setting(
        (),
        "Folder of a bundle, `NAME=DIR` to give it a name. Several may be given; the first speaks for models "
        "that have no bundle of their name.",
        "DIR",
    )
    voices: str | None = _setting(
        None,
        "Folder of voices of one's own, beside those of every bundle: .pt, .npy, .bin or .safetensors files, "
        "each called as it is. SIGHUP reads it again.",
        "DIR",
    )
    host: str = _setting("127.0.0.1", "Address to listen at.", "ADDRESS")
    port: int = _setting(8880, "Port to listen at.", None, 0, 65535)
    wyoming: int | None = _setting(None, "Port of Wyoming, for Home Assistant.", None, 0, 65535)
    workers: int = _setting(1, "Processes, which share the pages of the weights.", None, 1, 256)
    threads: int | None = _setting(
        None, "Threads that compute in each process; its share of the cores by default.", None, 1, 1024
    )
    api_key: tuple[str, ...] = _setting(
        (), "Key that requests must have as `Authorization: Bearer KEY`. Several may be given.", "KEY"
    )
    priority_key: tuple[str, ...] = _setting(
        (), "Key whose requests go before all others. Several may be given.", "KEY"
    )
    hosts: tuple[str, ...] = _setting(
        (),
        "Name by which clients reach the server, or `*`. Several may be given. Addresses and names without a "
        "dot need none, nor does a server with `api_key`.",
        "NAME",
    )
    cors: tuple[str, ...] = _setting(
        (), "Origin whose pages may send requests, or `*`. Several may be given.", "ORIGIN"
    )
    most_requests: int = _setting(
        64, "Requests that are spoken or wait at a time; more are refused with status 429.", None, 1, 4096
    )
    most_connections: int = _setting(4096, "Connections at a time; more are closed.", None, 1)
    most_head_bytes: int = _setting(1 << 16, "Bytes of the head of a request.", None, 1024)
    most_bytes: int = _setting(
        1 << 20,
        "Bytes of the body of a request, of a WebSocket message, and of each part of a Wyoming event.",
        None,
        1024,
    )
    most_characters: int = _setting(
        100_000, "Characters of a text, or of its phonemes; 100,000 are two hours of speech.", None, 1
    )
    most_phonemized: int = _setting(10_000, "Characters of a text for `/dev/phonemize`.", None, 1)
    most_sessions: int = _setting(
        256, "WebSocket sessions at a time, and as many clients of Wyoming; more are refused.", None, 1
    )
    most_speeches: int = _setting(
        8, "Speeches of a WebSocket session that wait or are spoken; more fail.", None, 1
    )
    longest: float = _setting(36_000.0, "Seconds that a speech may last.", "SECONDS", 1)
    longest_pause: float = _setting(300.0, "Seconds that a pause may last.", "SECONDS", 0)
    ahead: float = _setting(
        60.0, "Seconds of audio that are computed ahead for a client that reads slowly.", "SECONDS", 1
    )
    patience: float = _setting(
        120.0, "Seconds after which a client that reads nothing is given up.", "SECONDS", 1
    )
    idle: float = _setting(
        20.0, "Seconds in which the head of a request, and then its body, must be there.", "SECONDS", 0.1
    )
    silence: float = _setting(
        300.0,
        "Seconds after which a WebSocket session or a client of Wyoming that says nothing is closed, unless "
        "texts that are complete are still spoken for it.",
        "SECONDS",
        0.01,
    )
    head_start: float = _setting(
        30.0,
        "Seconds for which whoever hears nothing yet goes before those who do; later, whoever has waited "
        "longest goes first.",
        "SECONDS",
        0,
    )
    grace: float = _setting(
        30.0, "Seconds that requests may go on for when the server is to end.", "SECONDS", 0
    )
    cache: str | None = _setting(
        None,
        "Folder, or URL that fsspec reaches, of pieces that were spoken before and are not computed again.",
        "FOLDER",
    )
    cache_size: int = _setting(1024, "MiB that the cache may have.", "MIB", 1)
    downloads: str | None = _setting(
        None,
        "Folder of the audio that `return_download_link` keeps; a temporary one unless it is given.",
        "FOLDER",
    )
    download_size: int = _setting(256, "MiB that the kept audio may have.", "MIB", 1)
    download_age: float = _setting(3600.0, "Seconds that audio is kept.", "SECONDS", 1)
    log_texts: bool = _setting(False, "Log the texts of requests, and notices about their words.")


def settings() -> Iterator[Setting]:
    """All settings in order."""
    hints = get_type_hints(Settings)
    for found in dataclasses.fields(Settings):
        yield Setting(found.name, _kind(hints[found.name]), found.default, **found.metadata)


def _kind(hint: Any) -> type:
    """What a setting's value is, of `kind`, `kind | None` and `tuple[str, ...]`."""
    kinds: tuple[type, ...] = (get_origin(hint), *get_args(hint), hint)
    return next(kind for kind in kinds if kind in (tuple, bool, int, float, str))


def read_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, file: Path | None = None
) -> Settings:
    """Settings by flags, else by the environment, else by a YAML file, else by default.

    Raises InputError that names the flag, the variable, or the line and column of the file.
    """
    values: dict[str, Any] = {} if file is None else _from_file(file)
    for setting in settings():
        if (text := environment.get(setting.variable)) is not None:
            values[setting.name] = _named(setting.variable, lambda s=setting, t=text: s.parse(t))
        value = flags.get(setting.name)
        if value is not None and value != []:
            value = tuple(value) if setting.kind is tuple else value
            values[setting.name] = _named(setting.flag, lambda s=setting, v=value: s.check(v))
    known = {setting.variable for setting in settings()}
    for name in environment:
        if name.startswith(PREFIX) and name not in known:
            raise InputError(f"There is no environment variable {name}{hint(name, sorted(known))}")
    return Settings(**values)


def _named(name: str, read: Any) -> Any:
    try:
        return read()
    except InputError as error:
        raise InputError(f"{name} {error}") from None


def _from_file(path: Path) -> dict[str, Any]:
    from kokoro_tvm.common.yaml_file import parse_yaml, read_text  # `--help` does without PyYAML

    known = {setting.name: setting for setting in settings()}
    values: dict[str, Any] = {}
    tree = parse_yaml(read_text(path, InputError), strings=True, max_depth=2)
    for name, node in tree.entries.items():
        if name not in known:
            raise node.key.error(f"unknown setting `{shorten(name)}`{hint(name, sorted(known))}")
        setting = known[name]
        is_list = setting.kind is tuple and isinstance(node.value, list)
        texts = []
        for item in node.items if is_list else [node]:
            if not isinstance(item.value, str):
                raise item.span.error(f"the value of `{name}` should stand here, not a list or a mapping")
            texts.append(item.value)
        if setting.kind is tuple:
            values[name] = tuple(texts)
            continue
        try:
            values[name] = setting.parse(texts[0])
        except InputError as error:
            raise node.span.error(f"`{name}` {error}") from None
    return values
