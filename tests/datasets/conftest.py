from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache will be: its folder is made on first use. No other folder is known."""
    folder = tmp_path / "caches" / "shapelex"
    monkeypatch.delenv("SHAPELEX_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: folder)
    return folder
