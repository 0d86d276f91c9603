"""Colors that color-blind readers tell apart (Okabe and Ito), with markers and dashes for print in black and white."""

BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
GRAY, LIGHT_GRAY, DARK_GRAY, PALE_GRAY = "#9A9A9A", "#D4D4D4", "#6E6E6E", "#F3F3F3"

CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)
# Fills of states that lie side by side: neighbors differ in lightness too.
FILLS = (BLUE, AMBER, "#1B1B1B", SKY, ORANGE, "#B3D9C8", GREEN, "#F2E394", PURPLE, "#7A5195")
MARKERS = ("o", "s", "^", "D", "v", "P")
# Three that differ in print in black and white; the next three have dashes, and so on.
CATEGORY_COLORS = (BLUE, AMBER, "black", ORANGE, GREEN, PURPLE, SKY)
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.2, 1, 1.2)))
