"""An OpenAI-compatible endpoint on localhost that answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint:
    """``answer(messages)`` gives the text, or a number: the status of a refusal."""

    def __init__(self, answer: Callable[[list[dict[str, Any]]], str | int]):
        self.answer = answer
        self.url = ""
        self.asked: list[dict[str, Any]] = []


@contextmanager
def endpoint(answer: Callable[[list[dict[str, Any]]], str | int]) -> Iterator[Endpoint]:
    endpoint = Endpoint(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append(body)
            said = endpoint.answer(body["messages"])
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            sent = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
            refused = isinstance(said, int)
            data = json.dumps({"error": {}} if refused else {**sent, "choices": [choice]}).encode()
            self.send_response(said if isinstance(said, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
