import CompositeOperationsCommandLine
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// The queue that a command line means.
@Suite(.timeLimit(.minutes(30))) struct PlaceTests {
  private func place(_ arguments: String..., usual: String? = nil) throws -> QueuePlace? {
    let environment = usual.map { ["DURABLE_QUEUE": $0] } ?? [:]
    guard case .run(let request) = try OptionParser.parse(arguments, environment: environment) else { return nil }
    return request.place
  }

  @Test(arguments: ["postgresql://app@db/shop", "postgres://app:x%20y@db/shop?sslmode=require"])
  func url_isAServer(_ url: String) throws {
    #expect(try place("stats", url) == .server(url: url, schema: "durable"))
    #expect(try place("stats", url, "--schema", "My \"jobs\"") == .server(url: url, schema: "My \"jobs\""))
    #expect(try place("show", url, "7") == .server(url: url, schema: "durable"))
  }

  @Test func schemeInCapitals_isTheSame() throws {
    #expect(
      try place("stats", "PostgreSQL://App@db/Shop") == .server(url: "postgresql://App@db/Shop", schema: "durable"))
  }

  @Test(arguments: ["jobs.sqlite", "./postgresql/jobs", "/a b/c://d", "7"]) func anythingElse_isAFile(_ path: String)
    throws
  {
    #expect(try place("stats", path) == .file(path))
  }

  @Test func dash_andNothing_areThePlaceOfTheEnvironment() throws {
    let usual = "postgresql://app@db/shop"
    let server = QueuePlace.server(url: usual, schema: "durable")
    #expect(try place("stats", usual: usual) == server)
    #expect(try place("stats", "-", usual: usual) == server)
    #expect(try place("list", "--state", "dead", usual: usual) == server)
    #expect(try place("retry", "--all-dead", usual: usual) == server)
    #expect(try place("show", "-", "7", usual: usual) == server)
    #expect(try place("stats", "--schema", "jobs", usual: usual) == .server(url: usual, schema: "jobs"))
    #expect(try place("stats", usual: "jobs.sqlite") == .file("jobs.sqlite"))
    // What is given wins.
    #expect(try place("stats", "other.sqlite", usual: usual) == .file("other.sqlite"))
  }

  @Test func wordWithoutAPlace_isToldOfTheDash() {
    let environment = ["DURABLE_QUEUE": "jobs.sqlite"]
    let remedy = "behind the place, which is - for the one in $DURABLE_QUEUE, for example: durable-queue"
    for arguments in [["show", "7"], ["pause", "mail"], ["unschedule", "nightly"]] {
      let ran = tool(arguments, environment: environment)
      #expect(ran.status == 64 && ran.errors.contains(remedy), "\(ran)")
    }
  }

  @Test func emptyVariable_isNone() {
    let ran = tool("stats", environment: ["DURABLE_QUEUE": ""])
    #expect(ran.status == 64 && ran.errors.contains("$DURABLE_QUEUE is not set"), "\(ran)")
  }

  @Test func placeOfTheEnvironment_isUsed() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let environment = ["DURABLE_QUEUE": sample.path]
    #expect(tool("stats", environment: environment).output == tool("stats", sample.path).output)
    let dead = try #require(ids[.dead])
    #expect(tool("show", "-", "\(dead)", environment: environment).output.contains("dead"))
    #expect(tool("delete", "-", "\(dead)", environment: environment).status == 0)
    #expect(try await sample.queue().job(dead) == nil)
  }

  @Test(arguments: [
    ("postgresql://app:se%cret@db/shop", "postgresql://app:********@db/shop"),
    ("postgres://:secret@db,other:5433/shop", "postgres://:********@db,other:5433/shop"),
    // Not encoded, as it has to be.
    ("postgresql://app:se@cret/x?y@db/shop", "postgresql://app:********@db/shop"),
    ("postgresql://app:se\ncret@db/shop", "postgresql://app:********@db/shop"),
    ("--state=postgresql://app:secret@db/shop", "--state=postgresql://app:********@db/shop"),
    (
      "postgresql://app@db/shop?sslmode=require&password=secret",
      "postgresql://app@db/shop?sslmode=require&password=********"
    ),
    (
      "postgresql://db?pass%77ord=secret&sslpassword=secret", "postgresql://db?pass%77ord=********&sslpassword=********"
    ),
    ("host=db password=secret", "host=db password=********"),
    ("host=db password = 'sec ret' dbname=shop", "host=db password = ******** dbname=shop"),
    (
      "dbname=postgresql://app@db/shop?sslmode=require&password=secret",
      "dbname=postgresql://app@db/shop?sslmode=require&password=********"
    ),
    (
      "port=5432 postgresql://app:pw@db/x?sslmode=a&password=secret",
      "port=5432 postgresql://app:********@db/x?sslmode=a&password=********"
    ),
    (
      "dbname='postgresql://app@db/shop?sslmode=require&password=secret'",
      "dbname='postgresql://app@db/shop?sslmode=require&password=********'"
    ),
    ("dbname='postgresql://app@db/x?password=sec ret'", "dbname='postgresql://app@db/x?password=********'"),
    (#"dbname='postgresql://app@db/x?password=se\'cret'"#, "dbname='postgresql://app@db/x?password=********'"),
    ("host=db\u{A0}password=secret", "host=db\u{A0}password=********"),
    ("host=db password=p&ss dbname=shop", "host=db password=******** dbname=shop"),
    (#"host=db password='a\'sec ret' dbname=shop"#, "host=db password=******** dbname=shop"),
    (#"host=db password='sec ret\\' dbname=shop"#, "host=db password=******** dbname=shop"),
    (#"host=db password=sec\ ret dbname=shop"#, "host=db password=******** dbname=shop"),
    ("host=db password=sec\u{A0}ret dbname=shop", "host=db password=******** dbname=shop"),
    ("host=db password='\u{301}sec ret' dbname=shop", "host=db password=******** dbname=shop"),
    ("host=db password='a://b sec ret' dbname=shop", "host=db password=******** dbname=shop"),
    ("host=db user='a://b password=c' dbname=shop", "host=db user='a://b password=c' dbname=shop"),
    ("postgresql://app:\u{301}secret@db/shop", "postgresql://app:********@db/shop"),
    ("postgresql://app@/shop?host=/tmp/x&port=5433", "postgresql://app@/shop?host=/tmp/x&port=5433"),
    ("postgresql://db:5433/shop", "postgresql://db:5433/shop"), ("jobs.sqlite", "jobs.sqlite"),
    ("reset password=now", "reset password=now"),
  ])
  func password_isHidden_andNothingElse(_ argument: String, _ shown: String) {
    #expect(HiddenPassword.hiding(in: argument) == shown)
  }
}
