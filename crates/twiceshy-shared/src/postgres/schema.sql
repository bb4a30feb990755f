-- What a shared set needs in PostgreSQL. `{set}` is the quoted name of its schema.
--
-- The row of a shard in {set}.shard is its counter: each transaction that appends a record locks it. So records are committed in the order of their
-- positions. A sequence would not do: its numbers are given before the commit, and a reader that has seen a number could miss a lower one.
--
-- Where rows are looked up by lists, each is looked up alone: OFFSET 0 keeps the planner from walking through a table that it takes for small, which
-- may be full of rows that are dead or new.

CREATE SCHEMA {set};

CREATE TABLE {set}.description (one boolean PRIMARY KEY DEFAULT true CHECK (one), bytes bytea NOT NULL);

CREATE TABLE {set}.shard (
    id int PRIMARY KEY,
    position bigint NOT NULL DEFAULT 0,
    tag bigint NOT NULL DEFAULT 0,
    -- The last record that was cut off.
    cut_position bigint NOT NULL DEFAULT 0,
    cut_tag bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

CREATE TABLE {set}.log (
    shard int NOT NULL,
    position bigint NOT NULL,
    tag bigint NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (shard, position)
);

-- The index by hash: a row for each order of each key. Words are shifted so that their order is that of signed numbers.
CREATE TABLE {set}.entry (
    shard int NOT NULL,
    generation int NOT NULL,
    ord smallint NOT NULL,
    word bigint NOT NULL,
    key bytea NOT NULL,
    PRIMARY KEY (shard, generation, ord, word, key)
);

CREATE TABLE {set}.member (
    shard int NOT NULL,
    id bigint NOT NULL,
    renewed bigint NOT NULL DEFAULT 0,
    acknowledged bigint NOT NULL,
    PRIMARY KEY (shard, id)
) WITH (fillfactor = 20);

CREATE TABLE {set}.announcement (
    shard int NOT NULL,
    id bigint NOT NULL,
    member bigint NOT NULL,
    keys bytea[] NOT NULL,
    PRIMARY KEY (shard, id)
);

-- A longer key would not fit into a row of the index.
CREATE TABLE {set}.value (key bytea PRIMARY KEY CHECK (length(key) <= 2000), value bytea NOT NULL);

CREATE TABLE {set}.outbox (id bigserial PRIMARY KEY, key bytea NOT NULL);

CREATE TABLE {set}.snapshot (
    shard int NOT NULL,
    id bigint NOT NULL,
    position bigint NOT NULL,
    tag bigint NOT NULL,
    digest bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (shard, id)
);

CREATE TABLE {set}.chunk (
    shard int NOT NULL,
    id bigint NOT NULL,
    -- That of the snapshot: a piece whose snapshot nobody finished is deleted with others of its age.
    position bigint NOT NULL,
    number int NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (shard, id, number)
);
ALTER TABLE {set}.chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE {set}.log ALTER COLUMN record SET STORAGE EXTERNAL;
ALTER TABLE {set}.announcement ALTER COLUMN keys SET STORAGE EXTERNAL;

-- Rows that are written with plain SQL: see triggers.sql. The functions below set `twiceshy.own`, and log what they write themselves.
CREATE FUNCTION {set}.note_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO {set}.outbox (key) VALUES (OLD.key);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO {set}.outbox (key) VALUES (NEW.key);
    END IF;
    RETURN NULL;
END $$;

-- A statement without rows to look at, so it cannot be noted row by row.
CREATE FUNCTION {set}.refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'use DELETE: the keys of truncated rows would stay in the shared set';
END $$;
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {set}.value EXECUTE FUNCTION {set}.refuse_truncate();

-- Writes values, in the order of their keys. Most are new, and an insertion that looks for others first takes twice as long.
CREATE FUNCTION {set}.put(put_keys bytea[], put_values bytea[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {set}.value (key, value) SELECT p.k, p.v FROM unnest(put_keys, put_values) p(k, v) ORDER BY p.k;
EXCEPTION WHEN unique_violation THEN
    INSERT INTO {set}.value (key, value) SELECT p.k, p.v FROM unnest(put_keys, put_values) p(k, v) ORDER BY p.k
    ON CONFLICT ON CONSTRAINT value_pkey DO UPDATE SET value = excluded.value;
END $$;

-- Appends a record. Outcomes: 0 done, with the keys whose value was deleted; 1 the head is another; 2 these keys are busy; 3 an announcement to be
-- closed is not open.
CREATE FUNCTION {set}.append(
    in_shard int, after_position bigint, after_tag bigint, new_tag bigint, new_record bytea,
    add_generations int[], add_orders smallint[], add_words bigint[], add_keys bytea[],
    remove_generations int[], remove_orders smallint[], remove_words bigint[], remove_keys bytea[],
    open_ids bigint[], open_members bigint[], open_counts int[], open_keys bytea[],
    close_ids bigint[], put_keys bytea[], put_values bytea[], delete_keys bytea[],
    unopened bytea[], rowless bytea[], moved bigint[], applied_by bigint
) RETURNS TABLE (outcome int, keys bytea[]) LANGUAGE plpgsql AS $$
DECLARE
    head record;
    busy bytea[];
    deleted bytea[];
    opened int := 0;
    i int;
BEGIN
    SELECT s.position, s.tag INTO head FROM {set}.shard s WHERE s.id = in_shard FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no shard %', in_shard;
    END IF;
    IF head.position <> after_position OR head.tag <> after_tag THEN
        RETURN QUERY SELECT 1, NULL::bytea[];
        RETURN;
    END IF;
    IF cardinality(close_ids) > 0 THEN
        PERFORM 1 FROM {set}.announcement a WHERE a.shard = in_shard AND a.id = ANY (close_ids) ORDER BY a.id FOR UPDATE;
        IF (SELECT count(*) FROM {set}.announcement a WHERE a.shard = in_shard AND a.id = ANY (close_ids)) < cardinality(close_ids) THEN
            RETURN QUERY SELECT 3, NULL::bytea[];
            RETURN;
        END IF;
    END IF;
    IF cardinality(unopened) > 0 OR cardinality(rowless) > 0 THEN
        SELECT array_agg(b.key ORDER BY b.key) INTO busy FROM (
            SELECT u.key FROM unnest(unopened) u(key) WHERE EXISTS (
                SELECT 1 FROM {set}.announcement a
                WHERE a.shard = in_shard AND NOT a.id = ANY (close_ids) AND u.key = ANY (a.keys))
            UNION
            SELECT r.key FROM unnest(rowless) r(key)
            CROSS JOIN LATERAL (SELECT 1 FROM {set}.value v WHERE v.key = r.key OFFSET 0) v) b;
        IF busy IS NOT NULL THEN
            RETURN QUERY SELECT 2, busy;
            RETURN;
        END IF;
    END IF;
    PERFORM set_config('twiceshy.own', '{name}', true);
    IF cardinality(remove_keys) > 0 THEN
        -- Nobody else changes these entries: the shard is locked.
        DELETE FROM {set}.entry e WHERE e.ctid = ANY (ARRAY(
            SELECT f.ctid FROM unnest(remove_generations, remove_orders, remove_words, remove_keys) r(g, o, w, k)
            CROSS JOIN LATERAL (
                SELECT f.ctid FROM {set}.entry f
                WHERE f.shard = in_shard AND f.generation = r.g AND f.ord = r.o AND f.word = r.w AND f.key = r.k OFFSET 0) f));
    END IF;
    IF cardinality(add_keys) > 0 THEN
        -- Most entries are new, and an insertion that looks for others first takes almost twice as long.
        BEGIN
            INSERT INTO {set}.entry (shard, generation, ord, word, key)
            SELECT in_shard, a.g, a.o, a.w, a.k FROM unnest(add_generations, add_orders, add_words, add_keys) a(g, o, w, k);
        EXCEPTION WHEN unique_violation THEN
            INSERT INTO {set}.entry (shard, generation, ord, word, key)
            SELECT in_shard, a.g, a.o, a.w, a.k FROM unnest(add_generations, add_orders, add_words, add_keys) a(g, o, w, k)
            ON CONFLICT DO NOTHING;
        END;
    END IF;
    IF cardinality(close_ids) > 0 THEN
        DELETE FROM {set}.announcement a WHERE a.shard = in_shard AND a.id = ANY (close_ids);
    END IF;
    FOR i IN 1 .. cardinality(open_ids) LOOP
        INSERT INTO {set}.announcement (shard, id, member, keys)
        VALUES (in_shard, open_ids[i], open_members[i], open_keys[opened + 1 : opened + open_counts[i]])
        ON CONFLICT ON CONSTRAINT announcement_pkey DO UPDATE SET keys = excluded.keys;
        opened := opened + open_counts[i];
    END LOOP;
    IF cardinality(delete_keys) > 0 THEN
        -- In the order of the keys, as others write them: otherwise two transactions could wait for each other.
        PERFORM 1 FROM {set}.value v WHERE v.key = ANY (delete_keys) ORDER BY v.key FOR UPDATE;
        WITH gone AS (DELETE FROM {set}.value v WHERE v.key = ANY (delete_keys) RETURNING v.key)
        SELECT array_agg(g.key) INTO deleted FROM gone g;
    END IF;
    IF cardinality(put_keys) > 0 THEN
        PERFORM {set}.put(put_keys, put_values);
    END IF;
    IF cardinality(moved) > 0 THEN
        DELETE FROM {set}.outbox o WHERE o.id = ANY (moved);
    END IF;
    INSERT INTO {set}.log (shard, position, tag, record) VALUES (in_shard, after_position + 1, new_tag, new_record);
    UPDATE {set}.shard s SET position = after_position + 1, tag = new_tag WHERE s.id = in_shard;
    IF applied_by <> 0 THEN
        UPDATE {set}.member m SET acknowledged = after_position + 1 WHERE m.shard = in_shard AND m.id = applied_by;
    END IF;
    RETURN QUERY SELECT 0, deleted;
END $$;

-- Writes values and closes their announcements, which come in order, or fails with the state TW001 if one of them is not open.
CREATE FUNCTION {set}.settle(close_shards int[], close_ids bigint[], put_keys bytea[], put_values bytea[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    i int;
BEGIN
    FOR i IN 1 .. cardinality(close_ids) LOOP
        DELETE FROM {set}.announcement a WHERE a.shard = close_shards[i] AND a.id = close_ids[i];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'an announcement is not open' USING ERRCODE = 'TW001';
        END IF;
    END LOOP;
    PERFORM set_config('twiceshy.own', '{name}', true);
    PERFORM {set}.put(put_keys, put_values);
END $$;

-- The records after a position. Kinds: 0 a record; 1 the log was cut; 2 the log has another record there.
CREATE FUNCTION {set}.read_log(in_shard int, after_position bigint, after_tag bigint, most_bytes bigint)
RETURNS TABLE (kind int, at_position bigint, at_tag bigint, bytes bytea) LANGUAGE plpgsql STABLE AS $$
DECLARE
    head record;
    known bigint;
BEGIN
    SELECT s.* INTO head FROM {set}.shard s WHERE s.id = in_shard;
    IF head.position = after_position AND head.tag = after_tag THEN
        RETURN;
    END IF;
    IF after_position < head.cut_position THEN
        RETURN QUERY SELECT 1, 0::bigint, 0::bigint, NULL::bytea;
        RETURN;
    END IF;
    IF after_position = head.cut_position THEN
        known := head.cut_tag;
    ELSE
        SELECT l.tag INTO known FROM {set}.log l WHERE l.shard = in_shard AND l.position = after_position;
    END IF;
    IF known IS DISTINCT FROM after_tag THEN
        RETURN QUERY SELECT 2, 0::bigint, 0::bigint, NULL::bytea;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT 0, q.position, q.tag, q.record FROM (
            SELECT l.position, l.tag, l.record,
                sum(length(l.record)) OVER (ORDER BY l.position) - length(l.record) AS before
            FROM (SELECT * FROM {set}.log l WHERE l.shard = in_shard AND l.position > after_position
                  ORDER BY l.position LIMIT 1024) l) q
        WHERE q.before < most_bytes OR q.before = 0 ORDER BY q.position;
END $$;

-- Cuts the log up to a position.
CREATE FUNCTION {set}.cut(in_shard int, up_to bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last record;
BEGIN
    SELECT l.position, l.tag INTO last FROM {set}.log l WHERE l.shard = in_shard AND l.position <= up_to
    ORDER BY l.position DESC LIMIT 1;
    IF FOUND THEN
        UPDATE {set}.shard s SET cut_position = last.position, cut_tag = last.tag
        WHERE s.id = in_shard AND s.cut_position < last.position;
        DELETE FROM {set}.log l WHERE l.shard = in_shard AND l.position <= last.position;
    END IF;
    DELETE FROM {set}.chunk c WHERE c.shard = in_shard AND c.position < up_to;
    DELETE FROM {set}.snapshot s WHERE s.shard = in_shard AND s.position < up_to;
END $$;
