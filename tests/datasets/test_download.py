"""Downloads from a server on the loopback address, and what is made of the files."""

import gzip
import logging
import threading
from functools import partial

import numpy as np
import pytest

import shapelex as sx
from shapelex.datasets import public
from shapelex.datasets.public import REGISTRY
from shapelex.exceptions import DatasetUnavailableError
from tests.datasets.local_server import LocalServer, run_server


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What pooch's logger says, which goes to standard error otherwise."""
    logger = logging.Logger("pooch")
    logger.addHandler(caplog.handler)
    monkeypatch.setattr("pooch.utils.LOGGER", logger)
    return caplog


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, told, cache):
    """A server that is the only source of data; nothing waits between attempts."""
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with run_server() as running:
        monkeypatch.setenv("SHAPELEX_DATA_URL", running.address + "/")
        yield running


def table(n_columns: int, n_rows: int = 4, seed: int = 0) -> bytes:
    rows = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()


@pytest.fixture
def hands(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> tuple[str, bytes]:
    """Path and contents of a made table that is served as the hands."""
    content = table(112)
    (path,) = server.serve("hands", content, monkeypatch=monkeypatch)
    return path, content


def test_first_call_downloads_and_second_takes_the_cache(server, cache, hands, told):
    path, content = hands
    first = sx.datasets.fetch("hands")
    assert first.space == sx.Landmarks(56, closed=True)
    expected = np.loadtxt(content.decode().splitlines(), delimiter=",")
    np.testing.assert_array_equal(first.configurations, expected[:, :56] + 1j * expected[:, 56:])
    assert server.requests == [path]
    assert [file.name for file in cache.iterdir()] == ["hands.csv"]
    assert (cache / "hands.csv").read_bytes() == content
    assert sx.datasets.fetch("hands").equals(first)
    assert server.requests == [path]
    source, download = told.messages
    assert source == "hands: from https://github.com/ansonang3/2DKSD, license: none stated."
    assert download.startswith(f"Downloading file 'hands.csv' from '{server.address}{path}'")


@pytest.mark.parametrize("fault", ["damage", "cut", "stall", "fail"])
def test_a_failure_is_tried_again_and_a_damaged_file_is_replaced(server, cache, hands, fault, monkeypatch):
    path, content = hands
    cache.mkdir(parents=True)
    (cache / "hands.csv").write_bytes(content[:-5])
    if fault == "stall":
        monkeypatch.setattr(public, "_TIMEOUT", (5, 1))
    server.faults[path] = [fault]
    assert len(sx.datasets.fetch("hands")) == 4
    assert server.requests == [path] * 2
    assert (cache / "hands.csv").read_bytes() == content


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("damage", "what came has the git blob id "),
        ("cut", "no complete answer, |what came has "),
        ("stall", "no complete answer, "),
        ("fail", "the server answered 500"),
        ("absent", "the server answered 404"),
        ("away", r"no complete answer, ConnectionError\): try again"),
    ],
)
def test_what_keeps_failing_says_what_to_do_by_hand(server, cache, hands, fault, reason, monkeypatch):
    path, _ = hands
    if fault == "stall":
        monkeypatch.setattr(public, "_TIMEOUT", (5, 0.2))
    server.faults[path] = [fault] * 3
    if fault == "absent":
        del server.files[path]
    address = "http://127.0.0.1:1" if fault == "away" else server.address
    monkeypatch.setenv("SHAPELEX_DATA_URL", address)
    with pytest.raises(DatasetUnavailableError, match=reason) as caught:
        sx.datasets.fetch("hands")
    message = str(caught.value)
    assert f"hands.csv could not be downloaded from {address}{path} (" in message
    assert f"into {cache} or the folder that SHAPELEX_DATA names" in message
    assert isinstance(caught.value, FileNotFoundError)
    assert list(cache.iterdir()) == []
    # What is not there now will not be there in a second.
    assert len(server.requests) == {"absent": 1, "away": 0}.get(fault, 3)


