"""The tables of a store, as steps from each format to the next.

A new store takes all steps. A published step is never edited; a later change is a new step.
"""

FORMAT_1 = """
CREATE TABLE results (key TEXT PRIMARY KEY, result TEXT NOT NULL, checksum TEXT NOT NULL,
    model_version TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE set_aside (key TEXT NOT NULL, result, checksum, found REAL NOT NULL);
CREATE TABLE failures (key TEXT PRIMARY KEY, sentence TEXT NOT NULL, bug INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE requests (id INTEGER PRIMARY KEY AUTOINCREMENT, how TEXT NOT NULL, data TEXT, base TEXT NOT NULL,
    total INTEGER NOT NULL, reused INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL, created REAL NOT NULL,
    started REAL, lease_until REAL NOT NULL, model_version TEXT NOT NULL, note TEXT NOT NULL DEFAULT '');
CREATE INDEX requests_by_state ON requests (state);
CREATE TABLE points (request INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, changes TEXT NOT NULL,
    state INTEGER NOT NULL, PRIMARY KEY (request, position)) WITHOUT ROWID;
CREATE INDEX points_by_key ON points (key);
CREATE INDEX points_open ON points (request, position) WHERE state = 0;
CREATE TABLE claims (id INTEGER PRIMARY KEY, key TEXT NOT NULL, pid INTEGER NOT NULL, started REAL NOT NULL, ending TEXT);
CREATE INDEX claims_by_key ON claims (key);
CREATE INDEX claims_open ON claims (key) WHERE ending IS NULL;
CREATE INDEX claims_died ON claims (key) WHERE ending = 'died';
CREATE TABLE progress (key TEXT PRIMARY KEY, snapshot TEXT NOT NULL, updated REAL NOT NULL);
CREATE TRIGGER result_kept AFTER INSERT ON results BEGIN UPDATE points SET state = 1 WHERE key = NEW.key; END;
CREATE TRIGGER result_gone AFTER DELETE ON results BEGIN UPDATE points SET state = 0 WHERE key = OLD.key; END;
CREATE TRIGGER failure_kept AFTER INSERT ON failures BEGIN UPDATE points SET state = 2 WHERE key = NEW.key; END;
CREATE TRIGGER failure_gone AFTER DELETE ON failures BEGIN
    UPDATE points SET state = 0 WHERE key = OLD.key AND state = 2; END;
"""

# A request's session, title and link; shared trainings; times of last use; checksums.
FORMAT_2 = """
ALTER TABLE requests ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN keeps_on INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN link TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN ended REAL;
ALTER TABLE requests ADD COLUMN checksum INTEGER;
UPDATE requests SET checksum = crc(how, data, base);
CREATE INDEX requests_by_digest ON requests (digest);
ALTER TABLE points ADD COLUMN class TEXT;
ALTER TABLE points ADD COLUMN checksum INTEGER;
UPDATE points SET checksum = crc(key, changes);
CREATE INDEX points_failed ON points (request) WHERE state = 2;
ALTER TABLE results ADD COLUMN used REAL;
UPDATE results SET used = created;
CREATE INDEX results_by_use ON results (used);
ALTER TABLE set_aside ADD COLUMN kind TEXT NOT NULL DEFAULT 'result';
CREATE TABLE trainings (class TEXT PRIMARY KEY, record TEXT NOT NULL, checksum TEXT NOT NULL,
    model_version TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

# The code of results, trainings and requests; the states of a request's points are those of its code's rows.
FORMAT_3 = """
ALTER TABLE results ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE trainings ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN code TEXT NOT NULL DEFAULT '';
DROP TRIGGER result_kept;
DROP TRIGGER result_gone;
CREATE TRIGGER result_kept AFTER INSERT ON results BEGIN UPDATE points SET state = 1
    WHERE key = NEW.key AND NEW.code = (SELECT code FROM requests WHERE id = points.request); END;
CREATE TRIGGER result_gone AFTER DELETE ON results BEGIN UPDATE points SET state = 0
    WHERE key = OLD.key AND OLD.code = (SELECT code FROM requests WHERE id = points.request); END;
