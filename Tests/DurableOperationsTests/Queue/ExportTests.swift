import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite struct ExportTests {
  private static func record(
    _ change: (inout Fields) -> Void = { _ in }
  ) -> JobRecord {
    var fields = Fields()
    change(&fields)
    return fields.record
  }

  /// The fields of a record, to be changed.
  private struct Fields {
    var id: Int64 = 7, kind = "mail", state = JobState.waiting, major = 10, minor = 10, attempts = 0
    var maxAttempts: Int?, crashes = 0, lapses = 0, lastError: String?, failures: [JobRecord.Failure] = []
    var enqueuedAt = Date(timeIntervalSince1970: 1_800_000_000.25)
    var runAt: Date?, startedAt: Date?, finishedAt: Date?
    var requiresNetwork = false, timeout: Duration?, uniqueKey: String?, unmet = 0, prerequisites: [Int64] = []
    var isCancelRequested = false, holds = false, checkpointSize: Int?, version = 1, payload = Data("{}".utf8)

    var record: JobRecord {
      JobRecord(
        id: JobID(rawValue: id), kind: kind, state: state, priority: JobPriority(major: major, minor: minor),
        attempts: attempts, maxAttempts: maxAttempts, crashes: crashes, lapses: lapses, lastError: lastError,
        failures: failures, enqueuedAt: enqueuedAt,
        runAt: runAt, startedAt: startedAt, finishedAt: finishedAt, requiresNetwork: requiresNetwork, timeout: timeout,
        uniqueKey: uniqueKey, unmetPrerequisites: unmet, prerequisites: prerequisites.map(JobID.init),
        isCancelRequested: isCancelRequested, holdsAfterLastAttempt: holds, checkpointSize: checkpointSize,
        version: version, payload: payload)
    }
  }

  // MARK: - What versions before have written, and what there is since

  private static let full = record {
    $0.state = .dead
    ($0.major, $0.minor, $0.attempts, $0.maxAttempts, $0.crashes) = (-3, 200, 5, 5, 1)
    $0.lastError = "no “mail”\n\tto \"ada\" \\ a/b \u{1}\u{8}\u{C}\r\u{1B}[2J \u{7F}\u{9B}\u{202E}\u{2028}\u{FEFF} é 👩‍👧"
    $0.runAt = Date(timeIntervalSince1970: -0.001)
    $0.startedAt = Date(timeIntervalSince1970: 951_782_399.9996)
    $0.finishedAt = Date(timeIntervalSince1970: 4_107_542_400)
    ($0.requiresNetwork, $0.isCancelRequested, $0.holds) = (true, true, true)
    ($0.timeout, $0.uniqueKey, $0.unmet, $0.prerequisites) = (.milliseconds(1500), "k/1", 2, [1, 2])
    ($0.checkpointSize, $0.version) = (12, 3)
    $0.lapses = 4
    $0.failures = [
      JobRecord.Failure(
        attempt: 1, failedAt: Date(timeIntervalSince1970: 1_800_000_001), error: "no “mail”\n\u{1B}[2J"),
      JobRecord.Failure(attempt: 2, failedAt: Date(timeIntervalSince1970: 1_800_000_002.5), error: ""),
    ]
    $0.payload = Data(#"{"a": [1, 2.50, 1e3, -0],"#.utf8) + Data("\r\n".utf8) + Data(#" "b": "é \u0001"}"#.utf8)
  }

  private static let golden: [(JobRecord, String)] = [
    (
      record(),
      #"{"attempts":0,"cancelRequested":false,"crashes":0,"enqueuedAt":"2027-01-15T08:00:00.250Z","#
        + #""holdsAfterLastAttempt":false,"id":7,"kind":"mail","lapses":0,"majorPriority":10,"minorPriority":10,"#
        + #""requiresNetwork":false,"state":"waiting","unmetPrerequisites":0,"version":1,"payload":{}}"#
    ),
    (
      full,
      #"{"attempts":5,"cancelRequested":true,"checkpointSize":12,"crashes":1,"enqueuedAt":"2027-01-15T08:00:00.250Z","#
        + #""failures":[{"at":"2027-01-15T08:00:01.000Z","attempt":1,"error":"no “mail”\n\u001b[2J"},"#
        + #"{"at":"2027-01-15T08:00:02.500Z","attempt":2,"error":""}],"#
        + #""finishedAt":"2100-03-01T00:00:00.000Z","holdsAfterLastAttempt":true,"id":7,"kind":"mail","lapses":4,"#
        + #""lastError":"no “mail”\n\tto \"ada\" \\ a/b \u0001\b\f\r\u001b[2J \u007f\u009b\u202e\u2028\ufeff é 👩‍👧","#
        + #""majorPriority":-3,"maxAttempts":5,"minorPriority":200,"prerequisites":[1,2],"requiresNetwork":true,"#
        + #""runAt":"1969-12-31T23:59:59.999Z","startedAt":"2000-02-29T00:00:00.000Z","state":"dead","timeout":1.5,"#
        + #""uniqueKey":"k/1","unmetPrerequisites":2,"version":3,"#
        + #""payload":{"a": [1, 2.50, 1e3, -0],   "b": "é \u0001"}}"#
    ),
  ]

  @Test(arguments: golden.indices) func record_givesTheLineOfBefore(_ index: Int) throws {
    let (record, line) = Self.golden[index]
    #expect(record.jsonLine == line)
    #expect(try Self.reference(record) == line)
  }

  // MARK: - Against Foundation

  /// The line as `JSONSerialization` and `Date.formatted` make it.
  private static func reference(_ record: JobRecord) throws -> String {
    var object: [String: Any] = [
      "id": record.id.rawValue, "kind": record.kind, "state": record.state.description,
      "majorPriority": record.priority.major, "minorPriority": record.priority.minor, "attempts": record.attempts,
      "crashes": record.crashes, "lapses": record.lapses, "requiresNetwork": record.requiresNetwork,
      "unmetPrerequisites": record.unmetPrerequisites, "cancelRequested": record.isCancelRequested,
      "version": record.version, "holdsAfterLastAttempt": record.holdsAfterLastAttempt,
      "enqueuedAt": text(of: record.enqueuedAt),
    ]
    object["maxAttempts"] = record.maxAttempts
    object["lastError"] = record.lastError
    if !record.failures.isEmpty {
      object["failures"] = record.failures.map {
        ["at": text(of: $0.failedAt), "attempt": $0.attempt, "error": $0.error] as [String: Any]
      }
    }
    object["runAt"] = record.runAt.map(text)
    object["startedAt"] = record.startedAt.map(text)
    object["finishedAt"] = record.finishedAt.map(text)
    object["timeout"] = record.timeout.map { $0 / .seconds(1) }
    object["uniqueKey"] = record.uniqueKey
    if !record.prerequisites.isEmpty { object["prerequisites"] = record.prerequisites.map(\.rawValue) }
    object["checkpointSize"] = record.checkpointSize
    let payload = String(validating: record.payload, as: UTF8.self)
    let isJSON =
      payload != nil && (try? JSONSerialization.jsonObject(with: record.payload, options: .fragmentsAllowed)) != nil
    if !isJSON { object["payloadBase64"] = record.payload.base64EncodedString() }
    let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    var line = String(decoding: data, as: UTF8.self)
    if isJSON, let payload {
      line.removeLast()
      line += ",\"payload\":"
      line.unicodeScalars.append(contentsOf: payload.unicodeScalars.map { ["\n", "\r", "\t"].contains($0) ? " " : $0 })
      line += "}"
    }
    return line.unicodeScalars.reduce(into: "") { text, scalar in
      if HarmlessText.isEscapedInJSON(scalar) {
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  private static func text(of date: Date) -> String {
    let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
    let seconds = Int64((Double(milliseconds) / 1000).rounded(.down))
    let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    return "\(whole.dropLast()).\(String(1000 + milliseconds - seconds * 1000).dropFirst())Z"
  }

  static let payloads: [Data] =
    [
      "", " ", "{}", "[]", "1", "-0", "-", "01", "-01", "0.10", ".5", "1.", "1e5", "1E+05", "1e", "1e999", "-1e-999",
      "+1",
      String(repeating: "9", count: 400), "true", "tru", "truex", "null", "nul", "false ", "\"", "\"\"", "\"a\nb\"",
      #""\n\/\u00e9""#, #""\x""#, #""\u12""#, #""\u+123""#, #""\ud83d\ude00""#, #""\ud83d""#, #""\ude00""#, "[1,]",
      "[,1]",
      "[1 2]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\":1 \"b\":2}", "{1:2}", "[1]x", "[1] ", "\t[\n1\r,\t2 ]\n",
      "{\t}",
      "\u{FEFF}[1]", "[\u{1}]", "\"\u{7F}\u{85}\u{202E}é\"", "\u{A0}1", "NaN", "Infinity", "[\0]\0", "\0[\0]",
      String(repeating: "[", count: 255) + String(repeating: "]", count: 255),
      String(repeating: "[", count: 400) + String(repeating: "]", count: 400),
      String(repeating: "{\"a\":", count: 600) + "1" + String(repeating: "}", count: 600),
      String(repeating: "[", count: 9000),
    ].map { Data($0.utf8) } + [Data([0xFF]), Data([0x22, 0xC3, 0x22]), Data([0x22, 0xED, 0xA0, 0x80, 0x22])]

  @Test(arguments: payloads) func payload_isGivenAsJSONIfItIsSome(_ payload: Data) throws {
    let record = Self.record { $0.payload = payload }
    #expect(try record.jsonLine == Self.reference(record))
  }

  @Test(arguments: 0..<20) func randomRecords_giveWhatFoundationMakes(_ seed: Int) throws {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    func text() -> String {
      (0..<random.number(0...8)).map { _ in
        random.chance(20)
          ? String(Unicode.Scalar(UInt32(random.number(0...0x2FFF))) ?? "x")
          : random.pick(["a", "/", "\"", "é", " ", "\\"])
      }.joined()
    }
    func date() -> Date {
      // The calendar that Foundation has is another one before 1582.
      Date(timeIntervalSince1970: Double(random.number(-12_000_000_000_000...253_402_300_000_000)) / 1000)
    }
    for _ in 0..<100 {
      let record = Self.record {
        ($0.id, $0.kind, $0.state) = (Int64(random.number(1...Int.max)), text(), random.pick(JobState.allCases))
        ($0.major, $0.minor, $0.attempts) = (
          random.number(-9...9), random.number(Int.min...Int.max), random.number(0...20)
        )
        if random.chance(50) { $0.maxAttempts = random.number(1...30) }
        if random.chance(50) { $0.lastError = text() }
        $0.enqueuedAt = date()
        if random.chance(50) { $0.runAt = date() }
        if random.chance(50) { $0.startedAt = date() }
        if random.chance(50) { $0.finishedAt = date() }
        if random.chance(50) { $0.timeout = .milliseconds(random.number(0...10_000_000)) }
        if random.chance(50) { $0.uniqueKey = text() }
        $0.prerequisites = (0..<random.number(0...3)).map { Int64($0) }
        $0.requiresNetwork = random.chance(50)
        if random.chance(50) { $0.checkpointSize = random.number(0...99) }
        let tree = RandomTree.random(depth: 3, using: &random)
        $0.payload = random.chance(90) ? (try? PayloadCoding.encode(tree)) ?? Data() : random.pick(Self.payloads)
      }
      #expect(try record.jsonLine == Self.reference(record))
    }
  }

  @Test func dates_areThoseOfTheGregorianCalendarForAllOfTime() {
    for (seconds, text) in [
      (-62_135_596_800, "0001-01-01T00:00:00.000Z"), (253_402_300_799, "9999-12-31T23:59:59.000Z"),
      (-.infinity, "0001-01-01T00:00:00.000Z"), (1e300, "9999-12-31T23:59:59.000Z"), (0, "1970-01-01T00:00:00.000Z"),
      (-0.0004, "1970-01-01T00:00:00.000Z"), (-0.0006, "1969-12-31T23:59:59.999Z"),
      (-11_676_096_001.5, "1599-12-31T23:59:58.500Z"),
    ] as [(Double, String)] {
      #expect(RFC3339.text(of: Date(timeIntervalSince1970: seconds)) == text)
    }
  }
}
