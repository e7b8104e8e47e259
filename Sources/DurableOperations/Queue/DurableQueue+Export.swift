import Foundation

extension DurableQueue {
  /// Gives each job as a line of JSON, in the order of their numbers: see ``JobRecord/jsonLine``. What changes in between
  /// may be seen or not.
  ///
  /// - Parameters:
  ///   - kind: only those of a kind; nil for all.
  ///   - states: only those in one of these states; nil for all.
  ///   - write: gets each line, without its end. On the thread of the caller. What it throws ends the export.
  /// - Returns: how many there were.
  @discardableResult
  public func export(
    kind: String? = nil, in states: Set<JobState>? = nil, to write: (_ line: String) throws -> Void
  ) throws -> Int {
    var count = 0
    var last: JobID?
    while true {
      let page = try jobs(kind: kind, in: states, after: last, limit: 500)
      for record in page { try write(record.jsonLine) }
      count += page.count
      guard let end = page.last else { return count }
      last = end.id
    }
  }
}

extension JobRecord {
  /// The record as JSON in one line, with sorted keys, dates as ISO 8601 in UTC, durations in seconds, and `payload` as
  /// the JSON that is stored, or `payloadBase64` if that is none. What is nil is left out.
  public var jsonLine: String {
    var object: [String: any Sendable] = [
      "id": id.rawValue, "kind": kind, "state": state.description, "majorPriority": priority.major,
      "minorPriority": priority.minor, "attempts": attempts, "crashes": crashes, "requiresNetwork": requiresNetwork,
      "unmetPrerequisites": unmetPrerequisites, "cancelRequested": isCancelRequested, "version": version,
      "holdsAfterLastAttempt": holdsAfterLastAttempt, "enqueuedAt": Self.text(of: enqueuedAt),
    ]
    object["maxAttempts"] = maxAttempts
    object["lastError"] = lastError
    object["runAt"] = runAt.map(Self.text)
    object["startedAt"] = startedAt.map(Self.text)
    object["finishedAt"] = finishedAt.map(Self.text)
    object["timeout"] = timeout.map { $0 / .seconds(1) }
    object["uniqueKey"] = uniqueKey
    if !prerequisites.isEmpty { object["prerequisites"] = prerequisites.map(\.rawValue) }
    object["checkpointSize"] = checkpointSize
    // JSON that is not UTF-8 could not stand in the line.
    let text = String(validating: payload, as: UTF8.self)
    let isJSON = text != nil && (try? JSONSerialization.jsonObject(with: payload, options: .fragmentsAllowed)) != nil
    if !isJSON { object["payloadBase64"] = payload.base64EncodedString() }
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    // Numbers, text and nothing else: it cannot fail.
    let data = (try? JSONSerialization.data(withJSONObject: object, options: options)) ?? Data("{}".utf8)
    var line = String(decoding: data, as: UTF8.self)
    // As it is stored, for reading it could change its numbers. In JSON line ends stand between tokens alone.
    if isJSON, let text {
      line.removeLast()
      line += ",\"payload\":"
      line.unicodeScalars.append(contentsOf: text.unicodeScalars.lazy.map { $0 == "\n" || $0 == "\r" ? " " : $0 })
      line += "}"
    }
    return line
  }

  private static func text(of date: Date) -> String {
    let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
    let seconds = Int64((Double(milliseconds) / 1000).rounded(.down))
    let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    let fraction = String(1000 + milliseconds - seconds * 1000).dropFirst()
    return "\(whole.dropLast()).\(fraction)Z"
  }
}
