import CompositeOperations
import Foundation

extension Timeline {
  /// The timeline as one page that needs no other file and no network.
  ///
  /// Rows are nested as operations were, and can be collapsed. Bars show waiting, running and the
  /// ending, and mark the critical path. One button shows only the work, without policies and what
  /// these wait for; another shows the work by thread. The number of failures is a button that
  /// shows them, and goes to the next one. The page zooms, pans and searches, works with the
  /// keyboard, and is light or dark as the system is. The column of names can be dragged wider, and
  /// the page fits on a phone. It is made for 100,000 entries and more: only the rows in view are
  /// drawn.
  ///
  /// Names and errors stand in the page as escaped data, so none of them becomes markup or script.
  ///
  /// - Parameter title: the heading, and the title of the window.
  public func html(title: String = "Timeline") -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta http-equiv="Content-Security-Policy" content="\(TimelinePage.policy)">
    <title>\(TimelinePage.escaped(title))</title>
    <style>
    \(TimelinePage.style)
    \(TimelinePage.barStyle)
    </style>
    </head>
    <body>
    \(TimelinePage.body)
    <script type="application/json" id="data">\(TimelinePage.data(self, title: title))</script>
    <script>
    "use strict";
    \(TimelinePage.modelScript)
    \(TimelinePage.drawingScript)
    \(TimelinePage.summaryScript)
    \(TimelinePage.inputScript)
    </script>
    </body>
    </html>

    """
  }
}

/// The parts of the page.
enum TimelinePage {
  /// The page may load nothing, from nowhere.
  static let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

  /// Text to stand between tags.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\0": result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// What the page draws, as JSON. Each entry is a list with the values that `fields` names, times
  /// are in nanoseconds. Types, kinds and threads are indices in lists of their own.
  static func data(_ timeline: Timeline, title: String) -> String {
    let tree = TimelineTree(timeline)
    var types = Numbering<String>()
    var kinds = Numbering<String>()
    var threads = Numbering<Timeline.Thread>()
    var rows: [String] = []
    for (place, entry) in timeline.entries.enumerated() {
      let values = [
        "\(entry.id)", number(tree.parents[place]), string(entry.title), "\(types[entry.type])",
        "\(kinds[entry.kind.rawValue])", "\(entry.queued.nanoseconds)", number(entry.started?.nanoseconds),
        number(entry.settled?.nanoseconds), ending(entry.ending), message(entry.ending),
        number(entry.thread.map { threads[$0] }), "\(entry.attempt)", "\(entry.tag)",
      ]
      rows.append("[\(values.joined(separator: ","))]")
    }
    let fields = [
      "id", "parent", "title", "type", "kind", "queued", "started", "settled", "ending", "message", "thread", "attempt",
      "tag",
    ]
    return """
      {"title":\(string(title)),
      "peak":\(timeline.peakConcurrency),"wrappers":[\(list(kinds.values.filter { Timeline.Kind(rawValue: $0).isWrapper }))],
      "start":\(timeline.start.nanoseconds),"end":\(timeline.end.nanoseconds),
      "fields":[\(list(fields))],
      "types":[\(list(types.values))],
      "kinds":[\(list(kinds.values))],
      "threads":[\(threads.values.map { "[\($0.number),\(string($0.name))]" }.joined(separator: ","))],
      "critical":[\(CriticalPath(tree).places.map { "\($0)" }.joined(separator: ","))],
      "entries":[
      \(rows.joined(separator: ",\n"))
      ]}
      """
  }

  private static func list(_ texts: [String]) -> String {
    texts.map(string).joined(separator: ",")
  }

  private static func string(_ text: String) -> String {
    HarmlessText.quotedJSON(text, isForPage: true)
  }

  private static func number(_ value: (some BinaryInteger)?) -> String {
    value.map { "\($0)" } ?? "null"
  }

  private static func ending(_ ending: Timeline.Ending?) -> String {
    switch ending {
    case .success: "\"success\""
    case .failure: "\"failure\""
    case .cancelled: "\"cancelled\""
    case nil: "null"
    }
  }

  private static func message(_ ending: Timeline.Ending?) -> String {
    if case .failure(let message) = ending { string(message) } else { "null" }
  }

  /// Distinct values in the order of their first use.
  private struct Numbering<Value: Hashable> {
    private(set) var values: [Value] = []
    private var numbers: [Value: Int] = [:]

    subscript(value: Value) -> Int {
      mutating get {
        if let number = numbers[value] { return number }
        numbers[value] = values.count
        values.append(value)
        return values.count - 1
      }
    }
  }
}