"""

# Checksums of whole requests, of points and of failures; damaged rows are no longer kept.
OWNERLESS = """id, how, data, base, total, reused, state, created, started, lease_until, model_version, note, session, keeps_on,
    title, link, digest, pinned, ended, code"""


def _request_triggers(columns: str) -> str:
    """Return the triggers that write and verify the checksum of a request's columns."""
    checksum, old_checksum = f"crc({columns})", f"crc(OLD.{', OLD.'.join(map(str.strip, columns.split(',')))})"
    return f"""CREATE TRIGGER request_asked AFTER INSERT ON requests BEGIN
    UPDATE requests SET checksum = {checksum} WHERE id = NEW.id; END;
CREATE TRIGGER request_damaged BEFORE UPDATE ON requests
    WHEN NEW.checksum IS OLD.checksum AND OLD.checksum IS NOT {old_checksum} BEGIN
    SELECT raise(ABORT, 'malformed: a request is not as it was written'); END;
CREATE TRIGGER request_changed AFTER UPDATE ON requests WHEN NEW.checksum IS OLD.checksum BEGIN
    UPDATE requests SET checksum = {checksum} WHERE id = NEW.id; END;"""


POINT_CHECKSUM = "crc(request, position, key, changes, class)"
FAILURE_CHECKSUM = "crc(key, sentence, bug)"
FORMAT_4 = f"""
DROP TABLE set_aside;
UPDATE points SET checksum = {POINT_CHECKSUM} WHERE checksum IS NULL OR checksum = crc(key, changes);
UPDATE requests SET checksum = crc({OWNERLESS}) WHERE checksum IS NULL OR checksum = crc(how, data, base);
ALTER TABLE failures ADD COLUMN checksum INTEGER;
UPDATE failures SET checksum = {FAILURE_CHECKSUM};
DELETE FROM settings WHERE CAST(CAST(value AS INTEGER) AS TEXT) != value;
{_request_triggers(OWNERLESS)}
CREATE TRIGGER point_changed AFTER UPDATE OF request, position, key, changes, class ON points BEGIN
    UPDATE points SET checksum = {POINT_CHECKSUM} WHERE request = NEW.request AND position = NEW.position; END;
CREATE TRIGGER failure_told AFTER INSERT ON failures BEGIN
    UPDATE failures SET checksum = {FAILURE_CHECKSUM} WHERE key = NEW.key; END;
"""

# A checksum of each setting, in place of a seal of all settings and tables.
SETTING_CHECKSUM = "crc(name, value)"
FORMAT_5 = f"""
ALTER TABLE settings ADD COLUMN checksum INTEGER;
DELETE FROM settings WHERE name = 'seal';
UPDATE settings SET checksum = {SETTING_CHECKSUM};
"""

# The owner of each request: "command", or the public text of a visitor; "" for requests of earlier formats.
REQUEST = f"{OWNERLESS}, owner"
REQUEST_CHECKSUM = f"crc({REQUEST})"
FORMAT_6 = f"""
DROP TRIGGER request_asked;
DROP TRIGGER request_damaged;
DROP TRIGGER request_changed;
ALTER TABLE requests ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE requests SET checksum = {REQUEST_CHECKSUM} WHERE checksum IS crc({OWNERLESS});
{_request_triggers(REQUEST)}
"""

STEPS = (FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5, FORMAT_6)
VERSION = len(STEPS)
SOUND_POINT = "p.checksum IS crc(p.request, p.position, p.key, p.changes, p.class)"
UNTRAINED = '"training":[]'  # in the text of a result that has trained nothing
CHECKED_COLUMNS = {  # by table, the columns that a row's checksum covers
    "settings": "name, value",
    "requests": REQUEST,
    "points": "request, position, key, changes, class",
    "failures": "key, sentence, bug",
    "results": "key, result",
    "trainings": "class, record",
}
DAMAGED_ROWS = {  # by kind, the query for damaged rows
    "a setting": f"SELECT 1 FROM settings WHERE checksum IS NOT {SETTING_CHECKSUM}",
    "a request": f"SELECT 1 FROM requests WHERE checksum IS NOT {REQUEST_CHECKSUM}",
    "a point": f"SELECT 1 FROM points WHERE checksum IS NOT {POINT_CHECKSUM} OR state NOT IN (0, 1, 2)",
    "a failure": f"SELECT 1 FROM failures WHERE checksum IS NOT {FAILURE_CHECKSUM}",
    "a finished point": """SELECT 1 FROM points p JOIN requests q ON q.id = p.request WHERE p.state = 1
        AND NOT EXISTS (SELECT 1 FROM results r WHERE r.key = p.key AND r.code = q.code)""",
}
