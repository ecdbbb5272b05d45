"""My own data on Start: who may give which file, by which way, and what does a page say of a file's content?"""

import os
import re
from concurrent.futures import Future

import pytest

from engine.errors import BadFile
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from pages.answers import data_file, stored_uploads
from pages.data_page import data_folder, fit_view, uploads
from pages.full_run import training_panel
from pages.gate import access
from pages.own_data import panel as own_data
from pages.own_data import ways
from tests import apps
from tests.apps import text
from tests.cases import each
from tests.pages.start.test_uploads import MAPPING, TABLE, day

SECRET = "q7zkv9wxjd3hunter2"
HEADER = "userId,movieId,rating,timestamp\n"
ROWS = [f"{n},{n % 9},{n % 6},{n}\n" for n in range(60)]
RATINGS = HEADER + "".join(ROWS)


def ratings(line, row):
    """Return ratings with another row at a line of the file."""
    return HEADER + "".join([*ROWS[: line - 2], row, *ROWS[line - 2 :]])


# Files of which a reader's refusal quotes the secret, and the line that it names.
FAULTS = {
    "a cell": ({"own.csv": ratings(17, f"1,2,{SECRET},3\n")}, ":17"),
    "a time": ({"own.csv": ratings(9, f"1,2,3,{SECRET}\n")}, ":9"),
    "a header": ({"own.csv": f"{SECRET},b\n1,2\n"}, ""),
    "a first line": ({"own.txt": "".join(f"{SECRET}{n}\n" for n in range(50))}, ":1"),
    "a passwd": ({"passwd": f"{SECRET}:x:0:0:root:/root:/bin/bash\n" * 50}, ""),
    "a JSON": ({"own.json": f'{{"{SECRET}": 1}}\n'}, ""),
    "a tab": ({"own.tsv": f"{SECRET}\tb\n1\t2\n"}, ""),
    "a key of a mapping": ({"own.csv": TABLE.decode(), "own.csv.toml": f'"{SECRET}" = 1'}, ".toml"),
    "a rule of a mapping": ({"own.csv": TABLE.decode(), "own.csv.toml": f'label = "a > {SECRET}"\nids = "b"'}, ".toml"),
    "a column of a mapping": ({"own.csv": TABLE.decode(), "own.csv.toml": f'label = "{SECRET}"\nids = "b"'}, ":1"),
}
OUTLINE = re.compile(r": [a-z ,]+; `python -m engine run --data FILE` shows what it holds there\.")


@pytest.fixture(autouse=True)
def unknown(monkeypatch):
    """Let no file be known to the server, and no token."""
    monkeypatch.setattr(data_file, "_FILES", {})
    monkeypatch.setattr(access, "_token", "")


def written(folder, files):
    """Write files into a folder and return the first."""
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / next(iter(files))


def shown(app):
    """Return all that a page shows, in words."""
    assert not app.exception
    return " ".join(str(node.proto) for node in app._tree if getattr(node, "proto", None))


def inputs(app):
    """Return the keys of the ways in which a visitor may give a file."""
    fields = [*app.text_input, *app.file_uploader, *app.selectbox]
    return {field.key for field in fields} & {ways.PATH, ways.UPLOAD, ways.NAME}


def test_without_the_token_no_path_is_asked_for_and_none_that_is_sent_is_read(tmp_path, monkeypatch):
    access.set_token()
    path = written(tmp_path, {"own.csv": RATINGS})
    for token in ("", "wrong"):
        monkeypatch.setattr(access, "shown_token", lambda token=token: token)
        app = apps.opened("start", None, **{ways.PATH: str(path)})
        assert inputs(app) == {ways.UPLOAD} and access.TOKEN_HINT in text(app.caption)
        assert "own.csv" not in shown(app) and not app.error


def test_with_the_token_a_path_is_read_as_people_type_it(tmp_path, monkeypatch, trusted):
    path = written(tmp_path, {"own data.csv": RATINGS})
    monkeypatch.setenv("HOME", str(tmp_path))
    app = apps.opened("start")
    assert inputs(app) == {ways.PATH, ways.UPLOAD} and access.TOKEN_HINT not in text(app.caption)
    for typed in (f"  {path}\t", " ~/own data.csv "):
        app.text_input(key=ways.PATH).set_value(typed).run()
        assert "movielens, 60 samples" in text(app.markdown) and not app.error
    app.text_input(key=ways.PATH).set_value("~nobody-of-this-name/x").run()
    assert "no folder of such a user" in text(app.error) and inputs(app) == {ways.PATH, ways.UPLOAD}


