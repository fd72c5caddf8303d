"""JSON calls to a vLLM server. Each ends with an answer or with an error that says what to do."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

from llmzoo.models.decode import SamplerError

_RETRY_STATUSES = (429, 500, 502, 503, 504)  # statuses that another attempt may fix


class HttpClient:
    """A connection to the server at ``url``.

    ``timeout_s`` limits each wait. ``retries``: further attempts after a transient status. A server
    that cannot be reached is not called again: a restarted server lacks the weights, which resuming
    the run restores.
    """

    def __init__(self, url: str, *, timeout_s: float, retries: int):
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._retries = retries

    def get(self, path: str) -> Any:
        """The answer's JSON."""
        return self._read_json(urllib.request.Request(self.url + path))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The same, for a request with a JSON body."""
        return self._read_json(self._post_request(path, body))

    def post_without_result(self, path: str, body: Mapping[str, Any]) -> None:
        """Post a request and ignore the body of the answer."""
        self._send_with_retries(self._post_request(path, body))

    def wait(self, seconds: float) -> None:
        """Wait until the server is healthy, for at most this many seconds."""
        until = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=self._timeout_s):
                    return
            except OSError as error:
                if time.monotonic() >= until:
                    raise SamplerError(
                        f"no vLLM server answered at {self.url} within {seconds:g} s ({error}): "
                        "start one with vllm serve, or raise wait_s"
                    ) from error
            time.sleep(0.5)

    def _post_request(self, path: str, body: Mapping[str, Any]) -> urllib.request.Request:
        return urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )

    def _read_json(self, request: urllib.request.Request) -> Any:
        text = self._send_with_retries(request)
        try:
            return json.loads(text)
        except ValueError as error:
            raise SamplerError(f"{request.full_url} answered with no JSON: {error}") from error

    def _send_with_retries(self, request: urllib.request.Request) -> bytes:
        attempt = 0
        while True:
            try:
                return self._send_once(request)
            except urllib.error.HTTPError as error:
                message = " ".join(error.read().decode(errors="replace").split())[:400]
                if error.code not in _RETRY_STATUSES or attempt == self._retries:
                    raise SamplerError(
                        f"{request.full_url} answered {error.code}: {message}", error.code
                    ) from error
                time.sleep(min(0.5 * 2**attempt, 10.0))
                attempt += 1

    def _send_once(self, request: urllib.request.Request) -> bytes:
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
                body: bytes = answer.read()
            return body
        except urllib.error.HTTPError:
            raise
        except (OSError, HTTPException) as error:  # refused, cut off, or out of time
            raise SamplerError(
                f"the vLLM server at {self.url} is gone, or took more than {self._timeout_s:g} s "
                f"({error}): start it again and resume the run"
            ) from error
