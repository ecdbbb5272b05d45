
DROP TABLE set_aside;
UPDATE points SET checksum = crc(request, position, key, changes, class) WHERE checksum IS NULL OR checksum = crc(key, changes);
UPDATE requests SET checksum = crc(id, how, data, base, total, reused, state, created, started, lease_until, model_version, note, session, keeps_on,
    title, link, digest, pinned, ended, code) WHERE checksum IS NULL OR checksum = crc(how, data, base);
ALTER TABLE failures ADD COLUMN checksum INTEGER;
UPDATE failures SET checksum = crc(key, sentence, bug);
DELETE FROM settings WHERE CAST(CAST(value AS INTEGER) AS TEXT) != value;
CREATE TRIGGER request_asked AFTER INSERT ON requests BEGIN
    UPDATE requests SET checksum = crc(id, how, data, base, total, reused, state, created, started, lease_until, model_version, note, session, keeps_on,
    title, link, digest, pinned, ended, code) WHERE id = NEW.id; END;
CREATE TRIGGER request_damaged BEFORE UPDATE ON requests
    WHEN NEW.checksum IS OLD.checksum AND OLD.checksum IS NOT crc(OLD.id, OLD.how, OLD.data, OLD.base, OLD.total, OLD.reused, OLD.state, OLD.created, OLD.started, OLD.lease_until, OLD.model_version, OLD.note, OLD.session, OLD.keeps_on, OLD.title, OLD.link, OLD.digest, OLD.pinned, OLD.ended, OLD.code) BEGIN
    SELECT raise(ABORT, 'malformed: a request is not as it was written'); END;
CREATE TRIGGER request_changed AFTER UPDATE ON requests WHEN NEW.checksum IS OLD.checksum BEGIN
    UPDATE requests SET checksum = crc(id, how, data, base, total, reused, state, created, started, lease_until, model_version, note, session, keeps_on,
    title, link, digest, pinned, ended, code) WHERE id = NEW.id; END;
CREATE TRIGGER point_changed AFTER UPDATE OF request, position, key, changes, class ON points BEGIN
    UPDATE points SET checksum = crc(request, position, key, changes, class) WHERE request = NEW.request AND position = NEW.position; END;
CREATE TRIGGER failure_told AFTER INSERT ON failures BEGIN
    UPDATE failures SET checksum = crc(key, sentence, bug) WHERE key = NEW.key; END;
