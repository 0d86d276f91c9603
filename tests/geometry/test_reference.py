"""Agreement with the paper's own code (ansonang3/2DKSD at 1c4f226) on its own data.

The constants were printed by that code: pre-shape coordinates, Gram entries, and the full mean rotated along the first
shape.
"""

import numpy as np
import pytest

import shapelex as sx

pytestmark = pytest.mark.realdata

CASES = {
    "hands": {
        "space": sx.Landmarks(56, closed=True),
        "coordinates": (0, 1, 55),
        "preshapes": {
            0: [
                0.1966086957851367 - 0.06052848088840265j,
                0.1670965910486861 - 0.09003644183031008j,
                0.19160299197698835 + 0.06140267354434919j,
            ],
            20: [
                0.19942335767230204 - 0.02220353976321372j,
                0.17158258919937042 - 0.058954348756657914j,
                0.1537583639534521 + 0.07913884669660634j,
            ],
            39: [
                0.1941466469936984 + 0.0438741063346981j,
                0.18667848051901847 + 0.001442118187416777j,
                0.14367464419596163 + 0.13619344653284124j,
            ],
        },
        "mean": [
            0.23320180412834451 - 0.0705874750644001j,
            0.18798459937356304 - 0.10761813097805749j,
            0.2345049673828331 + 0.06225837722599583j,
        ],
        "distances": [0.15846743263850682, 0.21158624339154977, 0.2700497331818334],
        "energy": 0.9775836918722796,
        "gram": {(0, 0): 1.0, (0, 1): 0.0, (-1, -1): 1.0},
    },
    "6376_open_worms_6ctrlpts": {
        "space": sx.HermiteSpline(6),
        "coordinates": (0, 1, 11),
        "preshapes": {
            0: [
                0.27819572393110764 - 1.5952878723967239j,
                -0.15142672726498563 - 1.028184387587487j,
                -0.03187331841347064 + 0.1531297255992874j,
            ],
            3188: [
                -0.130410295367394 - 1.702815649420842j,
                -0.1490883753715439 - 0.9914913253727261j,
                0.03126536410279924 + 0.08495199258522379j,
            ],
            6375: [
                0.07046680279489297 - 1.6425802610980302j,
                -0.1818160373981491 - 1.028743423646702j,
                -0.0687790062568457 + 0.3438900766669414j,
            ],
        },
        "mean": [
            -0.15503076787722045 - 1.4974377909863412j,
            -0.13905327450481172 - 1.0926097322046047j,
            -0.011736700948029455 + 0.12033337013398242j,
        ],
        "distances": [0.20813278739218988, 0.21540126401265897, 0.11709713269130131],
        "energy": 0.8052209725432168,
        "gram": {
            (0, 0): 0.07428571428571429,
            (0, 1): 0.025714285714285714,
            (0, 6): 0.010476190476190476,
            (0, 7): -0.00619047619047619,
            (-1, -1): 0.0019047619047619048,
            (-1, 4): -0.00619047619047619,
            (-1, 5): -0.010476190476190476,
        },
    },
    "100_closed_worms_10ctrlpts": {
        "space": sx.HermiteSpline(10, closed=True),
        "coordinates": (0, 1, 19),
        "preshapes": {
            0: [
                0.2764824986194732 + 1.5466178349170512j,
                -0.3971804421792432 + 0.8308509603184175j,
                0.8465501137679475j,
            ],
            50: [
                -1.6124962976916835 - 0.0693222707418855j,
                -1.0398340611282824 - 0.0693222707418855j,
                -0.6329424719911301 + 0.587732295420335j,
            ],
            99: [
                -1.6762374778320903 + 0.1509021573717456j,
                -1.0372823970688405 - 0.012235310057168556j,
                -1.5498059405746794 - 1.753727774860829j,
            ],
        },
        "mean": [
            0.21114368114867185 + 1.706294624160004j,
            -0.05042863926516948 + 1.017430850999949j,
            0.8386562698177672 + 0.9224202790708486j,
        ],
        "distances": [0.3298222694713285, 0.2468313628520395, 0.3178726912664421],
        "energy": 0.9138680538823966,
        "gram": {
            (0, 0): 0.07428571428571429,
            (0, 1): 0.012857142857142857,
            (0, 10): 0.0,
            (0, 11): -0.0030952380952380953,
            (-1, -1): 0.0019047619047619048,
            (-1, 9): 0.0,
        },
    },
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(name, load_real):
    case = CASES[name]
    space, columns = case["space"], list(case["coordinates"])
    Z = load_real(name)
    preshapes = space.preshape(Z)
    for row, expected in case["preshapes"].items():
        np.testing.assert_allclose(preshapes[row, columns], expected, rtol=0, atol=1e-10)
    for entry, expected in case["gram"].items():
        assert space.gram[entry] == pytest.approx(expected, abs=1e-15)
    mean = sx.mean_shape(Z, space=space)
    np.testing.assert_allclose(mean[columns], case["mean"], rtol=0, atol=1e-10)
    distances = sx.distance(Z[list(case["preshapes"])], mean, space=space)
    np.testing.assert_allclose(distances, case["distances"], rtol=0, atol=1e-10)
    energy = 1 - np.mean(sx.distance(Z, mean, space=space) ** 2)
    assert energy == pytest.approx(case["energy"], abs=1e-10)


def test_leaves_use_the_exact_gram_and_not_the_reference_one(load_real):
    space = sx.BSpline(40)
    Z = load_real("leaves_Bsplines")
    assert Z.shape == (1584, 40)
    assert space.norm(space.shift + 0j) ** 2 == pytest.approx(1, abs=1e-14)
    dense = space.sample(space.preshape(Z), space.parameters(4000))
    np.testing.assert_allclose((np.abs(dense) ** 2).mean(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(dense.mean(axis=1), 0, atol=1e-12)


def test_all_worms_against_all_worms_fit_in_memory(load_real):
    Z = load_real("6376_open_worms_6ctrlpts").astype(np.complex64)
    square = sx.pairwise_distances(Z, space=sx.HermiteSpline(6))
    assert square.shape == (6376, 6376)
    rows = [0, 3000, 6375]
    double = sx.pairwise_distances(Z[rows].astype(complex), Z.astype(complex), space=sx.HermiteSpline(6))
    np.testing.assert_allclose(square[rows], double, atol=2e-6)
