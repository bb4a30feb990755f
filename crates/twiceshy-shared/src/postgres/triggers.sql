-- The triggers that note rows which are written past the guard. A set that was made by an older version has others: a member puts these in their place.
--
-- ALWAYS: also under `session_replication_role = replica`, as logical replication and some loaders write. A write of another trigger within one of the
-- guard's own transactions is not the guard's. TRUNCATE may be replicated: its keys stay in the set, and cost look-ups.

DROP TRIGGER IF EXISTS note_row ON {set}.value;
DROP TRIGGER IF EXISTS note_key ON {set}.value;

CREATE TRIGGER note_row AFTER INSERT OR DELETE ON {set}.value
    FOR EACH ROW WHEN (current_setting('twiceshy.own', true) IS DISTINCT FROM '{name}' OR pg_trigger_depth() > 0)
    EXECUTE FUNCTION {set}.note_row();

-- Not UPDATE OF key: that is a statement that names the key, and a BEFORE trigger may change the key of any other. So it may under an update of
-- the guard's own, which never changes a key itself.
CREATE TRIGGER note_key AFTER UPDATE ON {set}.value
    FOR EACH ROW WHEN (OLD.key IS DISTINCT FROM NEW.key)
    EXECUTE FUNCTION {set}.note_row();

ALTER TABLE {set}.value ENABLE ALWAYS TRIGGER note_row;
ALTER TABLE {set}.value ENABLE ALWAYS TRIGGER note_key;