def test_an_upload_is_read_with_all_its_files_or_refused_on_the_page(monkeypatch):
    app = apps.opened("start")
    field = app.file_uploader(key=ways.UPLOAD)
    field.set_value([("own.csv", TABLE, "text/csv"), ("own.toml", MAPPING, "text/plain")]).run()
    assert "80 samples; id fields: 1" in text(app.markdown) and not app.error
    field = app.file_uploader(key=ways.UPLOAD)
    field.set_value([(name, content, "") for name, content in day(0) + day(1)]).run()
    assert "2 separate data files" in text(app.error) and not app.exception
    wrong = RATINGS.replace("17,8,5,17", f"17,8,{SECRET},17").encode()
    app.file_uploader(key=ways.UPLOAD).set_value([("own.csv", wrong, "text/csv")]).run()
    assert SECRET in text(app.error), "one's own upload is quoted"
    link = linked(wrong)
    assert SECRET in shown(apps.opened("data", link)), "also after a reload, in another session"
    monkeypatch.setattr(access, "visitor", lambda: "another")
    assert SECRET not in shown(apps.opened("data", link)), "another visitor's is not"


def test_a_visitor_sees_how_long_an_upload_stays_and_deletes_it(monkeypatch):
    said = []
    monkeypatch.setattr(ways.st, "toast", said.append)
    app = apps.opened("start")
    assert not any(button.key == "delete uploads" for button in app.button)
    app.file_uploader(key=ways.UPLOAD).set_value([("own.csv", RATINGS.encode(), "text/csv")]).run().run()
    assert "You have 1 upload of" in text(app.caption) and "7 days after its last use" in text(app.caption)
    assert [file.getvalue() for file in app.session_state[ways.UPLOAD]] == [b""], "the server's memory is free of it"
    app.button(key="delete uploads").click().run()
    assert said == ["1 upload deleted."] and "own.csv is no longer on this server" in text(app.error)
    assert not list(stored_uploads.stored_uploads()) and not app.exception


def test_an_upload_is_described_by_its_visitor_after_a_reload():
    """The field is empty then, and the link names the file by its digest."""
    link = {"preset": "tiny", "data.batch_size": "64", "data.digest": uploads_of_app(TABLE)}
    app = apps.opened("data", link)
    app.button(key="accept guess").click().run()
    assert "is ready" in text(app.markdown) and not app.exception
    assert app.session_state["scenario"].data.digest != link["data.digest"], "with its mapping it is another file"


def uploads_of_app(content):
    """Return the digest of a file that this visitor has uploaded in another session."""
    apps.opened("start").file_uploader(key=ways.UPLOAD).set_value([("own.csv", content, "text/csv")]).run()
    (upload,) = stored_uploads.stored_uploads()
    return upload.digest


def linked(content):
    """Return the link to a file that the server knows."""
    return {"preset": "tiny", "data.digest": uploads.keep_upload([("own.csv", content)]).digest}


@each("fault", FAULTS, few=7)
def test_a_refusal_has_no_byte_of_a_file_but_for_those_who_may_see_it(fault, tmp_path, monkeypatch):
    files, line = FAULTS[fault]
    (tmp_path / fault).mkdir()
    path = written(tmp_path / fault, files)
    scenario = with_values(preset("tiny").scenario, {"data.digest": data_file.register(path, data_file.TYPED).digest})

    def refused(trusted):
        monkeypatch.setattr(access, "is_trusted", lambda: trusted)
        with pytest.raises(BadFile) as error, data_file.refusals(data_file.file_of(scenario)):
            own_data.shape_of(str(path), scenario.data.digest)
        return str(error.value)

    open_to_all, closed = refused(True), refused(False)
    assert SECRET[:6] in open_to_all or fault == "a passwd", "the fault is one that a reader quotes"
    assert not any(SECRET[at : at + 4] in closed for at in range(len(SECRET) - 3)), closed
    assert closed.startswith(path.name + line) and OUTLINE.fullmatch(closed.removeprefix(path.name + line)), closed


@each("page", ["data", "start", "design", "search", "failures", "runs"], few=2)
def test_no_page_has_a_byte_of_a_file_that_was_typed_by_someone_with_the_token(page, tmp_path, monkeypatch):
    path = written(tmp_path, FAULTS["a cell"][0])
    link = {"preset": "tiny", "data.digest": data_file.register(path, data_file.TYPED).digest}
    app = apps.opened(page, link)
    assert not any(SECRET[at : at + 6] in shown(app) for at in range(len(SECRET) - 5))
    if page == "data":
        assert "own.csv:17: " in text(app.markdown), "the answer says it"
        with monkeypatch.context() as token:
            token.setattr(access, "is_trusted", lambda: True)
            assert SECRET in text(apps.opened(page, link).markdown), "who has the token may see it"


@each("page", ["data", "design", "search", "failures", "runs"], few=2)
def test_no_page_has_a_name_or_an_id_of_another_visitors_upload(page, monkeypatch):
    """Of one that a page can read, and of one whose columns nobody has described."""
    table = b"click," + SECRET.encode() + b"\n" + b"".join(b"%d,%s%d\n" % (n % 2, SECRET.encode(), n % 7) for n in range(80))
    mapping = ("own.toml", f'label = "click"\nids = ["{SECRET}"]'.encode())
    with monkeypatch.context() as other:
        other.setattr(access, "visitor", lambda: "another")
        files = [uploads.keep_upload([("own.csv", table), *more]) for more in ([mapping], [])]
    links = [{"preset": "tiny", "data.batch_size": "64", "data.digest": file.digest} for file in files]
    for link in links:
        app = apps.opened(page, link)
        apps.ANSWERS.found()
        assert SECRET not in shown(app.run())


