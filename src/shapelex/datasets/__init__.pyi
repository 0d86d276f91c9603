# The names of shapelex.datasets, and where they are; loaded on first use.
from .public import fetch as fetch
from .public import list_datasets as list_datasets
from .public import load_digits_outlines as load_digits_outlines
from .simulated import DictionarySample as DictionarySample
from .simulated import deform as deform
from .simulated import make_behavior as make_behavior
from .simulated import make_from_dictionary as make_from_dictionary
from .simulated import make_leaves as make_leaves
from .simulated import make_worms as make_worms
from .simulated import worm_postures as worm_postures
