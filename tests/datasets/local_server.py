"""An HTTP server on the loopback address that serves made files in place of public repositories, well or badly."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shapelex.datasets.public import REGISTRY


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class LocalServer:
    """Serves files by their path in the address.

    ``faults`` lists how the next requests for a path go wrong: ``"cut"`` ends the body early, ``"stall"`` stops in
    the middle of it, ``"damage"`` changes a byte, ``"fail"`` answers 500; once they are used up, the file is served.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: defaultdict[str, list[str]] = defaultdict(list)
        self.requests: list[str] = []
        self.is_over = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(request.path)
        content = self.files.get(request.path)
        faults = self.faults[request.path]
        fault = faults.pop(0) if faults else ""
        if content is None or fault == "fail":
            request.send_error(404 if content is None else 500)
            return
        if fault == "damage":
            content = bytes([content[0] ^ 1]) + content[1:]
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if fault not in ("cut", "stall"):
            request.wfile.write(content)
            return
        request.wfile.write(content[: len(content) // 2])
        request.wfile.flush()
        if fault == "stall":
            self.is_over.wait(30)

    def serve(self, name: str, *contents: bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Serve made files as those of a set, and register them; return their paths in the address."""
        entry = REGISTRY[name]
        files = tuple(
            replace(file, blob=blob_id(content), n_bytes=len(content))
            for file, content in zip(entry.files, contents, strict=True)
        )
        monkeypatch.setitem(REGISTRY, name, replace(entry, files=files))
        paths = [f"/{entry.source}/{entry.commit}/{file.path}" for file in files]
        self.files |= dict(zip(paths, contents, strict=True))
        return paths


@contextmanager
def run_server() -> Iterator[LocalServer]:
    server = LocalServer()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()
