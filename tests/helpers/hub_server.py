"""A server on the loopback that answers as the Hugging Face hub does, for what huggingface_hub asks when it downloads.

HEAD and GET of `/ORG/NAME/resolve/REVISION/FILE` with ETag, X-Repo-Commit and ranges; large files by a redirect to
another address with X-Linked-Etag and X-Linked-Size; `/api/models/ORG/NAME`; errors with X-Error-Code. A model that
does not exist is answered with 401, as the hub does for those who are not signed in.
"""

import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from helpers.hub_cache import COMMIT

LARGE = 50_000  # bytes from which a file is somewhere else


@dataclass
class Repo:
    """A model on the server.

    Attributes:
        token: without it nobody may see the files; the model itself is known to all if it is gated.
        broken: files whose download ends in the middle, and how many times more it will.
    """

    files: dict[str, bytes]
    gated: bool = False
    token: str = ""
    broken: dict[str, int] = field(default_factory=dict)


class HubServer:
    """The server, while it is used as a context. `asked` lists each request: method, path, token."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.asked: list[tuple[str, str, str]] = []
        outer = self

        class Handler(_Handler):
            hub = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, repo: str, folder: Path, **settings: Any) -> Repo:
        """Offer the files of a folder."""
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.repos[repo] = Repo(files, **settings)
        return self.repos[repo]

    def downloaded(self) -> list[str]:
        """The files that were sent, in order."""
        return [path.split("/")[-1] for method, path, _ in self.asked if method == "GET" and "/resolve/" in path]

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        path = unquote(self.path.partition("?")[0])
        self.hub.asked.append((self.command, path, token))
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/[^/]+)?", path):
            self._model(found[1], token)
        elif found := re.fullmatch(r"/(?:(elsewhere)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self._file(found[2], found[4], token, bool(found[1]))
        else:
            self._send(404, {}, b"")

    def _model(self, repo: str, token: str) -> None:
        if self._refused(repo, token, of_files=False):
            return
        files = [{"rfilename": name} for name in sorted(self.hub.repos[repo].files)]
        body = json.dumps({"id": repo, "sha": COMMIT, "siblings": files}).encode()
        self._send(200, {"Content-Type": "application/json"}, body)

    def _file(self, repo: str, name: str, token: str, elsewhere: bool) -> None:
        if not elsewhere and self._refused(repo, token, of_files=True):
            return
        found = self.hub.repos[repo]
        data = found.files.get(name)
        if data is None:
            self._send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, b"Entry not found")
            return
        tag = f'"{hashlib.sha256(data).hexdigest()}"'
        if len(data) >= LARGE and not elsewhere:
            linked = {"X-Linked-Etag": tag, "X-Linked-Size": str(len(data)), "X-Repo-Commit": COMMIT}
            self._send(302, {**linked, "Location": f"{self.hub.url}/elsewhere{self.path}"}, b"")
            return
        start = int((re.findall(r"bytes=(\d+)-", self.headers.get("range") or "") or ["0"])[0])
        headers = {"ETag": tag, "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        part = data[start:]
        if self.command == "GET" and found.broken.get(name, 0) > 0:
            found.broken[name] -= 1
            self._send(206 if start else 200, headers, part, sent=len(part) // 2)
        else:
            self._send(206 if start else 200, headers, part)

    def _refused(self, repo: str, token: str, of_files: bool) -> bool:
        """Whether the answer is that this user may not; then it has been given."""
        found = self.hub.repos.get(repo)
        if found is None:
            self._send(401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b"")
        elif found.gated and of_files and token != found.token:
            said = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this model is restricted."}
            self._send(403 if token else 401, said, b"")
        else:
            return False
        return True

    def _send(self, status: int, headers: dict[str, str], body: bytes, sent: int | None = None) -> None:
        """An answer; `sent`: how many bytes of the body really come before the line goes dead."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body[:sent])
        if sent is not None:
            self.close_connection = True
