import DurableOperations
import Testing

/// The code of the job error that something throws; nil if it throws none.
func jobErrorCode(_ body: () throws -> Void) -> JobError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? JobError)?.code
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
    switch self {
    case .enqueued(let id, _): "enqueued \(id)"
    case .started(let id, _, let attempt): "started \(id) \(attempt)"
    case .progress(let id, let fraction): "progress \(id) \(fraction)"
    case .done(let id, _): "done \(id)"
    case .failed(let id, _, let attempt, _, _): "failed \(id) \(attempt)"
    case .snoozed(let id, _, _): "snoozed \(id)"
    case .dead(let id, _, _): "dead \(id)"
    case .held(let id, _, _): "held \(id)"
    case .cancelled(let id, _): "cancelled \(id)"
    case .returned(let id, _): "returned \(id)"
    case .rescued(let ids): "rescued \(ids.map(\.description).joined(separator: " "))"
    case .leaseLost(let id, _): "leaseLost \(id)"
    case .unknownKind(let kind): "unknownKind \(kind)"
    case .databaseFailed(let error): "databaseFailed \(error.code)"
    }
  }
}

/// The events of a stream, in words, up to and with one.
func texts(of events: AsyncStream<JobEvent>, through last: String) async -> [String] {
  var texts: [String] = []
  for await event in events {
    texts.append(event.text)
    if event.text == last { break }
  }
  return texts
}
