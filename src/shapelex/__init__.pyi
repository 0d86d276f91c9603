from . import exceptions as exceptions
from . import geometry as geometry
from . import spaces as spaces
from .geometry import align_onto as align_onto
from .geometry import align_to_mean as align_to_mean
from .geometry import distance as distance
from .geometry import exp as exp
from .geometry import geodesic as geodesic
from .geometry import horizontal_projection as horizontal_projection
from .geometry import log as log
from .geometry import mean_shape as mean_shape
from .geometry import optimal_rotation as optimal_rotation
from .geometry import pairwise_distances as pairwise_distances
from .geometry import parallel_transport as parallel_transport
from .geometry import real_gram as real_gram
from .geometry import rotate_onto as rotate_onto
from .spaces import BasisSpace as BasisSpace
from .spaces import BSpline as BSpline
from .spaces import CustomSpace as CustomSpace
from .spaces import HermiteSpline as HermiteSpline
from .spaces import Landmarks as Landmarks
from .spaces import from_columns as from_columns
from .spaces import from_points as from_points
from .spaces import to_columns as to_columns
from .spaces import to_points as to_points

__version__: str
