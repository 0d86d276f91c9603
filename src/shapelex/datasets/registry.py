"""The shape files that :func:`shapelex.datasets.fetch` knows: what they hold, where from, and their checksums.

The files themselves are not part of shapelex. Sources are public repositories, owner and name.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dataset:
    """What is known of a shape file before it is read.

    Parameters
    ----------
    description : str
        What it holds, in one line.
    n_shapes : int
        Number of shapes.
    source : str
        Public repository that the shapes were taken from.
    license : str
        Terms of the source.
    n_bytes : int
        Size of the file.
    sha256 : str
        Checksum of the file.
    """

    description: str
    n_shapes: int
    source: str
    license: str
    n_bytes: int
    sha256: str


REGISTRY: dict[str, Dataset] = {
    "hands": Dataset(
        "56 landmarks along the contour of a hand (paper; Stegmann and Gomez 2002)",
        n_shapes=40,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=13722,
        sha256="76376d3ff6b149e1937d2d8ecfd45fc52329a15228b7d672b856e0cf5369ea2c",
    ),
    "horses": Dataset(
        "Outlines of horses, centered and of norm 1 (paper; Weizmann horses)",
        n_shapes=328,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=882761,
        sha256="e41c0506fc7c807cda228f39700da02c7e7de581514ab1a0e4146b618008b263",
    ),
    "leaves_Bsplines": Dataset(
        "Leaves as closed cubic B-splines (paper; Kaggle leaf set)",
        n_shapes=1584,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=970157,
        sha256="590acfc8103a89e2aa420b70b09a184bb903b68b0afcf77d4ec8148a3b4a3259",
    ),
    "6376_open_worms_6ctrlpts": Dataset(
        "Midlines of worms as open Hermite splines, in order of time, 874 of them repeats (paper)",
        n_shapes=6376,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=1013678,
        sha256="9a93c2f7be126ffd0dca66b9fcf3167bed6f24af456c898ae0cce8184e420f1b",
    ),
    "200_closed_worms_8ctrlpts": Dataset(
        "Bodies of worms as closed Hermite splines of mixed sizes (paper's repository)",
        n_shapes=200,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=23555,
        sha256="ad25422c87c4bd4236bd71cfe577d9442b8bc0d912c372127d2991afafa6fedc",
    ),
    "100_closed_worms_10ctrlpts": Dataset(
        "Bodies of worms as closed Hermite splines (paper's repository)",
        n_shapes=100,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=26123,
        sha256="7d2fa69fdcc43b8e03e794f459a4f319a8016243a92a08078ff2c0dccb99fc8c",
    ),
    "worms_open_from_hermite_20": Dataset(
        "The open Hermite worms as points at equal steps",
        n_shapes=6376,
        source="ansonang3/2DKSD",
        license="none stated",
        n_bytes=1689808,
        sha256="f53bce13dfb9bb0b3f2aaac3f04ed7f6d5dfa962d9e800000202e2129e07a64e",
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
    ),
    "celegans_yemini_cb4853_midlines_20": Dataset(
        "Midlines of one C. elegans, strain CB4853, in time",
        n_shapes=400,
        source="aexbrown/modes2movement",
        license="MIT",
        n_bytes=114342,
        sha256="63b36b2fd0502c7f7581d0b7312a75a5af81d7bea28e90a1472bc0d65834724f",
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
    ),
    "cells_osteosarcoma_outlines_100": Dataset(
        "Outlines of osteosarcoma cells of mice, two lines, three treatments",
        n_shapes=650,
        source="geomstats/geomstats",
        license="MIT",
        n_bytes=739128,
        sha256="6fe76870d4130326ecb32636a12df61f5dd43cde8b0b84b738b540252eb0410e",
    ),
}
