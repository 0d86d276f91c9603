"""The shape files that :func:`shapelex.datasets.fetch` knows: what they hold, where from, and their checksums.

The files themselves are not part of shapelex. Sources are public repositories on GitHub, owner and name, at one commit.
A file of a repository is known by its git blob id, which is there to read even for files that nobody here has seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from shapelex.datasets.conversion import (
    read_bee_wings,
    read_cells,
    read_columns,
    read_midlines,
    read_splines_as_landmarks,
)
from shapelex.shapes import ShapeSet
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space


@dataclass(frozen=True)
class SourceFile:
    r"""A file of a public repository.

    Parameters
    ----------
    path : str
        Where it is in the repository.
    blob : str
        Its git blob id: SHA-1 of ``blob <size>\0`` followed by the contents.
    n_bytes : int or None
        Its size, where known.
    n_columns : int or None
        Number of columns, for tables of coordinates.
    """

    path: str
    blob: str
    n_bytes: int | None = None
    n_columns: int | None = None

    @property
    def name(self) -> str:
        """Name that the file keeps in the cache, or in a folder of the user."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Dataset:
    """What is known of a set of shapes before it is read.

    Parameters
    ----------
    description : str
        What it holds, in one line.
    n_shapes : int or None
        Number of shapes, where known.
    source : str
        Public repository that the shapes were taken from.
    license : str
        Terms of the source.
    n_bytes : int or None
        Size of the file ``<name>.npz`` that holds the shapes; None where there is no such file.
    sha256 : str or None
        Checksum of that file.
    commit : str
        Commit of the repository that `files` are taken from; empty where they cannot be downloaded.
    files : tuple of SourceFile
        Files of the repository that the set is made from.
    convert : callable or None
        Makes the set from the paths of `files`.
    """

    description: str
    n_shapes: int | None
    source: str
    license: str
    n_bytes: int | None = None
    sha256: str | None = None
    commit: str = ""
    files: tuple[SourceFile, ...] = ()
    convert: Callable[[Sequence[Path]], ShapeSet] | None = None

    @property
    def title(self) -> str:
        """What the set holds and how many shapes, in one line."""
        return self.description if self.n_shapes is None else f"{self.description}: {self.n_shapes} shapes"

    def describe(self) -> str:
        """What the set holds, its source and its license, in three lines."""
        files = ", ".join(file.path for file in self.files)
        place = f", commit {self.commit}: {files}" if files else ""
        return f"{self.title}\nSource: https://github.com/{self.source}{place}\nLicense: {self.license}"


def _of_the_paper(
    file: str,
    description: str,
    n_shapes: int | None,
    space: Space,
    blob: str,
    *,
    n_csv_bytes: int | None = None,
    n_bytes: int | None = None,
    sha256: str | None = None,
    convert: Callable[..., ShapeSet] = read_columns,
) -> Dataset:
    """Return an entry for a table of the paper's repository; `space` is that of its rows."""
    return Dataset(
        description,
        n_shapes,
        "ansonang3/2DKSD",
        "none stated",
        n_bytes,
        sha256,
        "1c4f22676255ea2c0bff1197f6a189ae7261a16a",
        (SourceFile(f"DATA/{file}.csv", blob, n_csv_bytes, 2 * space.n_coordinates),),
        partial(convert, space=space),
    )


