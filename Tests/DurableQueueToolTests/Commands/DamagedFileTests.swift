#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// Whatever a file is and contains, reading commands report it, and never trap.
@Suite(.timeLimit(.minutes(30))) struct DamagedFileTests {
  private static let commands = [
    ["list"], ["list", "--state", "waiting,dead", "--kind", "mail"], ["stats"], ["stats", "--json"], ["periodic"],
    ["periodic", "--json"], ["export"], ["show", "1", "2", "3", "4", "5", "6", "7"],
  ]

  /// Runs all commands that read a file. Returns the errors of those that failed.
  @discardableResult
  private func look(at path: String, _ comment: String = "") -> [String] {
    Self.commands.compactMap { command in
      let ran = tool([command[0], path] + command.dropFirst())
      #expect(ran.status == 0 || ran.status == 1, "\(comment) \(command)")
      #expect(ran.status == 0 || !ran.errors.isEmpty, "\(comment) \(command) \(ran.errors)")
      if ran.status == 0 { return nil }
      for line in ran.errors.split(separator: "\n") where !line.contains("There is no job #") {
        #expect(line.contains(path), "\(comment) \(command) \(line)")
      }
      return ran.errors
    }
  }

  /// A file with rows in all tables.
  private func sample() async throws -> Sample {
    let (sample, _) = try await Sample.withJobs()
    let queue = try sample.queue()
    try await queue.schedule(Mail(to: "all"), named: "nightly", try .cron("30 2 * * *", timeZone: .gmt), catchUp: .all)
    try await queue.schedule(Resize(width: 1), named: "often", .interval(.seconds(90)))
    try await queue.pause(kind: "resize")
    try await queue.enqueue(
      contentsOf: (0..<60).map { Mail(to: String(repeating: "\($0) ", count: 40)) },
      options: JobOptions(priority: .low, timeout: .seconds(5), requiresNetwork: true))
    try await queue.transaction { db in
      try db.execute("INSERT INTO durable_checkpoints (job, data) VALUES (1, x'7b7d')")
      try db.execute("INSERT INTO durable_occurrences (name, first, last) VALUES ('often', 1, 90001)")
      try db.execute("UPDATE durable_jobs SET flags = flags | 16 WHERE id = 1")
    }
    return sample
  }

  /// The bytes of a file that no program has open.
  private func bytes(of sample: Sample) async throws -> [UInt8] {
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    return try bytes(sample.path)
  }

  private func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

  /// Changes some bytes, mostly those on which the rest of their page depends.
  private func damage(_ bytes: inout [UInt8], _ random: inout SeededRandomNumberGenerator) {
    let start = random.chance(50) ? 4096 * random.number(0...bytes.count / 4096 - 1) : 0
    for _ in 0..<random.number(1...8) {
      let place =
        switch random.number(0...2) {
        case 0: start + random.number(0...99)
        case 1: start + random.number(0...4095)
        default: random.number(0...bytes.count - 1)
        }
      bytes[place] = UInt8(random.number(0...255))
    }
  }

  @Test func damagedBytes_areAnErrorAtMost() async throws {
    let sample = try await sample()
    let good = try await bytes(of: sample)
    #expect(look(at: sample.path) == [])
    let queue = try sample.queue()
    for number in 0..<30 { try await queue.enqueue(Mail(to: "\(number) in the log")) }
    let log = try bytes(sample.path + "-wal")
    let file = sample.folder.appendingPathComponent("damaged.sqlite")
    var random = SeededRandomNumberGenerator(seed: 77)
    var failed = 0
    for round in 0..<Scale.count(300, least: 60) {
      var (bytes, logBytes) = (good, log)
      let isLogDamaged = round % 4 == 3
      if isLogDamaged { damage(&logBytes, &random) } else { damage(&bytes, &random) }
      try Data(bytes).write(to: file)
      if isLogDamaged { try Data(logBytes).write(to: URL(fileURLWithPath: file.path + "-wal")) }
      if !look(at: file.path, "round \(round)").isEmpty { failed += 1 }
      for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) }
    }
    #expect(failed > 0)
    withExtendedLifetime(queue) {}
  }

  /// SQLite then returns rows whose numbers begin anew: page after page of a list, without an end.
  @Test func pageThatSaysMoreRowsThanItHas_isAnErrorAtMost() async throws {
    let sample = try await sample()
    let good = try await bytes(of: sample)
    let file = sample.folder.appendingPathComponent("damaged.sqlite")
    var errors: [String] = []
    // Those of rows begin with a 13; two bytes at 3 are their number.
    for start in stride(from: 4096, to: good.count, by: 4096) where good[start] == 13 {
      var bytes = good
      bytes[start + 4] = 110
      try Data(bytes).write(to: file)
      errors += look(at: file.path, "page \(start / 4096 + 1)")
    }
    #expect(errors.contains { $0.contains("not in the order of their numbers") }, "\(errors)")
  }

  @Test func truncatedFile_isAnErrorAtMost() async throws {
    let sample = try await sample()
    let good = try await bytes(of: sample)
    let file = sample.folder.appendingPathComponent("short.sqlite")
    for count in [1, 15, 16, 99, 100, 511, 1000, 4095, 4096, 4097, 8192, good.count / 2] {
      try Data(good.prefix(count)).write(to: file)
      #expect(!look(at: file.path, "\(count) bytes").isEmpty)
      for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) }
    }
  }

  @Test(arguments: ["durable_jobs", "durable_kinds", "durable_periodic", "durable_dependencies", "durable_checkpoints"])
  func valuesThatThereCanNotBe_areAnErrorAtMost(_ table: String) async throws {
    let sample = try await sample()
    let queue = try sample.queue()
    let columns = try await queue.transaction { try $0.execute("PRAGMA table_info(\(table))") }.compactMap(
      \.["name"].textValue)
    #expect(!columns.isEmpty)
    let values = [
      "9223372036854775807", "-9223372036854775808", "-1", "1e308", "'x'", "''", "'{}'", "'[1e999]'", "x'ff00fe'",
    ]
    for (place, column) in columns.enumerated() {
      for (number, value) in values.enumerated() where Scale.includes(place * values.count + number, oneIn: 4) {
        do {
          try await queue.transaction { db in
            try db.execute("CREATE TABLE saved AS SELECT * FROM \(table)")
            try db.execute("UPDATE OR IGNORE \(table) SET \(column) = \(value)")
          }
        } catch let error as DatabaseError {
          // A number of a row takes no text.
          #expect(error.message.contains("mismatch"), "\(error)")
          continue
        }
        look(at: sample.path, "\(table).\(column) = \(value)")
        try await queue.transaction { db in
          try db.execute("DELETE FROM \(table)")
          try db.execute("INSERT INTO \(table) SELECT * FROM saved")
          try db.execute("DROP TABLE saved")
        }
      }
    }
    #expect(look(at: sample.path) == [])
  }

  @Test func whatIsNoQueue_isAnError() async throws {
    let sample = try Sample()
    let path = sample.path
    let file = URL(fileURLWithPath: path)
    func expectFailure(_ what: String) throws {
      #expect(look(at: path, what).count == Self.commands.count, "\(what)")
      try FileManager.default.removeItem(at: file)
      #expect(try FileManager.default.contentsOfDirectory(atPath: sample.folder.path) == [], "\(what)")
    }
    for text in ["", "x", "This is a letter, and no database.\n", String(repeating: "text\n", count: 4000)] {
      try Data(text.utf8).write(to: file)
      try expectFailure("a text of \(text.count)")
    }
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    try expectFailure("a folder")
    #expect(mkfifo(path, 0o600) == 0)
    try expectFailure("a pipe with a name")
    // A database of another program.
    let other = try Sample()
    let queue = try other.queue()
    try await queue.transaction { db in
      for table in try db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'durable%'") {
        try db.execute("DROP TABLE \(table[0].textValue ?? "")")
      }
      try db.execute("CREATE TABLE notes (text TEXT)")
    }
    #expect(look(at: other.path, "another program").count == Self.commands.count)
    withExtendedLifetime(queue) {}
  }
}
#endif