def test_two_at_once_get_whole_files(server, cache, hands, monkeypatch):
    path, _ = hands
    both, found = threading.Barrier(2, timeout=30), []
    answer = server._answer

    def answer_when_both_ask(request):
        both.wait()
        answer(request)

    monkeypatch.setattr(server, "_answer", answer_when_both_ask)
    threads = [threading.Thread(target=lambda: found.append(sx.datasets.fetch("hands"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0].equals(found[1])
    assert server.requests == [path] * 2
    assert [file.name for file in cache.iterdir()] == ["hands.csv"]


def test_only_the_missing_file_of_a_set_is_downloaded(server, cache, monkeypatch):
    cells, lines, treatments = b"0 0\n4 0\n4 2\n0 2\n\n9 9\n9 11\n11 11\n11 9", b"dlm8\ndunn", b"control\njasp"
    name = "cells_osteosarcoma_outlines_100"
    paths = server.serve(name, cells, lines, treatments, monkeypatch=monkeypatch)
    shapes = sx.datasets.fetch(name)
    assert server.requests == paths
    assert shapes.labels.tolist() == ["dlm8/control", "dunn/jasp"]
    assert shapes.metadata["n_raw"].tolist() == [4, 4]
    # The second outline is clockwise in the file: it is turned around, and keeps its first point.
    np.testing.assert_allclose(shapes.configurations[:, [0, 25, 50]], [[0, 3, 4 + 2j], [9 + 9j, 11 + 9j, 11 + 11j]])
    (cache / "cell_lines.txt").unlink()
    assert sx.datasets.fetch(name).equals(shapes)
    assert server.requests == [*paths, paths[1]]


def test_wings_are_joined_with_their_specimens(server, cache, monkeypatch):
    points = "\n".join(f"{number} {number**2}" for number in range(9))
    wings = f"LM=9\n{points}\nIMAGE=b_L.JPG\nID=0\nSCALE=0.5\nLM=9\n{points}\nIMAGE=unknown.JPG\nID=1\n".encode()
    specimens = (
        b"catalogNumber,Species,Genus,Subfamily,Family,Sex,Collection\nb_L,Bombus ternarius,Bombus,A,Apidae,F,X\n"
    )
    server.serve("bee_wings_9", wings, specimens, monkeypatch=monkeypatch)
    shapes = sx.datasets.fetch("bee_wings_9")
    assert shapes.labels.tolist() == ["Bombus", ""]
    assert list(shapes.metadata) == ["family", "species", "image", "scale"]
    assert shapes.metadata["species"].tolist() == ["Bombus ternarius", ""]
    assert shapes.metadata["image"].tolist() == ["b_L", "unknown"]
    np.testing.assert_array_equal(shapes.metadata["scale"], [0.5, np.nan])
    np.testing.assert_array_equal(shapes.configurations[1], np.arange(9) + 1j * np.arange(9) ** 2)


def test_splines_become_points_at_equal_steps(server, cache, monkeypatch):
    # Control points at uneven steps on the line y = 2 x, and tangents along it.
    content = b"0,1,2,3,4,10,1,1,1,1,1,1,0,2,4,6,8,20,2,2,2,2,2,2\n"
    server.serve("worms_open_from_hermite_20", content, monkeypatch=monkeypatch)
    shapes = sx.datasets.fetch("worms_open_from_hermite_20")
    assert shapes.space == sx.Landmarks(20)
    np.testing.assert_allclose(shapes.configurations[0], np.linspace(0, 10, 20) * (1 + 2j), rtol=1e-12)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("hands", "csv/hands_reference_layout.csv.gz"),
        ("celegans_wormpose_midlines_20", "hdf5/wormpose_features.h5"),
        ("celegans_yemini_cb4853_midlines_20", "matlab/yemini_wt2_features_short.mat"),
    ],
)
def test_real_files_give_the_shared_sets(server, cache, data_folder, name, sample):
    content = (data_folder / "formats" / sample).read_bytes()
    entry = REGISTRY[name]
    path = f"/{entry.source}/{entry.commit}/{entry.files[0].path}"
    server.files[path] = gzip.decompress(content) if sample.endswith(".gz") else content
    shapes, expected = sx.datasets.fetch(name), sx.datasets.fetch(name, folder=data_folder)
    assert server.requests == [path]
    same = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)
    same(shapes.configurations, expected.configurations)
    # The files also have frame rates and units, which the shared sets lack.
    kept = {name: values for name, values in shapes.metadata.items() if name not in ("fps", "units")}
    assert shapes.replace(configurations=expected.configurations, metadata=kept).equals(expected)
