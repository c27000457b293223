"""`./gemm explore --serve`: the page on this machine, traced anew at every save of the kernel."""

from __future__ import annotations

import html
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from runner.core.compiling import first_error
from runner.core.kernel_hash import kernel_sources
from runner.core.process import say
from runner.core.results import ROOT, UserError
from runner.learn.course import shown
from runner.learn.watch import signature
from website import explore
from website.explore import Asked

_TICK = 0.2  # seconds between looks at the sources
_SETTLED = 0.05  # seconds without another change: some editors write twice
_ROUTES = {"/", "/now"}


class Shown:
    """What the server answers; set by the main thread, read by those of requests."""

    def __init__(self) -> None:
        self.version = 0  # of the page; a browser that shows another one loads it anew
        self.note = ""  # why there is no newer one, or what is being done
        self.page = ""

    def now(self) -> str:
        return json.dumps({"version": self.version, "note": self.note})

    def answer(self) -> str:
        """The page, or a page that waits for it."""
        if self.page:  # live.js asks for what is newer than this
            return self.page.replace("<html ", f'<html data-served="{self.version}" ', 1)
        script = "setInterval(async () => { if ((await (await fetch('now')).json()).version) location.reload(); }, 1000)"
        note = html.escape(self.note or "Tracing …")
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>explore</title>'
            f'<pre style="white-space: pre-wrap">{note}</pre><script>{script}</script>'
        )


def _handler(shown_now: Shown, port: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            # A name that leads here from elsewhere must not read what is on this machine.
            if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}") or path not in _ROUTES:
                self.send_error(404)
                return
            text, kind = (shown_now.now(), "application/json") if path == "/now" else (shown_now.answer(), "text/html")
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler


@contextmanager
def served(shown_now: Shown) -> Iterator[str]:
    """Serves it on a free port of 127.0.0.1; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = server.server_address[1]
    server.RequestHandlerClass = _handler(shown_now, port)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.shutdown()
        server.server_close()


def _signatures(asked: Asked) -> list[object]:
    """Of the kernel and of every header of the project that it includes."""
    try:
        return [signature(path) for path in kernel_sources(asked.kernel)]
    except (OSError, ValueError):  # it is being written
        return [None]


def _renew(asked: Asked, now: Shown) -> None:
    now.note = "The kernel was saved; it is being traced …" if now.version else ""
    try:
        explore.write(asked)
        now.page, now.note = asked.path.read_text(encoding="utf-8"), ""
        now.version += 1
        if now.version > 1:
            say("The page shows the kernel as it is now.")
    except UserError as error:
        said = first_error([line.replace(f"{ROOT}/", "") for line in error.lines]) if error.lines else ()
        now.note = "\n".join(["The kernel does not compile.", *said]) if said else str(error)
        say(f"gemm: {error}")


def serve(asked: Asked, open_it: bool) -> int:
    """Until Ctrl-C. A kernel that cannot be traced has its sentence on the page, which stays what it was."""
    now = Shown()
    with served(now) as address:
        print(f"{address} shows {asked.lesson} and follows every save of {shown(asked.kernel)}; Ctrl-C ends it.", flush=True)
        gone = f"{shown(asked.kernel)} is not there; the page shows it as it last was."
        before = _signatures(asked)
        _renew(asked, now)
        explore.show(address, open_it)
        while True:
            time.sleep(_TICK)
            found = _signatures(asked)
            if None in found:
                if not asked.kernel.exists():
                    now.note = gone
                continue
            if found == before:
                if now.note == gone:
                    now.note = ""
                continue
            time.sleep(_SETTLED)
            if _signatures(asked) == found:  # else it is still being written
                before = found
                _renew(asked, now)
