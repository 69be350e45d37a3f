"""The server's description is the server: every route is in it, nothing made up from it breaks it; no slow pattern."""

from pathlib import Path

import pytest
from document_fixtures import same
from serve_fixtures import make_folders, running
from serve_fuzz import Fuzz

from regard.documents import translate_document
from regard.errors import RegardError
from regard.serve.app import PAGE

NOT_DESCRIBED = {*PAGE, "/page/look", "/look/{look}/{path:path}"}
"""the page's files, and look, whose interface is its page's alone"""
NUM_DESCRIBED, NUM_RAW = 2, 30


def test_everything_made_up_from_the_description_is_answered(tmp_path: Path) -> None:
    with running(make_folders(tmp_path)) as server:
        spec = server.get("/spec").json
        described = {(path, method) for path, each in spec["paths"].items() for method in each}
        routes = {
            (route.path, method.lower())
            for route in server.app.routes
            for method in route.methods or ()
            if method != "HEAD" and route.path not in NOT_DESCRIBED
        }
        assert described == routes
        fuzz = Fuzz(server.url, spec, NUM_DESCRIBED, NUM_RAW)
        fuzz.run()
        assert fuzz.troubles == []
        assert fuzz.statuses[200] > 10 and fuzz.statuses[400] > 50
        assert server.get("/health").status == 200


UNITS = [*"a %<{*`&\t", "('", "1.", '="', "--\n", "<a=", "](", "{a} "]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".srt", ".po", ".xliff"])
def test_no_file_keeps_a_pattern_busy(suffix: str) -> None:
    """Test E6: 30 kB of what patterns stumble over; one that goes back and forth would take hours."""
    for unit in UNITS:
        data = (unit * (30_000 // len(unit)) + "!").encode()
        try:
            found = translate_document(data, suffix, same)
            assert len(found.data) > 0
        except RegardError as error:
            assert str(error)
