#if os(macOS) || os(Linux)
/// The functions that run several dependent statements on the server: in one round trip for the
/// queue, and the same way for programs that enqueue jobs by SQL.
///
/// Jobs are looked up by their numbers, one by one or by an array of them, and their states by
/// subqueries that return one value. Joins, `EXISTS`, which may become a join, and a table in
/// memory read all jobs if the plan was made while there were few.
///
/// Each statement in a function sees what was committed before it began, so a decision comes after
/// the lock that it needs. Locks are taken in one order everywhere: the number of a round, unique
/// keys, prerequisites, the job itself, dependents; each by number.
enum PostgresFunctions {
  static func all(_ schema: SQL) -> SQL {
    """
    \(time(schema))
    \(rounds(schema))
    \(prerequisitesEnded(schema))
    \(handDependentsOn(schema))
    \(attemptsEnded(schema))
    \(removeJobs(schema))
    \(enqueueJob(schema))
    \(blockJob(schema))
    \(retryJob(schema))
    \(deleteJobs(schema))
    \(rescue(schema))
    \(prune(schema))
    \(enqueue(schema))
    """
  }

  /// The functions have settings of their own: plans are kept for the session, and the first call
  /// may come from any session, with any settings, on an empty table.
  static let language: SQL = {
    let settings: [SQL] = PostgresStore.plans.map { "SET \(SQL(stringLiteral: $0)) = off" }
    return "LANGUAGE plpgsql \(searchPath) \(SQL(joining: settings, by: " "))"
  }()

  /// A caller may find the types and operators of other roles before those of the server.
  static let searchPath: SQL = "SET search_path = \(SQL(stringLiteral: PostgresStore.searchPath))"

  // MARK: - Time and rounds

  /// Stable, so that comparisons with it use indexes. The server would parse and plan a function in
  /// SQL with each statement: it inlines none that calls a volatile one.
  private static func time(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).now_ms() RETURNS bigint LANGUAGE plpgsql \(searchPath) STABLE PARALLEL SAFE AS
      $$ BEGIN RETURN (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint; END $$;
    """
  }

  /// Takes the number of a round, and renews the lease when a third of it has gone by.
  private static func rounds(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).begin_round(
      of_worker bigint, of_epoch bigint, expected bigint, lease_ms bigint, moment bigint
    ) RETURNS void \(language) AS $$
    BEGIN
      UPDATE \(schema).rounds SET number = expected + 1
        WHERE worker = of_worker AND epoch = of_epoch AND number = expected;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is not at round %', of_worker, expected USING ERRCODE = 'DQ001';
      END IF;
      moment := coalesce(moment, \(schema).now_ms());
      UPDATE \(schema).workers SET lease_until = moment + lease_ms
        WHERE id = of_worker AND lease_until < moment + lease_ms * 2 / 3;
    END $$;
    """
  }

  // MARK: - Prerequisites

