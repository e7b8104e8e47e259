import Testing

@testable import DurableOperations

/// Why the job error is thrown that something throws; nil if it throws none.
func jobErrorReason(_ body: () throws -> Void) -> JobError.Reason? {
  do {
    try body()
    return nil
  } catch {
    return (error as? JobError)?.reason
  }
}

/// The code of the database error that something throws; nil if it throws none.
func databaseErrorCode(_ body: () throws -> Void) -> DatabaseError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? DatabaseError)?.code
  }
}

extension JobEvent {
  /// The event in a word, and the job's number.
  var text: String {
    let details: [String?] = [
      jobIDs.isEmpty ? nil : jobIDs.map(\.description).joined(separator: " "), attempt.map(String.init),
      fractionCompleted.map { "\($0)" }, kind == .unknownKind ? jobKind : nil,
      (error as? DatabaseError).map { "\($0.code)" },
    ]
    return ([kind.description] + details.compactMap(\.self)).joined(separator: " ")
  }
}

/// The events of a stream, in words, up to and with one.
func texts(of events: AsyncStream<JobEvent>, through last: String) async -> [String] {
  var texts: [String] = []
  for await event in events {
    // Says what the machine does besides, and not what the queue does.
    if event.kind != .databaseSlow { texts.append(event.text) }
    if event.text == last { break }
  }
  return texts
}
