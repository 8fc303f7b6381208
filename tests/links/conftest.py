import pytest

from link_problems import make_data


@pytest.fixture
def data():
    return make_data()
