"""The checking of shapes is on whenever a run asks for it: nothing may have been imported too early."""

import jaxtyping
import torch

from regard.model.layout import Layout


def test_a_wrong_type_of_tensor_is_refused_exactly_when_the_hook_is_asked_for(pytestconfig):
    asked = bool(pytestconfig.getoption("jaxtyping_packages"))
    try:
        Layout(lengths=torch.zeros(3), length=5, longest=5)
        refused = False
    except jaxtyping.TypeCheckError:
        refused = True
    assert refused == asked
