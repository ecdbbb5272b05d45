ALTER TABLE results ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE trainings ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN code TEXT NOT NULL DEFAULT '';
DROP TRIGGER result_kept;
DROP TRIGGER result_gone;
CREATE TRIGGER result_kept AFTER INSERT ON results BEGIN UPDATE points SET state = 1
    WHERE key = NEW.key AND NEW.code = (SELECT code FROM requests WHERE id = points.request); END;
CREATE TRIGGER result_gone AFTER DELETE ON results BEGIN UPDATE points SET state = 0
    WHERE key = OLD.key AND OLD.code = (SELECT code FROM requests WHERE id = points.request); END;
