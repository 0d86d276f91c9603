"""Colors that color-blind readers tell apart (Okabe and Ito), and sizes that read at the width of a column."""

BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
GRAY, LIGHT_GRAY, DARK_GRAY = "#9A9A9A", "#D4D4D4", "#6E6E6E"

CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)
MARKERS = ("o", "s", "^", "D", "v", "P")

FONT_SIZE = 8.0  # points
