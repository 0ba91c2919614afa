import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Abstractions of the tests go to a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASHFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
