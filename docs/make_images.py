"""Draw the pictures in docs/images: ``make figures``.

All other pictures are drawn when the documentation is built. These are kept in the repository because the README shows
them, or because they need a browser (Chromium). ``rmse_curves.png`` and ``worm_dictionaries.png`` come from the folder
that ``make paper`` writes, which takes minutes: give it as the argument to copy them.
"""

import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import shapelex as sx

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
REPRODUCED = {"rmse_curves.png": "rmse-curves.png", "worm_dictionaries.png": "dataset-2-dictionaries.png"}


def draw_dictionary() -> None:
    """Run the card that shows a dictionary, and keep its figure for the README."""
    runpy.run_path(str(DOCS.parent / "examples" / "dictionaries" / "plot_worm_dictionary.py"))
    plt.savefig(IMAGES / "dictionary.png", dpi=200)
    plt.close("all")


def write_pages(folder: Path) -> tuple[str, str]:
    """Write explorer pages of leaves and of a crawling worm, and return their addresses."""
    leaves = sx.datasets.make_leaves(40, 6, random_state=0)
    model = sx.ShapeDictionary(12, 3, random_state=0).fit(leaves)
    first = sx.report.write_report(model, leaves, folder / "leaves.html", title="Leaves of six species")
    worm = sx.datasets.make_worms(400, random_state=1)
    model = sx.ShapeDictionary(8, 3, random_state=0).fit(worm)
    second = sx.report.write_report(model, worm, folder / "worm.html", title="A crawling worm", fps=20)
    return Path(first).as_uri(), Path(second).as_uri()


def photograph(browser: Browser, leaves: str, worm: str, folder: Path) -> None:
    """Open the pages and save pictures of their parts."""
    desktop: dict[str, Any] = {"viewport": {"width": 1200, "height": 1700}, "device_scale_factor": 2}
    page = browser.new_page(**desktop)
    page.goto(leaves)
    page.evaluate("shapelex.select(12)")
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / "explorer-overview.png")
    page.locator("#weights").scroll_into_view_if_needed()
    page.locator("#explore").screenshot(path=IMAGES / "explorer-workbench.png")
    page.evaluate("shapelex.morph(3, 100, 0.5)")
    page.wait_for_timeout(300)
    page.locator("#morph").screenshot(path=IMAGES / "explorer-morph.png")
    page.locator("#group-tests-panel").screenshot(path=IMAGES / "explorer-groups.png")
    page.goto(worm)
    page.wait_for_timeout(500)
    page.locator("#time-section").screenshot(path=IMAGES / "explorer-time.png")
    phones = []
    for scheme in ("light", "dark"):
        phone = browser.new_page(
            viewport={"width": 390, "height": 780}, device_scale_factor=2, is_mobile=True, color_scheme=scheme
        )
        phone.goto(leaves)
        phone.wait_for_timeout(500)
        if scheme == "dark":
            phone.locator(".shape-panel").evaluate("panel => panel.scrollIntoView({ behavior: 'instant' })")
        phones.append(folder / f"{scheme}.png")
        phone.screenshot(path=phones[-1])
    pictures = [Image.open(path).convert("RGB") for path in phones]
    both = Image.new("RGB", (2 * pictures[0].width + 40, pictures[0].height), "white")
    both.paste(pictures[0], (0, 0))
    both.paste(pictures[1], (pictures[0].width + 40, 0))
    both.save(IMAGES / "explorer-phone.png")


def main() -> None:
    """Draw everything that can be drawn here."""
    IMAGES.mkdir(exist_ok=True)
    draw_dictionary()
    if len(sys.argv) > 1:
        for name, source in REPRODUCED.items():
            shutil.copyfile(Path(sys.argv[1]) / "figures" / source, IMAGES / name)
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        return
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        photograph(browser, *write_pages(Path(name)), Path(name))
        browser.close()


if __name__ == "__main__":
    main()
