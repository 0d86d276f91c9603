"""A page that was written, and a page that is open in a browser."""

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import shapelex as sx

HOSTILE_ID = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
HOSTILE_LABEL = '"><svg onload=alert(1)>&amp;<!-- \u2028 {{script}} =HYPERLINK("x")'
HOSTILE_TITLE = "<script>window.hacked = 3</script> {{data}} & title"


def payload_of(path: Path) -> dict:
    """Return what the page holds, as it was before it was written."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="shapelex-data">(.*?)</script>', text)[1])


def array_of(packed: dict) -> np.ndarray:
    """Return an array that the page holds as text."""
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=packed["dtype"]).reshape(packed["shape"])


@dataclass
class Reported:
    """A page, and what it was made of."""

    path: Path
    model: sx.ShapeDictionary
    X: np.ndarray
    shapes: sx.ShapeSet | None = None

    @property
    def url(self) -> str:
        return self.path.as_uri()


class Visit:
    """An open page: what it complained about, what it asked for, and the numbers it shows."""

    def __init__(self, browser, reported: Reported, **options) -> None:
        self.reported = reported
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(reported.url)
        self.page.wait_for_function("window.shapelex !== undefined")

    def state(self) -> dict:
        state = self.page.evaluate("window.shapelex.state()")
        for holder, name in ((state, "sum"), (state["morph"], "configuration")):
            numbers = np.array(holder[name])
            holder[name] = numbers[::2] + 1j * numbers[1::2]
        state["weights"] = {
            term["atom"]: complex(term["re"], term["im"]) for term in state["terms"] if term["on"]
        }  # fmt: skip
        return state

    def drawn(self, selector: str) -> np.ndarray:
        """Points of a path as it is drawn, in units of shape space; y points up."""
        text = self.page.locator(selector).get_attribute("d")
        numbers = np.array(text.replace("M", " ").replace("L", " ").split(), dtype=float) / 1000
        return numbers[::2] - 1j * numbers[1::2]

    def save(self, locator, folder: Path) -> Path:
        """Click a link of a download, and return the file."""
        with self.page.expect_download() as download:
            locator.click()
        target = folder / download.value.suggested_filename
        download.value.save_as(target)
        return target

    def close(self) -> None:
        self.context.close()
