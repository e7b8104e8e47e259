import CompositeOperationsCommandLine
import DurableOperations

/// Tells what becomes of things that are changed, and remembers what could not be.
struct ChangeReport {
  /// What JSON calls the things: all of them, and one that could not be changed.
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
  /// Why what has become of a thing could not be written. It keeps nothing from being changed.
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

  /// Changes each of some things; what is wrong with one keeps no other from being changed.
  ///
  /// - Parameters:
  ///   - things: what is changed.
  ///   - keys: what JSON calls it.
  ///   - change: changes one, and returns what has become of it, in a few words.
  mutating func change<Thing: Reportable>(_ things: [Thing], keys: Keys, by change: (Thing) throws -> String) throws {
    var changed: [JSONText] = []
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
    if request.isJSON { writeJSON(count: changed.count, keys: keys, .array(changed)) }
  }

  /// Tells what has become of all jobs that something says.
  ///
  /// - Parameters:
  ///   - count: how many there were.
  ///   - sentence: what people read.
  mutating func tellOfAll(count: Int, sentence: String) {
    if request.isJSON {
      writeJSON(count: count, keys: .jobs, .null)
    } else {
      write(sentence + "\n")
    }
  }

  /// Tells why a thing was not changed.
  mutating func fail(_ thing: some Reportable, _ keys: Keys, _ reason: String) {
    failures.append(.object([(keys.one, thing.json), ("error", .string(reason))]))
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

/// What can be told to people and to programs: the number of a job, or a name.
protocol Reportable: CustomStringConvertible {
  var json: JSONText { get }
}

extension JobID: Reportable {
  var json: JSONText { .integer(rawValue) }
}

extension String: Reportable {
  var json: JSONText { .string(self) }
}
