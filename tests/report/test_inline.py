"""The page in the output of a notebook cell."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import shapelex as sx


@pytest.fixture(scope="module")
def shapes():
    circle = np.exp(2j * np.pi * np.arange(12) / 12)
    return circle + 0.1 * np.random.default_rng(0).normal(size=(20, 2)) @ [circle**2, circle**3]


@pytest.fixture(scope="module")
def model(shapes):
    return sx.ShapeDictionary(3, 2, n_swaps=0, max_iter=2, tol=1.0, random_state=0).fit(shapes)


def test_the_page_is_a_document_of_its_own(model, shapes):
    page = model.explore(shapes, height=500, title='"Leaves" & <more>')
    frame = ET.fromstring(page._repr_html_())
    assert frame.tag == "iframe"
    assert frame.get("sandbox") == "allow-scripts allow-downloads"
    assert "height:500px" in frame.get("style")
    assert "&quot;Leaves&quot; &amp; &lt;more&gt;" in page.html
    assert "MB" in repr(page)


def test_misuse(model, shapes):
    with pytest.raises(ValueError, match="height must be at least 100, got 5"):
        model.explore(shapes, height=5)


@pytest.mark.browser
def test_the_page_runs_in_its_frame(model, shapes, browser):
    tab = browser.new_page()
    failures = []
    tab.on("pageerror", lambda error: failures.append(str(error)))
    tab.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
    tab.set_content(f"<body>{model.explore(shapes)._repr_html_()}</body>")
    frame = tab.frames[1]
    frame.wait_for_selector("svg", timeout=30_000)
    assert "20 shapes" in frame.inner_text("body")
    assert failures == []
    tab.close()
