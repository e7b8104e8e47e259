import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// Prints the problems of a queue. Returns the exit status: whether something needs attention.
  func diagnose(_ request: Request) throws -> Int32 {
    let findings = try request.place.diagnose()
    let attention = findings.count { $0.level == .attention }
    if request.isJSON {
      let json = JSONText.object(
        request.place.json + [("attention", JSONText(attention)), ("findings", .array(findings.map(json)))])
      try write(json.text + "\n")
    } else {
      let need = attention == 1 ? "needs" : "need"
      try write("\(request.place.title)  \(Wording.count(attention, "finding")) \(need) attention\n\n")
      for finding in findings { try write(text(finding)) }
    }
    return attention == 0 ? ExitStatus.good : ExitStatus.failed
  }

  /// A finding as text, with the level before its first line.
  private func text(_ finding: Diagnosis) -> String {
    let parts = [
      "\(finding.subject): \(finding.finding)", finding.reason.map { "Why: \($0)" },
      finding.remedy.map { "What to do: \($0)" },
    ].compactMap(\.self)
    let margin = 11
    let lines = parts.flatMap { Wording.lines(Wording.plain($0), of: max(width ?? 100, 40) - margin) }
    return lines.enumerated().map { index, line in
      let label = index == 0 ? finding.level.rawValue : ""
      return label + String(repeating: " ", count: margin - label.count) + line + "\n"
    }.joined()
  }

  private func json(_ finding: Diagnosis) -> JSONText {
    [
      "subject": .string(finding.subject), "level": .string(finding.level.rawValue),
      "finding": .string(finding.finding),
      "reason": finding.reason.map(JSONText.string) ?? .null, "remedy": finding.remedy.map(JSONText.string) ?? .null,
    ]
  }
}