  /// Lets dependents go on, or fail, and theirs in turn. `how`: 0 for done, 1 for failed, 2 for
  /// deleted; `only_dependent`: the dependent in question, or null. Returns the changed jobs:
  /// failed ones with the prerequisite that they failed with.
  private static func prerequisitesEnded(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).prerequisites_ended(ended bigint[], how int, only_dependent bigint, moment bigint)
    RETURNS TABLE (job bigint, job_lane bigint, job_state int, failed_with bigint) \(language) AS $$
    #variable_conflict use_column
    DECLARE
      failed bigint[];
      released record;
      hit record;
    BEGIN
      moment := coalesce(moment, \(schema).now_ms());
      WHILE pg_catalog.cardinality(ended) > 0 LOOP
        PERFORM 1 FROM \(schema).jobs WHERE id = ANY(ARRAY(
          SELECT dependent FROM \(schema).dependencies
          WHERE prerequisite = ANY(ended) AND (only_dependent IS NULL OR dependent = only_dependent)))
        ORDER BY id FOR UPDATE;
        EXIT WHEN NOT FOUND;
        FOR released IN
          WITH gone AS (
            DELETE FROM \(schema).dependencies
            WHERE prerequisite = ANY(ended) AND (only_dependent IS NULL OR dependent = only_dependent)
              AND (how = 0 OR failing = 3)
            RETURNING dependent)
          SELECT dependent, pg_catalog.count(*)::int AS n FROM gone GROUP BY dependent
        LOOP
          UPDATE \(schema).jobs SET blockers = blockers - released.n,
            state = CASE WHEN state <> 2 OR blockers > released.n THEN state WHEN run_at > moment THEN 1 ELSE 0 END,
            run_at = CASE WHEN state <> 2 OR blockers > released.n THEN run_at ELSE greatest(run_at, moment) END
          WHERE id = released.dependent RETURNING id, lane, state INTO job, job_lane, job_state;
          failed_with := NULL;
          RETURN NEXT;
        END LOOP;
        failed := '{}';
        IF how <> 0 THEN
          FOR hit IN
            -- The OFFSET keeps the server from reading an index that has this order already, from one end to the other.
            SELECT DISTINCT ON (dependent) dependent, prerequisite, failing FROM (
              SELECT dependent, prerequisite, failing FROM \(schema).dependencies
              WHERE prerequisite = ANY(ended) AND (only_dependent IS NULL OR dependent = only_dependent)
                AND (how = 2 OR failing IN (1, 2)) OFFSET 0) AS those
            ORDER BY dependent, prerequisite
          LOOP
            UPDATE \(schema).jobs SET finished_at = moment, state = CASE hit.failing WHEN 2 THEN 6 ELSE 5 END,
              error = \(prerequisiteFailed)
            WHERE id = hit.dependent AND state IN (2, 4) RETURNING id, lane, state INTO job, job_lane, job_state;
            CONTINUE WHEN NOT FOUND;
            failed_with := hit.prerequisite;
            failed := failed || job;
            RETURN NEXT;
          END LOOP;
        END IF;
        IF how = 2 THEN
          -- What was deleted will never be done: nobody waits for it any more.
          FOR released IN
            WITH gone AS (
              DELETE FROM \(schema).dependencies
              WHERE prerequisite = ANY(ended) AND (only_dependent IS NULL OR dependent = only_dependent)
              RETURNING dependent)
            SELECT dependent, pg_catalog.count(*)::int AS n FROM gone GROUP BY dependent
          LOOP
            UPDATE \(schema).jobs SET blockers = blockers - released.n WHERE id = released.dependent;
          END LOOP;
        END IF;
        ended := failed;
        how := 1;
        only_dependent := NULL;
      END LOOP;
    END $$;
    """
  }

  /// The text of `JobError`, with the number of the prerequisite.
  private static var prerequisiteFailed: SQL {
    let number = JobID(rawValue: .max)
    let sentence = JobError(.prerequisiteFailed(number)).description
    let text = PostgresStatement.quoted(sentence)
    return "pg_catalog.replace(\(SQL(stringLiteral: text)), '\(number.rawValue)', hit.prerequisite::text)"
  }

  /// Those who wait for a job that was replaced while it executed wait for the one that has its
  /// place.
  private static func handDependentsOn(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).hand_dependents_on(replaced bigint) RETURNS void \(language) AS $$
    #variable_conflict use_column
    DECLARE
      own record;
      heir bigint;
    BEGIN
      SELECT unique_key, lane >> 2 AS kind INTO own FROM \(schema).jobs WHERE id = replaced;
      SELECT id INTO heir FROM \(schema).jobs WHERE unique_key = own.unique_key AND lane >> 2 = own.kind
        AND state IN (0, 1, 2, 3, 4) AND id <> replaced ORDER BY id LIMIT 1 FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN; END IF;
      UPDATE \(schema).dependencies SET prerequisite = heir WHERE prerequisite = replaced AND dependent <> heir
        AND NOT EXISTS (SELECT 1 FROM \(schema).dependencies AS other
          WHERE other.prerequisite = heir AND other.dependent = dependencies.dependent);
      UPDATE \(schema).jobs SET flags = flags | 1 WHERE id = heir;
      -- Those that wait for both are left.
      PERFORM 1 FROM \(schema).jobs WHERE id = ANY(ARRAY(
        SELECT dependent FROM \(schema).dependencies WHERE prerequisite = replaced AND dependent <> heir))
      ORDER BY id FOR UPDATE;
      WITH gone AS (
        DELETE FROM \(schema).dependencies WHERE prerequisite = replaced AND dependent <> heir RETURNING dependent)
      UPDATE \(schema).jobs SET blockers = blockers - 1 WHERE id = ANY(ARRAY(SELECT dependent FROM gone));
    END $$;
    """
  }

  /// After the end of attempts, or of jobs that were cancelled or given up: deletes what was kept
  /// for them, and updates their dependents.
  private static func attemptsEnded(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).attempts_ended(ids bigint[], moment bigint)
    RETURNS TABLE (job bigint, job_lane bigint, job_state int, failed_with bigint) \(language) AS $$
    #variable_conflict use_column
    DECLARE
      replaced bigint;
    BEGIN
      IF EXISTS (SELECT 1 FROM \(schema).checkpoints WHERE job = ANY(ids)) THEN
        DELETE FROM \(schema).checkpoints WHERE job = ANY(ids)
          AND coalesce((SELECT state FROM \(schema).jobs WHERE id = checkpoints.job), 7) = 7;
      END IF;
      IF EXISTS (SELECT 1 FROM \(schema).errors WHERE job = ANY(ids)) THEN
        DELETE FROM \(schema).errors WHERE job = ANY(ids)
          AND ((SELECT state FROM \(schema).jobs WHERE id = errors.job) IS NULL
            OR number <= (SELECT older.number FROM \(schema).errors AS older WHERE older.job = errors.job
              ORDER BY older.number DESC OFFSET 20 LIMIT 1));
      END IF;
      IF NOT EXISTS (SELECT 1 FROM \(schema).dependencies WHERE prerequisite = ANY(ids)) THEN
        RETURN;
      END IF;
      FOR replaced IN SELECT id FROM \(schema).jobs
        WHERE id = ANY(ids) AND state IN (5, 6) AND flags & 32 <> 0 ORDER BY id
      LOOP
        PERFORM \(schema).hand_dependents_on(replaced);
      END LOOP;
      RETURN QUERY SELECT * FROM \(schema).prerequisites_ended(ARRAY(
        SELECT DISTINCT prerequisite FROM \(schema).dependencies WHERE prerequisite = ANY(ids)
          AND coalesce((SELECT state FROM \(schema).jobs WHERE id = prerequisite), 7) = 7), 0, NULL, moment);
      RETURN QUERY SELECT * FROM \(schema).prerequisites_ended(ARRAY(
        SELECT DISTINCT prerequisite FROM \(schema).dependencies WHERE prerequisite = ANY(ids)
          AND (SELECT state FROM \(schema).jobs WHERE id = prerequisite) IN (5, 6)), 1, NULL, moment);
    END $$;
    """
  }

  // MARK: - Deleting

  /// Deletes jobs without dependents.
  private static func removeJobs(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).remove_jobs(ids bigint[]) RETURNS void \(language) AS $$
    BEGIN
      DELETE FROM \(schema).dependencies WHERE dependent = ANY(ids);
      DELETE FROM \(schema).checkpoints WHERE job = ANY(ids);
      DELETE FROM \(schema).errors WHERE job = ANY(ids);
      DELETE FROM \(schema).jobs WHERE id = ANY(ids);
    END $$;
    """
  }

  /// Deletes jobs that are in one of the states, or that have failed because others were deleted.
  /// Returns each deleted job, and each dependent that was changed.
  private static func deleteJobs(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).delete_jobs(ids bigint[], states bigint[], failed bigint[], moment bigint)
    RETURNS TABLE (deleted bigint, job bigint, job_lane bigint, job_state int, failed_with bigint)
    \(language) AS $$
    #variable_conflict use_column
    DECLARE
      one bigint;
      its_state int;
      its_flags int;
    BEGIN
      FOREACH one IN ARRAY ids LOOP
        SELECT state, flags INTO its_state, its_flags FROM \(schema).jobs WHERE id = one FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        CONTINUE WHEN its_state <> ALL(states) AND NOT (its_state IN (5, 6) AND one = ANY(failed));
        IF its_state IN (0, 1, 2, 4) AND its_flags & 32 <> 0 THEN PERFORM \(schema).hand_dependents_on(one); END IF;
        FOR job, job_lane, job_state, failed_with IN SELECT * FROM \(schema).prerequisites_ended(
          ARRAY[one], CASE WHEN its_state = 7 THEN 0 ELSE 2 END, NULL, moment)
        LOOP
          IF failed_with IS NOT NULL THEN failed := failed || job; END IF;
          RETURN NEXT;
        END LOOP;
        PERFORM \(schema).remove_jobs(ARRAY[one]);
        job := NULL; job_lane := NULL; job_state := NULL; failed_with := NULL;
        deleted := one;
        RETURN NEXT;
        deleted := NULL;
      END LOOP;
    END $$;
    """
  }

  /// Deletes a batch of jobs that ended before a time, except those with dependents: they may be
  /// retried. Returns whether there may be more, and up to which time there are no others.
  private static func prune(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).prune(finished_from bigint, finished_before bigint, most int)
    RETURNS TABLE (may_have_more boolean, reached bigint) \(language) AS $$
    DECLARE
      ids bigint[];
    BEGIN
      ids := ARRAY(SELECT id FROM \(schema).jobs
        WHERE state IN (5, 7) AND finished_at >= finished_from AND finished_at < finished_before
          AND (flags & 1 = 0 OR (SELECT dependent FROM \(schema).dependencies WHERE prerequisite = id LIMIT 1) IS NULL)
        ORDER BY finished_at LIMIT most FOR UPDATE SKIP LOCKED);
      may_have_more := pg_catalog.cardinality(ids) = most;
      reached := CASE WHEN may_have_more THEN (SELECT finished_at FROM \(schema).jobs WHERE id = ids[most])
        ELSE finished_before END;
      -- Once more, now that nobody can make one of them a prerequisite.
      ids := ARRAY(SELECT id FROM pg_catalog.unnest(ids) AS id
        WHERE (SELECT dependent FROM \(schema).dependencies WHERE prerequisite = id LIMIT 1) IS NULL);
      PERFORM \(schema).remove_jobs(ids);
      RETURN NEXT;
    END $$;
    """
  }

  // MARK: - Retrying

  /// Makes a job run at once, with all its attempts before it, if it is in one of the states.
  /// `problem`: 1 if another job has its key; 2 if it is in another state, or does not exist.
  private static func retryJob(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).retry_job(of_job bigint, states bigint[], moment bigint)
    RETURNS TABLE (problem int, other bigint) \(language) AS $$
    #variable_conflict use_column
    DECLARE
      found_job record;
    BEGIN
      SELECT unique_key, lane >> 2 AS kind INTO found_job FROM \(schema).jobs WHERE id = of_job;
      IF found_job.unique_key IS NOT NULL THEN
        PERFORM \(schema).lock_key(found_job.kind, found_job.unique_key);
      END IF;
      SELECT unique_key, lane >> 2 AS kind, state INTO found_job FROM \(schema).jobs WHERE id = of_job FOR UPDATE;
      IF NOT FOUND OR found_job.state <> ALL(states) THEN
        problem := 2;
      ELSIF found_job.state IN (5, 6) AND found_job.unique_key IS NOT NULL THEN
        SELECT id INTO other FROM \(schema).jobs WHERE unique_key = found_job.unique_key AND lane >> 2 = found_job.kind
          AND state IN (0, 1, 2, 3, 4) ORDER BY id LIMIT 1;
        IF FOUND THEN problem := 1; END IF;
      END IF;
      IF problem IS NULL THEN
        UPDATE \(schema).jobs SET state = CASE WHEN blockers > 0 THEN 2 ELSE 0 END, attempts = 0, crashes = 0, lapses = 0,
          run_at = coalesce(moment, \(schema).now_ms()), lane = lane & ~2, finished_at = NULL,
          flags = flags & ~(CASE WHEN state IN (5, 6) THEN 34 ELSE 2 END) | 8
          WHERE id = of_job;
      END IF;
      RETURN NEXT;
    END $$;
    """
  }

  // MARK: - Workers

  /// Takes the jobs of a lost worker, which then wait again. `how`: 0 if it crashed, 1 if its lease
  /// ran out, 2 if it stood still; `expected`: its lease as it was seen, null for a worker that is
  /// gone. Returns nothing if a round of it is under way, if it has come back, or if another
  /// process was faster.
  ///
  /// It waits for no lock: jobs that a transaction of the worker has locked are taken later, when
  /// that has ended. The worker counts no more rounds, and stays until then.
  private static func rescue(_ schema: SQL) -> SQL {
    """
    CREATE FUNCTION \(schema).rescue(of_worker bigint, expected bigint, how int, most bigint, moment bigint)
    RETURNS TABLE (job bigint, job_lane bigint, job_state int, job_flags int, losses bigint) \(language) AS $$
    #variable_conflict use_column
    BEGIN
      IF expected IS NULL THEN
        IF EXISTS (SELECT 1 FROM \(schema).workers WHERE id = of_worker) THEN RETURN; END IF;
      ELSE
        PERFORM 1 FROM \(schema).rounds WHERE worker = of_worker FOR UPDATE SKIP LOCKED;
        IF NOT FOUND AND EXISTS (SELECT 1 FROM \(schema).rounds WHERE worker = of_worker) THEN RETURN; END IF;
        PERFORM 1 FROM \(schema).workers WHERE id = of_worker AND lease_until = expected FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN RETURN; END IF;
      END IF;
      RETURN QUERY SELECT * FROM \(schema).take_jobs(of_worker, how, most, ARRAY(
        SELECT id FROM \(schema).jobs WHERE state = 3 AND worker = of_worker ORDER BY id FOR UPDATE SKIP LOCKED), moment);
      DELETE FROM \(schema).rounds WHERE worker = of_worker;
      DELETE FROM \(schema).workers WHERE id = of_worker
        AND NOT EXISTS (SELECT 1 FROM \(schema).jobs WHERE state = 3 AND worker = of_worker);
      -- Another transaction has a job of it locked. A statement that waits for the row of the worker sees by this that it is lost;
      -- its subqueries were read before the wait.
      UPDATE \(schema).workers SET lease_until = 0 WHERE id = of_worker;
    END $$;
    CREATE FUNCTION \(schema).take_jobs(of_worker bigint, how int, most bigint, ids bigint[], moment bigint)
    RETURNS TABLE (job bigint, job_lane bigint, job_state int, job_flags int, losses bigint) \(language) AS $$
    #variable_conflict use_column
    BEGIN
      moment := coalesce(moment, \(schema).now_ms());
      -- One that its process did not wait for any more is charged with nothing.
      RETURN QUERY UPDATE \(schema).jobs SET worker = NULL, flags = flags & ~130,
        crashes = crashes + CASE WHEN how = 0 AND flags & 128 = 0 THEN 1 ELSE 0 END,
        lapses = lapses + CASE WHEN how = 1 AND flags & 128 = 0 THEN 1 ELSE 0 END,
        -- The second time in a row that a lease ran out it may have been the job that ended its process.
        lane = CASE WHEN flags & 128 = 0 AND (how = 0 OR how = 1 AND lapses > 0) THEN lane | 2 ELSE lane END,
        state = CASE WHEN flags & 2 <> 0 THEN 5
          WHEN flags & 128 = 0 AND (how = 0 AND crashes + 1 >= most OR how = 1 AND lapses + 1 >= most) THEN 6 ELSE 0 END,
        finished_at = CASE WHEN flags & 2 <> 0 OR flags & 128 = 0
          AND (how = 0 AND crashes + 1 >= most OR how = 1 AND lapses + 1 >= most) THEN moment END
        WHERE id = ANY(ids) AND state = 3 AND worker = of_worker
        RETURNING id, lane, state::int, flags, CASE how WHEN 1 THEN lapses ELSE crashes END::bigint;
    END $$;
    """
  }

  /// The name of the schema as a text.
  static func name(_ schema: SQL) -> SQL {
    // Unquotes the name: removes the outer quotes, and halves those inside.
    let name = schema.text.dropFirst().dropLast().replacing("\"\"", with: "\"")
    return SQL(stringLiteral: PostgresStatement.quoted(String(name)))
  }
}
#endif
