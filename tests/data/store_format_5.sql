
ALTER TABLE settings ADD COLUMN checksum INTEGER;
DELETE FROM settings WHERE name = 'seal';
UPDATE settings SET checksum = crc(name, value);
