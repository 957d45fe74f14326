# SPDX-License-Identifier: Apache-2.0
"""`launchrig twin --list` tells everything that the twin of the URL can be set to."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from controller.twins import list_parameters
from rig.errors import BadRigError
from rig.twin.parameters import rows_of
from rig.twin.twins import TWINS


def listed(url: str) -> str:
    text = io.StringIO()
    list_parameters(url, Console(file=text, width=400))
    return text.getvalue()


@pytest.mark.parametrize("name", TWINS)
def test_every_parameter_of_that_twin_is_listed_and_none_of_another(name: str) -> None:
    lines = listed(f"twin:{name}").splitlines()
    assert [line.split(" = ")[0] for line in lines[:-2:2]] == [row.name for row in rows_of(TWINS[name].parameters)]
    assert f"twin:{name}?" in lines[-1]


def test_a_url_that_names_no_twin_is_refused() -> None:
    with pytest.raises(BadRigError, match="there are twin:roller and twin:blast"):
        listed("twin:launcher")