@pytest.mark.slow
def test_an_error_that_no_page_expects_has_no_byte_of_a_file_either(tmp_path, monkeypatch):
    """Of a fault that shows up later than where a page looks for one."""
    path = written(tmp_path, {"own.csv": RATINGS})
    file = data_file.register(path, data_file.TYPED)
    link = {"preset": "tiny", "data.digest": file.digest}
    late = BadFile(f"own.csv:17: {SECRET}")

    def stumble(*given, **_):
        raise late

    app = apps.opened("data", link)
    app.button(key="take shape").click().run()
    assert not app.error
    fields = app.session_state["scenario"]
    monkeypatch.setattr(fit_view, "fit_of_file", stumble)
    app.button(key="fit").click().run()
    assert text(app.error).startswith("own.csv:17: ") and SECRET not in shown(app)
    monkeypatch.setattr(fit_view, "draw", stumble)
    app.run()
    assert text(app.error).startswith("own.csv:17: ") and SECRET not in shown(app)
    monkeypatch.setattr(ways, "given_file", lambda: file)
    monkeypatch.setattr(own_data, "shape_of", stumble)
    app = apps.opened("start")
    assert text(app.error).startswith("own.csv:17: ") and SECRET not in shown(app)

    said = []
    monkeypatch.setattr(training_panel.st, "caption", said.append)
    monkeypatch.setattr(training_panel.session, "scenario", lambda: fields)
    (beside := Future()).set_exception(late)
    training_panel._note(beside, 0.5, falls=False, error=None, rises=True)
    assert "own.csv" in said[0] and SECRET not in said[0]


@pytest.fixture
def named(monkeypatch):
    """Return a function that names a path at start."""
    yield lambda path: (monkeypatch.setattr("sys.argv", ["app.py", "--data", str(path)]), data_file.start_file.cache_clear())
    monkeypatch.undo()
    data_file.start_file.cache_clear()


def test_of_a_folder_named_at_start_each_visitor_chooses_a_file_by_name(tmp_path, named):
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    written(
        folder, {"ratings.csv": RATINGS, "own.csv": TABLE, "own.csv.toml": MAPPING, ".hidden.csv": RATINGS, "lone.toml": MAPPING}
    )
    written(folder / "deep", dict(day(0)) | {"wrong.csv": FAULTS["a cell"][0]["own.csv"]})
    named(f" {folder} ")
    app = apps.opened("start")
    assert inputs(app) == {ways.UPLOAD, ways.NAME} and "data.digest" not in app.query_params
    assert app.selectbox(key=ways.NAME).options == ["deep/day_0_sparse.npy", "deep/wrong.csv", "own.csv", "ratings.csv"]
    for name, words in (("ratings.csv", "movielens, 60 samples"), ("deep/day_0_sparse.npy", "torchrec, 80 samples")):
        app.selectbox(key=ways.NAME).set_value(name).run()
        assert words in text(app.markdown) and not app.error
    app.selectbox(key=ways.NAME).set_value("deep/wrong.csv").run()
    assert SECRET in text(app.error), "what was named at start is quoted"


def test_a_folder_named_at_start_leads_nowhere_else(tmp_path, named):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir(), outside.mkdir()
    secret = written(outside, {"secret.csv": RATINGS, "secret.toml": f'"{SECRET}" = 1'})
    written(folder, {"own.csv": TABLE, "real.csv": RATINGS})
    links = {"file.csv": secret, "folder.d": outside, "own.csv.toml": outside / "secret.toml", "inside.csv": folder / "real.csv"}
    for name, there in (*links.items(), ("loop.csv", folder / "loop.csv"), ("gone.csv", folder / "none")):
        (folder / name).symlink_to(there)
    os.mkfifo(folder / "pipe.csv")
    named(folder)
    assert data_folder.names() == ("inside.csv", "own.csv", "real.csv")
    for name in ("file.csv", "folder.d/secret.csv", "../outside/secret.csv", str(secret), "own.csv.toml", "pipe.csv", "", "."):
        with pytest.raises(BadFile, match="is not a data file of the folder"):
            data_folder.named_file(name)
    with pytest.raises(BadFile, match=r"own\.csv\.toml is a link out of the folder"):
        data_folder.named_file("own.csv")
    assert data_folder.named_file("inside.csv").origin == data_file.START


def test_a_blank_name_at_start_names_nothing(named):
    named("  ")
    assert data_file.named_path() is None and data_folder.names() == () and data_file.start_file() is None


def test_a_file_is_seen_by_whoever_may_see_one_of_its_paths(tmp_path):
    typed, again = (written(tmp_path, {name: RATINGS}) for name in ("a.csv", "b.csv"))
    digest = data_file.register(typed, data_file.TYPED).digest
    scenario = with_values(preset("tiny").scenario, {"data.digest": digest})
    assert data_file.file_of(scenario).path == typed and not data_file.is_visible(data_file.file_of(scenario))
    data_file.register(again, data_file.START)
    assert data_file.file_of(scenario).path == again and data_file.is_visible(data_file.file_of(scenario))
