import CompositeOperationsCommandLine
import DurableOperations

/// Reports the results of changes, and remembers the failures.
struct ChangeReport {
  /// The JSON keys of the things: for all of them, and for one that could not be changed.
  struct Keys {
    let all: String
    let one: String

    static let jobs = Keys(all: "jobs", one: "id")
    static let kinds = Keys(all: "kinds", one: "kind")
    static let names = Keys(all: "names", one: "name")
  }

  /// Why a thing could not be changed.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let command: DurableQueueCommand
  private let request: Request
  private var failures: [JSONText] = []
  /// Why a result could not be written. Changes go on all the same.
  private var outputFailure: (any Error)?

  init(command: DurableQueueCommand, request: Request) {
    self.command = command
    self.request = request
  }

  /// Returns the exit status.
  func finish() throws -> Int32 {
    if let outputFailure, (outputFailure as? StandardStream.Failure)?.isBrokenPipe != true { throw outputFailure }
    return failures.isEmpty ? DurableQueueCommand.ExitStatus.good : DurableQueueCommand.ExitStatus.failed
  }

  /// Changes each of some things; a failure of one does not stop the others. An error of the
  /// database does: what was done before is reported, and then the error is thrown.
  ///
  /// - Parameters:
  ///   - things: the things to change.
  ///   - keys: their keys in JSON.
  ///   - change: changes one, and returns the result in a few words.
  mutating func change<Thing: Reportable>(_ things: [Thing], keys: Keys, by change: (Thing) throws -> String) throws {
    var changed: [JSONText] = []
    var isOver = false
    defer {
      if request.isJSON, isOver || !changed.isEmpty || !failures.isEmpty {
        writeJSON(count: changed.count, keys: keys, .array(changed))
      }
    }
    for thing in things {
      do {
        let remark = try change(thing)
        changed.append(thing.json)
        if !request.isJSON { write("\(Wording.plain("\(thing)"))  \(remark)\n") }
      } catch let error as JobError {
        fail(thing, keys, "\(error)")
      } catch let error as Failure {
        fail(thing, keys, "\(error)")
      }
    }
    isOver = true
  }

  /// Reports the result for all matching jobs.
  ///
  /// - Parameters:
  ///   - count: how many there were.
  ///   - sentence: the text for people.
  mutating func tellOfAll(count: Int, sentence: String) {
    if request.isJSON {
      writeJSON(count: count, keys: .jobs, .null)
    } else {
      write(sentence + "\n")
    }
  }

  /// Reports why a thing was not changed.
  mutating func fail(_ thing: some Reportable, _ keys: Keys, _ reason: String) {
    failures.append(.object([(keys.one, thing.shown), ("error", .string(reason))]))
    command.complain(reason)
  }

  private mutating func writeJSON(count: Int, keys: Keys, _ things: JSONText) {
    let dryRun: [(String, JSONText)] = request.isDryRun ? [("dryRun", .bool(true))] : []
    let result = JSONText.object(
      [("command", .string(request.verb.rawValue))] + dryRun
        + [("count", JSONText(count)), (keys.all, things), ("failures", .array(failures))])
    write(result.text + "\n")
  }

  private mutating func write(_ text: String) {
    do {
      try command.output(text)
    } catch {
      outputFailure = outputFailure ?? error
    }
  }
}

/// A thing that can be reported to people and to programs: the number of a job, or a name.
protocol Reportable: CustomStringConvertible {
  var json: JSONText { get }
  /// For a thing that may not be what it was meant to be: without a password.
  var shown: JSONText { get }
}

extension JobID: Reportable {
  var json: JSONText { .integer(rawValue) }
  var shown: JSONText { json }
}

extension String: Reportable {
  var json: JSONText { .string(self) }
  var shown: JSONText { .string(HiddenPassword.hiding(in: self)) }
}