REGISTRY: dict[str, Dataset] = {
    "hands": _of_the_paper(
        "hands",
        "56 landmarks along the contour of a hand (paper; Stegmann and Gomez 2002)",
        40,
        Landmarks(56, closed=True),
        "7fb48e25ab41f1713339589494f763ae3d109f92",
        n_csv_bytes=35279,
        n_bytes=13722,
        sha256="76376d3ff6b149e1937d2d8ecfd45fc52329a15228b7d672b856e0cf5369ea2c",
    ),
    "horses": _of_the_paper(
        "horses",
        "Outlines of horses, centered and of norm 1 (paper; Weizmann horses)",
        328,
        Landmarks(200, closed=True),
        "d6aba6b1d1065261633bb3d1aa18f51a740cbf3d",
        n_csv_bytes=3343640,
        n_bytes=882761,
        sha256="e41c0506fc7c807cda228f39700da02c7e7de581514ab1a0e4146b618008b263",
    ),
    "leaves_Bsplines": _of_the_paper(
        "leaves_Bsplines",
        "Leaves as closed cubic B-splines (paper; Kaggle leaf set)",
        1584,
        BSpline(40),
        "b164d7682ee7d23df89a5325ebc1dd442398f631",
        n_csv_bytes=3231541,
        n_bytes=970157,
        sha256="590acfc8103a89e2aa420b70b09a184bb903b68b0afcf77d4ec8148a3b4a3259",
    ),
    "6376_open_worms_6ctrlpts": _of_the_paper(
        "6376_open_worms_6ctrlpts",
        "Midlines of worms as open Hermite splines, in order of time, 874 of them repeats (paper)",
        6376,
        HermiteSpline(6),
        "9a00f876e6461e5095542310be7efc70ff29ec53",
        n_csv_bytes=3897892,
        n_bytes=1013678,
        sha256="9a93c2f7be126ffd0dca66b9fcf3167bed6f24af456c898ae0cce8184e420f1b",
    ),
    "200_closed_worms_8ctrlpts": _of_the_paper(
        "200_closed_worms_8ctrlpts",
        "Bodies of worms as closed Hermite splines of mixed sizes (paper's repository)",
        200,
        HermiteSpline(8, closed=True),
        "74bc3984738790e792cd86ef5cd5260597dff105",
        n_csv_bytes=161871,
        n_bytes=23555,
        sha256="ad25422c87c4bd4236bd71cfe577d9442b8bc0d912c372127d2991afafa6fedc",
    ),
    "100_closed_worms_10ctrlpts": _of_the_paper(
        "100_closed_worms_10ctrlpts",
        "Bodies of worms as closed Hermite splines (paper's repository)",
        100,
        HermiteSpline(10, closed=True),
        "1fc09e9780590e880a701399315385e387d2ad0c",
        n_csv_bytes=101971,
        n_bytes=26123,
        sha256="7d2fa69fdcc43b8e03e794f459a4f319a8016243a92a08078ff2c0dccb99fc8c",
    ),
    "worms_open_from_hermite_20": _of_the_paper(
        "6376_open_worms_6ctrlpts",
        "The open Hermite worms as points at equal steps",
        6376,
        HermiteSpline(6),
        "9a00f876e6461e5095542310be7efc70ff29ec53",
        n_csv_bytes=3897892,
        n_bytes=1689808,
        sha256="f53bce13dfb9bb0b3f2aaac3f04ed7f6d5dfa962d9e800000202e2129e07a64e",
        convert=read_splines_as_landmarks,
    ),
    "worms": _of_the_paper(
        "worms",
        "Midlines of worms (paper, dataset 1; Yemini et al. 2013)",
        None,
        Landmarks(20),
        "2ec53a00f6da050506a39f77284bafa14acfb660",
    ),
    "leaves_sym": _of_the_paper(
        "leaves_sym",
        "Outlines of leaves (paper, dataset 4; Kaggle leaf set)",
        None,
        Landmarks(200, closed=True),
        "a41d0366b5450730f0c8d4fd480b0795dd721c46",
    ),
    "mpeg7": _of_the_paper(
        "mpeg7",
        "Outlines of 70 kinds of things, from which the paper's dataset 5 is made (MPEG-7)",
        None,
        Landmarks(200, closed=True),
        "49617f28a60eaab3cf7bf11960a821822d3b299b",
    ),
    "mpeg7_sampled100": _of_the_paper(
        "mpeg7_sampled100",
        "The same outlines with 100 points (paper's repository)",
        None,
        Landmarks(100, closed=True),
        "f5be878ed8b3c428e1194ff03c59de9279762944",
    ),
    "900_horses_leaves_worms": _of_the_paper(
        "900_horses_leaves_worms",
        "300 horses, 300 leaves and 300 worms (paper's repository)",
        900,
        Landmarks(200),
        "e834ba55cc6fd8fd0b0114cb64ede4fd5ac990c6",
    ),
    "200_open_worms_6ctrlpts": _of_the_paper(
        "200_open_worms_6ctrlpts",
        "An extract of the open Hermite worms (paper's repository)",
        200,
        HermiteSpline(6),
        "973bb961ae9b10a390d3697cf6ea24acd06130d9",
        n_csv_bytes=121868,
    ),
    "50_open_worms_6ctrlpts": _of_the_paper(
        "50_open_worms_6ctrlpts",
        "A smaller extract of the open Hermite worms (paper's repository)",
        50,
        HermiteSpline(6),
        "4da1579db24f180bb705ca1d1f208b0fbdc4ca56",
        n_csv_bytes=30496,
    ),
    "mpeg7_outlines_200": Dataset(
        "Silhouettes of 70 kinds of things (MPEG-7 CE-Shape-1 part B)",
        n_shapes=1400,
        source="wvenialbo/mpeg7ce1dataset",
        license="repository LGPL-3, images none stated",
        n_bytes=3253976,
        sha256="c118d2f6cd52b609c356453c8dead5e81bf1c5e9c932cbcbc15bd03e8743ff45",
    ),
    "leaves_kaggle_outlines_200": Dataset(
        "Outlines of leaves of 99 species, 990 of them labeled (Kaggle leaf set)",
        n_shapes=1584,
        source="LB540/Plant-Species-Identification",
        license="none stated; Kaggle data, for research and education",
        n_bytes=3948285,
        sha256="246fc069136b595b79dd20207f4ca5f107b69e109d5dc1d81f2d417be9ccbde7",
    ),
    "celegans_wormpose_midlines_20": Dataset(
        "Midlines of one C. elegans in time, 5 runs",
        n_shapes=720,
        source="iteal/wormpose_data",
        license="BSD-3-Clause",
        n_bytes=218653,
        sha256="bdde0cb1d6ed27e4bbdadb22dcc34fb96d62dcf89dfa1f936131fb0c94b62862",
        commit="3667721534fc3062b85f165826c0ae944bceeedc",
        files=(SourceFile("datasets/sample_data/features.h5", "0daa37a5264aca90082bad172df7f518c4179d95", 1250048),),
        convert=partial(read_midlines, max_gap=4),
    ),
    "celegans_yemini_cb4853_midlines_20": Dataset(
        "Midlines of one C. elegans, strain CB4853, in time",
        n_shapes=400,
        source="aexbrown/modes2movement",
        license="MIT",
        n_bytes=114342,
        sha256="63b36b2fd0502c7f7581d0b7312a75a5af81d7bea28e90a1472bc0d65834724f",
        commit="b7e471af212f80f85beb398393b8861918939ae2",
        files=(SourceFile("demo/short_worm_features.mat", "5e73a49eeb6864f1120f29b1782142cab940d3da", 442230),),
        convert=read_midlines,
    ),
    "apes_8": Dataset(
        "Landmarks on skulls of great apes, by species and sex",
        n_shapes=167,
        source="cran/shapes",
        license="GPL-2",
        n_bytes=4667,
        sha256="b67b15a7d0f4a195ed3dd9e5e901cdb623950f7e4f94a3aeda5a747aa065da89",
    ),
    "mice_vertebrae_6": Dataset(
        "Landmarks on second thoracic vertebrae of mice, three groups",
        n_shapes=76,
        source="cran/shapes",
        license="GPL-2",
        n_bytes=3624,
        sha256="111335d95cca880f16d9f5cb3c27233fc433d98c3ea632255f721ff3536b27fa",
    ),
    "mice_vertebrae_outlines_60": Dataset(
        "Outlines of the same vertebrae",
        n_shapes=76,
        source="cran/shapes",
        license="GPL-2",
        n_bytes=34667,
        sha256="7fdaa7204b7b2b0e5f717366c44371b37606f9e578a0ea782fa53bbc71959ab6",
    ),
    "digit3_13": Dataset(
        "Handwritten digits 3, open curves",
        n_shapes=30,
        source="cran/shapes",
        license="GPL-2",
        n_bytes=1555,
        sha256="5b9475d27189eff1b164ea43615c8e796cf6f49d84d60e4300d758f25935155f",
    ),
    "schizophrenia_13": Dataset(
        "Landmarks near the midline of brains, two groups",
        n_shapes=28,
        source="cran/shapes",
        license="GPL-2",
        n_bytes=5815,
        sha256="7bb9a4840e7fd42d4253c6fc5d3d6a10427195124a118439617d8bbcb8192bb9",
    ),
    "sand_outlines_50": Dataset(
        "Outlines of sand grains from sea and river",
        n_shapes=49,
        source="cran/shapes",
        license="GPL-2",
        n_bytes=10432,
        sha256="75694f708a289664205680c544059bcf4372fa1dd860193e65dc65c6dc0c0b41",
    ),
    "plethodon_12": Dataset(
        "Landmarks on heads of salamanders, two species, two kinds of site",
        n_shapes=40,
        source="geomorphR/geomorph",
        license="GPL-3 or later",
        n_bytes=7818,
        sha256="d561e721d16de72807b017e2c4d4c0178ee21dee85fe253c887b906a544ddd23",
    ),
    "hummingbirds_25": Dataset(
        "Landmarks on bills of hummingbirds",
        n_shapes=44,
        source="geomorphR/geomorph",
        license="GPL-3 or later",
        n_bytes=5210,
        sha256="c7cfe16a7c4fde96444f1265045ba02970a56fad74e35ab0301e1eeddeaedb1e",
    ),
    "pupfish_56": Dataset(
        "Landmarks on bodies of pupfish, already superimposed, by population and sex",
        n_shapes=54,
        source="geomorphR/geomorph",
        license="GPL-3 or later",
        n_bytes=47643,
        sha256="3c60a52e0b47f7d8d7c9b2c9322d54adb8d16937c916e503e8e9d08b43a894f1",
    ),
    "lizards_28": Dataset(
        "Landmarks on heads of lizards, two replicates of each",
        n_shapes=98,
        source="geomorphR/geomorph",
        license="GPL-3 or later",
        n_bytes=42865,
        sha256="a8f2bfb4edbfa59686a0a424523d2030498d0da566c928c7ee57416ba374a4bc",
    ),
    "mosquito_wings_asym_18": Dataset(
        "Landmarks on left and right wings of mosquitoes",
        n_shapes=40,
        source="geomorphR/geomorph",
        license="GPL-3 or later",
        n_bytes=6542,
        sha256="06ae97936827f25fbbe24dbfc677712da257a2420a435a7fda426cac90d78be5",
    ),
    "pleth_food_13": Dataset(
        "Landmarks on heads of salamanders",
        n_shapes=69,
        source="geomorphR/geomorph",
        license="GPL-3 or later",
        n_bytes=9870,
        sha256="ea9851016955f701923ee12a35c0b15043ebb76c002a5a14583697f57c9c705e",
    ),
    "bottles_outlines_120": Dataset(
        "Outlines of bottles of beer and whisky",
        n_shapes=40,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=61057,
        sha256="dee878e76d9c058046a8521875cae0ec80e11391fd6a787109cb7ebdcdf88205",
    ),
    "hearts_outlines_80": Dataset(
        "Hearts drawn by hand by 8 people",
        n_shapes=240,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=108922,
        sha256="30bbc984820e4448e18daa11004b34312d0d22edbf76bad337a4b0556a93dfa2",
    ),
    "trilobite_cephala_outlines_64": Dataset(
        "Outlines of heads of trilobites, four stages of growth",
        n_shapes=50,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=14446,
        sha256="53a4ed2e85a2039c5faf0bcce7b2b7f627237d9b074a39b0af5d98299c32ff25",
    ),
    "mosquito_wing_outlines_100": Dataset(
        "Outlines of wings of mosquitoes",
        n_shapes=126,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=103947,
        sha256="6a2da48fef83b2ae02c46600ee7a220dd08ddf335ed56e674630e3b79bfde674",
    ),
    "molars_outlines_79": Dataset(
        "Outlines of human molars, four teeth",
        n_shapes=360,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=98553,
        sha256="d0b85088c55043344a6a3306d5a4a9ee764e6b58a9131c1da3776019ef5d9099",
    ),
    "charring_grain_outlines_120": Dataset(
        "Outlines of charred cereal grains, three views, two species",
        n_shapes=324,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=177009,
        sha256="e258b44ac7db3be8dba0d15604f937fd6b3bdeec9db7b0bf733e8e8985e722f2",
    ),
    "olive_stones_open_80": Dataset(
        "Half outlines of olive stones, four varieties, two views",
        n_shapes=210,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=251785,
        sha256="aba65a7d81427868d357823c7dcd52e6d66c466d61ccbd73cff51800dda7a684",
    ),
    "oak_leaves_11": Dataset(
        "Landmarks on leaves of oaks, two places",
        n_shapes=176,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=14538,
        sha256="8b64f4fc3c4761e4905ce2a3b95bf64165b4047bc81c552cf357266a8d87ae45",
    ),
    "mosquito_wings_18": Dataset(
        "Landmarks on wings of mosquitoes, 11 genera",
        n_shapes=127,
        source="MomX/Momocs",
        license="GPL-3 or later",
        n_bytes=14932,
        sha256="ba1d13b849aa099c0c9067fd2b93e2ee795b3dc009e342e5a38b16ac47cdb602",
    ),
    "bee_wings_9": Dataset(
        "Landmarks on wings of bees, with genus, family and species",
        n_shapes=445,
        source="JorgeDeLaCruz93/Wing-Geometric-Morphometrics",
        license="MIT",
        n_bytes=23618,
        sha256="d5c3dc4541a9bc27e3de567c31a3ae3e6c3efdf5dd8b90040fe22d13f0412a4a",
        commit="42066d355ce3b9d44fcc85c45a2772a9309878dc",
        files=(
            SourceFile(
                "Bee_Wings_Phylo_Allo_Code/data/bee_wings.TPS", "cc49817b08d6a0c2b21ca41cc44728e992bb1135", 109701
            ),
            SourceFile(
                "Bee_Wings_Phylo_Allo_Code/data/bee_metadata.csv", "57ba615938e3cd19924076fee932edbf45383b53", 164406
            ),
        ),
        convert=read_bee_wings,
    ),
    "cells_u373_tracks_100": Dataset(
        "Outlines of glioblastoma cells in time, 19 tracks in two movies (Cell Tracking Challenge)",
        n_shapes=1313,
        source="most-ieeta/Cell-tracking-challenge",
        license="none stated",
        n_bytes=941423,
        sha256="ce3ed1a4c30d27b4defe5ddf6a8f1204dea4cbe0dfa98461f46cd59a25899646",
    ),
    "cells_osteosarcoma_outlines_100": Dataset(
        "Outlines of osteosarcoma cells of mice, two lines, three treatments",
        n_shapes=650,
        source="geomstats/geomstats",
        license="MIT",
        n_bytes=739128,
        sha256="6fe76870d4130326ecb32636a12df61f5dd43cde8b0b84b738b540252eb0410e",
        commit="1746a38b086d56e348ba68509d54122ea3d3f5e6",
        files=(
            SourceFile("geomstats/datasets/data/cells/cells.txt", "16d1c1aab1630a284a07dd90c0ecd8fdc130c244", 1652564),
            SourceFile(
                "geomstats/datasets/data/cells/cell_lines.txt", "706fb65802bc8f245429716c06d641045956760b", 3249
            ),
            SourceFile(
                "geomstats/datasets/data/cells/treatments.txt", "e3f6b576676c2b0901d308c88922071528ea0380", 4203
            ),
        ),
        convert=read_cells,
    ),
}
