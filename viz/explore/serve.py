"""Serve the page to this machine alone."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from viz.errors import ReportError

__all__ = ["server"]

_LOCAL = ("127.0.0.1", "localhost")


def server(html: str, port: int) -> ThreadingHTTPServer:
    """Return a server of one page on 127.0.0.1, not yet running; port 0 takes any free one.

    Raises ReportError for a port that cannot be had.
    """
    content = html.encode()

    class Handler(BaseHTTPRequestHandler):
        """Answers for the page and nothing else, and only to names of this machine."""

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            # Another site's name that points here would be a way in.
            if self.headers.get("Host", "").rpartition(":")[0] not in _LOCAL:
                return self.send_error(HTTPStatus.FORBIDDEN)
            if self.path.partition("?")[0] != "/":
                return self.send_error(HTTPStatus.NOT_FOUND)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if with_body:
                self.wfile.write(content)
            return None

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its own name)
            """Print nothing per request."""

    try:
        return ThreadingHTTPServer((_LOCAL[0], port), Handler)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ReportError(
            f"port {port} of {_LOCAL[0]} cannot be served: {why} (accepted: a free port, or 0 for"
            " any)"
        ) from error
