#if os(macOS) || os(Linux)
// How the server stores jobs with a key or prerequisites, and jobs of other programs.

extension PostgresFunctions {
  /// Stores a job without its prerequisites. `problem`: 1 if its key is taken, by `other`.
  static func enqueueJob(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).enqueue_job(
      of_lane bigint, of_major bigint, of_minor bigint, of_flags bigint, of_max_attempts bigint, of_timeout bigint,
      starts_at bigint, delay bigint, is_held boolean, of_version bigint, of_backoff text, of_key text,
      key_states bigint[], replaces boolean, of_payload json, of_occurrence bigint, moment bigint
    ) RETURNS TABLE (job bigint, problem int, other bigint) \(language) AS $$
    #variable_conflict use_column
    DECLARE
      holder_state int;
      begins int;
      waits int;
    BEGIN
      moment := coalesce(moment, \(schema).now_ms());
      starts_at := coalesce(starts_at, moment + delay);
      begins := CASE WHEN is_held THEN 4 WHEN starts_at > moment THEN 1 ELSE 0 END;
      IF of_key IS NOT NULL THEN
        PERFORM \(schema).lock_key(of_lane >> 2, of_key);
        LOOP
          -- One that executes only if there is no other. One that has ended is replaced only if there is neither: two could run
          -- at once.
          SELECT id INTO other FROM \(schema).jobs
            WHERE unique_key = of_key AND lane >> 2 = of_lane >> 2 AND state = ANY(key_states)
            ORDER BY CASE WHEN state = 3 THEN 1 WHEN replaces AND state IN (5, 6, 7) THEN 2 ELSE 0 END, id DESC LIMIT 1;
          EXIT WHEN NOT FOUND;
          SELECT state INTO holder_state FROM \(schema).jobs WHERE id = other FOR UPDATE;
          EXIT WHEN holder_state = ANY(key_states);
        END LOOP;
        IF other IS NOT NULL AND NOT replaces THEN
          problem := 1;
          RETURN NEXT;
          RETURN;
        END IF;
        IF other IS NOT NULL AND holder_state <> 3 THEN
          -- It waits for what the new one names, and for one in whose place it comes, which executes or is to run again.
          DELETE FROM \(schema).dependencies WHERE dependent = other AND prerequisite NOT IN (
            SELECT id FROM \(schema).jobs WHERE unique_key = of_key AND lane >> 2 = of_lane >> 2
              AND (state = 3 OR flags & 32 <> 0 AND state IN (0, 1, 2, 4)));
          waits := (SELECT pg_catalog.count(*) FROM \(schema).dependencies WHERE dependent = other);
          UPDATE \(schema).jobs SET lane = of_lane, state = CASE WHEN waits > 0 AND begins <> 4 THEN 2 ELSE begins END,
            major = of_major, minor = of_minor, flags = of_flags | (flags & 1), blockers = waits,
            max_attempts = of_max_attempts, timeout = of_timeout, run_at = starts_at, enqueued_at = moment,
            version = of_version, backoff = of_backoff, payload = of_payload, occurrence = of_occurrence, attempts = 0,
            crashes = 0, lapses = 0, error = NULL, revision = revision + 1, started_at = NULL, finished_at = NULL
            WHERE id = other;
          DELETE FROM \(schema).checkpoints WHERE job = other;
          DELETE FROM \(schema).errors WHERE job = other;
          job := other;
          RETURN NEXT;
          RETURN;
        END IF;
      END IF;
      INSERT INTO \(schema).jobs (lane, state, major, minor, flags, max_attempts, timeout, run_at, enqueued_at,
        version, backoff, unique_key, payload, occurrence)
      VALUES (of_lane, begins, of_major, of_minor, of_flags, of_max_attempts, of_timeout, starts_at, moment,
        of_version, of_backoff, of_key, of_payload, of_occurrence)
      RETURNING id INTO job;
      IF other IS NOT NULL THEN
        -- Whatever becomes of the one that runs, this one comes after it.
        INSERT INTO \(schema).dependencies (prerequisite, dependent, failing) VALUES (other, job, 3);
        UPDATE \(schema).jobs SET flags = flags | 33 WHERE id = other;
        UPDATE \(schema).jobs SET blockers = 1, state = CASE WHEN begins IN (0, 1) THEN 2 ELSE begins END WHERE id = job;
        other := NULL;
      END IF;
      RETURN NEXT;
    END $$;
    CREATE FUNCTION \(schema).lock_key(of_kind bigint, key text) RETURNS void LANGUAGE plpgsql \(searchPath) AS $$
    BEGIN
      -- With one snapshot for the whole transaction, the caller would not see what was committed while it waited.
      IF pg_catalog.current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a job with a unique key needs a transaction that is READ COMMITTED, and this one is %',
          pg_catalog.upper(pg_catalog.current_setting('transaction_isolation'))
          USING ERRCODE = '0A000', HINT = 'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.';
      END IF;
      PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(\(name(schema)) || ' ' || of_kind::text || ' ' || key, 0));
    END $$;
    """
  }

  /// Makes a job wait for others. `problem`: 2 if there is no `other`, 3 if that is this job, or
  /// waits for it, or would once a replaced one has ended. Otherwise the rows are those of
  /// `prerequisites_ended`: a prerequisite may have failed long ago.
  static func blockJob(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).block_job(of_job bigint, prerequisites bigint[], of_failing bigint, moment bigint)
    RETURNS TABLE (problem int, other bigint, job bigint, job_lane bigint, job_state int, failed_with bigint)
    \(language) AS $$
    #variable_conflict use_column
    DECLARE
      unmet bigint[];
      added int;
      own record;
      replaced bigint[];
    BEGIN
      SELECT unique_key, lane >> 2 AS kind, flags & 1 <> 0 AS has_dependents INTO own FROM \(schema).jobs WHERE id = of_job;
      -- In whose place it is to come: their dependents may have to wait for it. It may wait for them itself.
      replaced := ARRAY(SELECT id FROM \(schema).jobs WHERE unique_key = own.unique_key AND lane >> 2 = own.kind
        AND state IN (0, 1, 2, 3, 4) AND flags & 32 <> 0 AND id <> of_job);
      -- Two jobs that are replaced at once could close a circle that neither of their transactions sees.
      IF own.has_dependents OR pg_catalog.cardinality(replaced) > 0 THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(\(name(schema)) || ' circles', 0));
      END IF;
      PERFORM 1 FROM \(schema).jobs WHERE id = ANY(prerequisites) ORDER BY id FOR NO KEY UPDATE;
      SELECT p, CASE WHEN p = of_job THEN 3 ELSE 2 END INTO other, problem FROM pg_catalog.unnest(prerequisites) AS p
        WHERE p = of_job OR (SELECT state FROM \(schema).jobs WHERE id = p) IS NULL ORDER BY p LIMIT 1;
      IF FOUND THEN
        RETURN NEXT;
        RETURN;
      END IF;
      unmet := ARRAY(SELECT id FROM \(schema).jobs WHERE id = ANY(prerequisites) AND state <> 7 ORDER BY id);
      IF own.has_dependents OR pg_catalog.cardinality(replaced) > 0 THEN
        WITH RECURSIVE later (id) AS (
          SELECT of_job
          UNION SELECT next.id FROM later CROSS JOIN LATERAL (
            SELECT dependent AS id FROM \(schema).dependencies WHERE prerequisite = later.id
            UNION ALL SELECT old.id FROM \(schema).jobs AS old
            WHERE old.unique_key = (SELECT unique_key FROM \(schema).jobs WHERE id = later.id AND state IN (0, 1, 2, 3, 4))
              AND old.lane >> 2 = (SELECT lane >> 2 FROM \(schema).jobs WHERE id = later.id)
              AND old.state IN (0, 1, 2, 3, 4) AND old.flags & 32 <> 0 AND old.id <> later.id) AS next)
        SELECT later.id INTO other FROM later WHERE later.id = ANY(unmet) AND later.id <> ALL(replaced) ORDER BY 1 LIMIT 1;
        IF FOUND THEN
          problem := 3;
          RETURN NEXT;
          RETURN;
        END IF;
      END IF;
      IF pg_catalog.cardinality(unmet) = 0 THEN RETURN; END IF;
      WITH new AS (
        INSERT INTO \(schema).dependencies (prerequisite, dependent, failing)
        SELECT p, of_job, of_failing FROM pg_catalog.unnest(unmet) AS p ON CONFLICT DO NOTHING RETURNING 1)
      SELECT pg_catalog.count(*) INTO added FROM new;
      UPDATE \(schema).dependencies SET failing = of_failing
        WHERE dependent = of_job AND prerequisite = ANY(unmet) AND failing <> of_failing;
      UPDATE \(schema).jobs SET flags = flags | 1 WHERE id = ANY(unmet) AND flags & 1 = 0;
      UPDATE \(schema).jobs SET blockers = blockers + added, state = CASE WHEN state IN (0, 1) THEN 2 ELSE state END
        WHERE id = of_job;
      RETURN QUERY SELECT NULL::int, NULL::bigint, ended.* FROM \(schema).prerequisites_ended(
        ARRAY(SELECT id FROM \(schema).jobs WHERE id = ANY(unmet) AND state IN (5, 6) ORDER BY id), 1, of_job, moment)
        AS ended;
    END $$;
    """
  }

  // MARK: - For other programs

  /// Stores a job in the transaction of the caller.
  static func enqueue(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).enqueue(kind text, payload json, options jsonb DEFAULT '{}') RETURNS bigint
    \(language) AS $$
    #variable_conflict use_variable
    DECLARE
      number bigint;
      unknown text;
      failing int;
      key_states bigint[] := ARRAY[0, 1, 2, 3, 4];
      stored record;
      blocked record;
    BEGIN
      options := coalesce(options, '{}');
      SELECT key INTO unknown FROM pg_catalog.jsonb_object_keys(options) AS key WHERE key <> ALL(ARRAY['version', 'major', 'minor',
        'runAfter', 'runAt', 'maxAttempts', 'timeout', 'requiresNetwork', 'uniqueKey', 'uniqueKeyStates', 'whenTaken',
        'dependsOn', 'whenPrerequisiteFails', 'holdsAfterLastAttempt', 'startsHeld', 'backoff']) LIMIT 1;
      IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'enqueue: there is no option %', unknown USING ERRCODE = '22023',
          HINT = 'The options stand in the article “Several machines”.';
      END IF;
      IF coalesce(kind, '') = '' THEN
        RAISE EXCEPTION 'enqueue: the kind is empty' USING ERRCODE = '22023';
      END IF;
      IF payload IS NULL THEN
        RAISE EXCEPTION 'enqueue: there is no job' USING ERRCODE = '22023';
      END IF;
      IF (options->>'maxAttempts')::bigint < 1 OR (options->>'timeout')::numeric <= 0 THEN
        RAISE EXCEPTION 'enqueue: maxAttempts is below 1, or timeout is not positive' USING ERRCODE = '22023';
      END IF;
      IF options->>'whenTaken' NOT IN ('reject', 'replace') THEN
        RAISE EXCEPTION 'enqueue: whenTaken is neither reject nor replace' USING ERRCODE = '22023';
      END IF;
      failing := pg_catalog.array_position(ARRAY['wait', 'cancel', 'die', 'run'], coalesce(options->>'whenPrerequisiteFails', 'wait')) - 1;
      IF failing IS NULL THEN
        RAISE EXCEPTION 'enqueue: whenPrerequisiteFails is none of wait, cancel, die and run' USING ERRCODE = '22023';
      END IF;
      IF options->>'uniqueKeyStates' IS NOT NULL THEN
        key_states := ARRAY(SELECT pg_catalog.array_position(
          ARRAY['waiting', 'scheduled', 'blocked', 'executing', 'held', 'cancelled', 'dead', 'done'], name) - 1
          FROM pg_catalog.jsonb_array_elements_text(options->'uniqueKeyStates') AS name);
        IF pg_catalog.array_position(key_states, NULL) IS NOT NULL THEN
          RAISE EXCEPTION 'enqueue: uniqueKeyStates names a state that there is not' USING ERRCODE = '22023';
        END IF;
      END IF;
      SELECT id INTO number FROM \(schema).kinds AS k WHERE k.name = kind;
      IF number IS NULL THEN
        INSERT INTO \(schema).kinds AS k (name) VALUES (kind) ON CONFLICT (name) DO UPDATE SET name = excluded.name
          RETURNING k.id INTO number;
      END IF;
      SELECT * INTO stored FROM \(schema).enqueue_job(
        number << 2 | CASE WHEN (options->>'requiresNetwork')::boolean THEN 1 ELSE 0 END,
        coalesce((options->>'major')::bigint, 10), coalesce((options->>'minor')::bigint, 10),
        CASE WHEN (options->>'holdsAfterLastAttempt')::boolean THEN 4 ELSE 0 END
          | CASE WHEN options ? 'runAfter' THEN 8 ELSE 0 END,
        CASE WHEN options ? 'maxAttempts' THEN (options->>'maxAttempts')::bigint ELSE 20 END,
        pg_catalog.ceil((options->>'timeout')::numeric * 1000)::bigint,
        pg_catalog.ceil(extract(epoch FROM (options->>'runAt')::timestamptz) * 1000)::bigint,
        pg_catalog.ceil(nullif(greatest((options->>'runAfter')::numeric, 0), 0) * 1000)::bigint,
        coalesce((options->>'startsHeld')::boolean, false), coalesce((options->>'version')::bigint, 1), options->>'backoff',
        options->>'uniqueKey', key_states, coalesce(options->>'whenTaken', 'reject') = 'replace',
        payload, NULL, NULL);
      IF stored.problem = 1 THEN
        RAISE EXCEPTION 'enqueue: job % has the unique key %', stored.other, options->>'uniqueKey'
          USING ERRCODE = '23505';
      END IF;
      IF options->>'dependsOn' IS NOT NULL THEN
        FOR blocked IN SELECT * FROM \(schema).block_job(stored.job,
          ARRAY(SELECT value::bigint FROM pg_catalog.jsonb_array_elements_text(options->'dependsOn')),
          failing, NULL)
        LOOP
          IF blocked.problem IS NOT NULL THEN
            RAISE EXCEPTION 'enqueue: the prerequisite % %', blocked.other,
              CASE blocked.problem WHEN 2 THEN 'is not there'
                ELSE 'is replaced by this job, or waits for it, or would once a replaced one has ended' END
              USING ERRCODE = '22023';
          END IF;
        END LOOP;
      END IF;
      RETURN stored.job;
    END $$;
    """
  }
}
#endif
