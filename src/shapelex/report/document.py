"""Assemble one HTML document from its parts: template, style, modules, data.

The page loads nothing: its policy forbids every connection, and every script and style but its own, by their hashes.
"""

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from shapelex.report.packing import dump_json

_STYLES = ("theme.css", "layout.css", "panels.css", "group_tests.css", "print.css")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) ([A-Za-z_]\w*))", re.MULTILINE)


def make_document(payload: Mapping[str, Any]) -> str:
    """Return the page that shows a payload.

    Parameters
    ----------
    payload : mapping
        JSON values, see :func:`shapelex.report.payload.make_payload`.

    Returns
    -------
    str
        HTML.
    """
    style = "\n".join(_read(name) for name in _STYLES)
    script = bundle_modules("main")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(str(payload["title"])),
        "style": style,
        "data": dump_json(payload),
        "script": script,
    }
    # One pass: a title that looks like a place for another part stays a title.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


def bundle_modules(main: str) -> str:
    """Return one script out of ES modules: each keeps its own scope, and comes after those that it imports.

    Parameters
    ----------
    main : str
        Name of the module to start from.

    Returns
    -------
    str
        JavaScript. Modules use named imports from their own folder, and export declarations.
    """
    bundled: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"Modules import each other: {' > '.join((*importers, name))}.")
        if name in bundled:
            return
        source = _read(f"{name}.js")
        for match in _IMPORT.finditer(source):
            add(match[2], (*importers, name))
        names = [match[1] for match in _EXPORT.finditer(source)]
        body = _EXPORT.sub("", _IMPORT.sub(lambda match: f"const {{{match[1]}}} = module_{match[2]};\n", source))
        bundled[name] = f"const module_{name} = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();\n"

    add(main, ())
    return '"use strict";\n' + "".join(bundled.values())


def _read(name: str) -> str:
    return (files("shapelex.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
