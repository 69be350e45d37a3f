"""The server's description is the server: every route is in it, nothing made up from it breaks it; no slow pattern."""

from pathlib import Path

from serve_fixtures import make_folders, running
from serve_fuzz import Fuzz

from regard.serve.app import PAGE

NOT_DESCRIBED = {*PAGE, "/page/look", "/look/{look}/{path:path}"}
"""the page's files, and look, whose interface is its page's alone"""
NUM_DESCRIBED, NUM_RAW = 2, 30


def test_everything_made_up_from_the_description_is_answered(tmp_path: Path) -> None:
    with running(make_folders(tmp_path)) as server:
        spec = server.get("/spec").json
        described = {(path, method) for path, each in spec["paths"].items() for method in each}
        to_describe = [route for route in server.app.routes if route.path not in NOT_DESCRIBED]
        routes = {(route.path, method.lower()) for route in to_describe for method in route.methods or ()}
        assert described == {each for each in routes if each[1] != "head"}
        fuzz = Fuzz(server.url, spec, NUM_DESCRIBED, NUM_RAW)
        fuzz.run()
        assert fuzz.troubles == []
        assert fuzz.statuses[200] > 10 and fuzz.statuses[400] > 50
        assert server.get("/health").status == 200
