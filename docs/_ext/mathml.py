"""Writes formulas as MathML: browsers show it without JavaScript, and nothing is fetched from the network.

Docutils converts the TeX, of which it knows the common part. A formula that it cannot convert is a warning that names
the page, so the build fails. Bars of a norm are written ``\\left|`` and ``\\right|``, which gives them the spacing of
brackets.
"""

from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(f'<span class="math notranslate">{_convert(node, as_block=False)}</span>')
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    translator.body.append(f'<div class="formula">{_convert(node, as_block=True)}</div>')
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _convert(node: nodes.Element, as_block: bool) -> str:
    tex = node.astext().strip()
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logger.warning("formula %r cannot be written as MathML: %s", tex, error, location=node)
        return f"<code>{escape(tex)}</code>"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.add_css_file("mathml.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
