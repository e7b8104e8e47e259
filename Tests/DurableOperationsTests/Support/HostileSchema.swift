#if os(macOS) || os(Linux)
import Foundation
import TestSupport

@testable import DurableOperations

/// A database in which another role has put a trap of its own in the place of each function,
/// operator, type and table of the server that a statement could mean.
struct HostileSchema {
  let server: PostgresServer
  let database: String
  /// The role of the queue.
  let owner: String
  /// A role that may use the queue, and no more.
  let user: String
  let options = PostgresOptions(statementTimeout: .seconds(1200))

  /// - Parameter path: where statements of the two roles look names up.
  init(path: String) async throws {
    let server = try await PostgresServer.shared
    let database = try await server.makeDatabase()
    let (owner, user, intruder) = ("owner_\(database)", "user_\(database)", "intruder_\(database)")
    (self.server, self.database, self.owner, self.user) = (server, database, owner, user)
    try server.query(
      """
      CREATE ROLE \(owner) LOGIN; CREATE ROLE \(user) LOGIN; CREATE ROLE \(intruder) LOGIN;
      GRANT CREATE ON DATABASE \(database) TO \(owner);
      ALTER ROLE \(owner) SET search_path = \(path);
      ALTER ROLE \(user) SET search_path = \(path);
      GRANT CREATE ON SCHEMA public TO \(intruder);
      SET SESSION AUTHORIZATION \(intruder);
      \(Self.traps)
      """, in: database)
  }

  var location: DurableQueue.Location { .postgres(server.url(database, role: owner), options) }

  /// Runs SQL as a role, which looks names up as it does.
  @discardableResult
  func query(_ sql: String, as role: String, path: String) throws -> String {
    try server.query("SET SESSION AUTHORIZATION \(role); SET search_path = \(path); \(sql)", in: database)
  }

  /// Lets the other role use the queue.
  func grant() throws {
    try server.query(PostgresMigration.grants(schema: options.schema, role: user).joined(separator: " "), in: database)
  }

  /// How many traps have sprung: by a number that no rollback takes back.
  func sprung() throws -> String {
    try server.query("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.sprung", in: database)
  }

  private static let traps = #"""
    SET search_path = pg_catalog;
    CREATE SEQUENCE public.sprung;
    GRANT USAGE ON SEQUENCE public.sprung TO PUBLIC;
    CREATE FUNCTION public.spring(what text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
      -- A sequence keeps its number whatever becomes of the transaction.
      PERFORM pg_catalog.nextval('public.sprung'::pg_catalog.regclass);
      RAISE EXCEPTION 'sprung by %: %', current_user, what;
    END $$;
    DO $$
    DECLARE
      plain oid[] := ARRAY['int2', 'int4', 'int8', 'text', 'name', 'bool', 'numeric', 'float8', 'json', 'jsonb', 'xid', 'oid',
        'timestamptz', 'interval', 'regclass', 'regnamespace', '"char"', 'bytea', '_int8', '_text', '_bool']::regtype[]::oid[];
      numbers regtype[] := ARRAY['int2', 'int4', 'int8', 'numeric', 'float8', 'oid', 'interval'];
      found record;
      n int := 0;
      type_name text;
    BEGIN
      -- The server's own functions, and some that fit better.
      FOR found IN
        SELECT p.proname AS name, pg_get_function_identity_arguments(p.oid) AS args,
          CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || format_type(p.prorettype, NULL) AS result
        FROM pg_proc AS p JOIN pg_type AS r ON r.oid = p.prorettype
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind <> 'p' AND p.provariadic = 0
          AND p.proargtypes::oid[] <@ plain AND (r.typtype <> 'p' OR r.typname = 'void')
        UNION ALL SELECT * FROM (VALUES
          ('array_position', 'bigint[], bigint', 'int'), ('array_position', 'text[], text', 'int'),
          ('cardinality', 'bigint[]', 'int'), ('unnest', 'bigint[]', 'SETOF bigint'), ('unnest', 'text[]', 'SETOF text'),
          ('unnest', 'boolean[]', 'SETOF boolean'), ('unnest', 'json[]', 'SETOF json'),
          ('hashtextextended', 'text, int', 'bigint'), ('pg_terminate_backend', 'int', 'boolean')) AS better
      LOOP
        BEGIN
          EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', found.name, found.args,
            found.result, format('BEGIN PERFORM public.spring(%L); END', found.name));
        EXCEPTION WHEN others THEN NULL; END;
      END LOOP;
      FOR found IN
        SELECT o.oprname AS name, NULLIF(o.oprleft, 0)::regtype AS l, o.oprright::regtype AS r,
          o.oprresult::regtype AS result
        FROM pg_operator AS o JOIN pg_type AS t ON t.oid = o.oprresult
        WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft = ANY(plain || 0::oid)
          AND o.oprright = ANY(plain) AND t.typtype <> 'p'
        UNION ALL SELECT name, l, r, 'boolean'
          FROM unnest(ARRAY['=', '<>', '<', '>', '<=', '>=']) AS name, unnest(numbers) AS l, unnest(numbers) AS r
        UNION ALL SELECT name, l, r, CASE WHEN r = 'interval'::regtype THEN r ELSE l END
          FROM unnest(ARRAY['+', '-', '*', '/', '%', '&', '|', '<<', '>>']) AS name, unnest(numbers) AS l,
            unnest(numbers) AS r
        UNION ALL SELECT name, l::regtype, r::regtype, 'boolean' FROM unnest(ARRAY['=', '<>']) AS name,
          (VALUES ('oid', 'regclass'), ('oid', 'regnamespace'), ('_int8', '_int8'), ('name', 'text'),
            ('"char"', 'text')) AS pairs (l, r)
        UNION ALL SELECT '||', l::regtype, r::regtype, result::regtype FROM
          (VALUES ('_int8', 'int8', '_int8'), ('int8', '_int8', '_int8'), ('_int8', '_int8', '_int8'),
            ('text', 'int8', 'text')) AS pairs (l, r, result)
      LOOP
        BEGIN
          n := n + 1;
          EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', 'trap_' || n,
            concat_ws(', ', found.l, found.r), found.result, format('BEGIN PERFORM public.spring(%L); END', concat_ws(' ', found.l, found.name, found.r)));
          EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.%I%s, RIGHTARG = %s)', found.name, 'trap_' || n,
            ', LEFTARG = ' || found.l, found.r);
        EXCEPTION WHEN others THEN NULL; END;
      END LOOP;
      FOREACH type_name IN ARRAY ARRAY['text', 'json', 'jsonb', 'float8', 'bytea', 'xid', 'timestamptz', 'regclass',
        'regnamespace', 'oid', 'name']
      LOOP
        EXECUTE format('CREATE DOMAIN public.%I AS pg_catalog.%1$I CHECK (public.spring(%L))', type_name,
          'type ' || type_name);
      END LOOP;
      FOR found IN
        SELECT relname AS name FROM pg_class
        WHERE relnamespace = 'pg_catalog'::regnamespace AND relname ~ '^pg_' AND relkind IN ('r', 'v')
      LOOP
        BEGIN
          EXECUTE format('CREATE VIEW public.%I AS SELECT * FROM pg_catalog.%1$I WHERE public.spring(%L)', found.name,
            'relation ' || found.name);
          EXECUTE format('GRANT SELECT ON public.%I TO PUBLIC', found.name);
        EXCEPTION WHEN others THEN NULL; END;
      END LOOP;
    END $$;
    """#
}
#endif
