import WorkflowOperations

/// Carries out a script, as far as it can go at a time.
struct ScriptRun {
  enum Progress: Equatable {
    /// It goes on when something has happened.
    case waits
    case ended
    /// It waits for something that can no longer happen.
    case failed(String)
  }

  private let name: String
  private var lines: ArraySlice<ScriptLine>

  init(_ lines: [ScriptLine], name: String) {
    self.name = name
    self.lines = lines[...]
  }

  /// Carries out the lines up to one that has to wait.
  mutating func advance(at desk: Desk, say: (String) -> Void, show: () -> Void) -> Progress {
    // What one line caused is told before the next one.
    while desk.isUpToDate {
      guard let line = lines.first else { return atEnd(of: desk) }
      switch line.command {
      case .act(let action, let target):
        say("> \(line.text)")
        if let remark = desk.perform(action, on: target) { say("  \(remark)") }
      case .show:
        show()
      case .quit:
        return .ended
      case .waitForEnd:
        switch desk.situation {
        case .ended: break
        case .stalled: return .failed(vain(line, because: waiting(at: desk)))
        case .moving, nil: return .waits
        }
      case .wait(let task, let standing):
        let now = desk.standing(of: task)
        // A state is there before it was told; what comes next in the script is told after it.
        if now == standing {
          guard desk.hasTold(task) else { return .waits }
          break
        }
        switch desk.situation {
        case .ended:
          // It may have come to that just now.
          if desk.standing(of: task) == standing { break }
          return .failed(
            vain(line, because: "\(desk.tasks[task].name) is \(now.rawValue), and nothing runs.\n\(remedy(for: now))"))
        case .stalled:
          if desk.standing(of: task) == standing { break }
          return .failed(vain(line, because: "\(desk.tasks[task].name) is \(now.rawValue), and \(waiting(at: desk))"))
        case .moving, nil:
          return .waits
        }
      }
      lines.removeFirst()
    }
    return .waits
  }

  private func atEnd(of desk: Desk) -> Progress {
    switch desk.situation {
    case .ended, .stalled: .ended
    case .moving, nil: .waits
    }
  }

  private func vain(_ line: ScriptLine, because reason: String) -> String {
    "\(name), line \(line.number), \"\(line.text)\", would wait for ever: \(reason)"
  }

  private func waiting(at desk: Desk) -> String {
    let waiting = desk.tasks.indices.filter { [.waiting, .held].contains(desk.standing(of: $0)) }
    let list = waiting.map { "\(desk.tasks[$0].name) is \(desk.standing(of: $0).rawValue)" }
    let verbs = waiting.map { task in
      "\(desk.standing(of: task) == .held ? "release" : "fulfill") \(desk.tasks[task].name)"
    }
    return "\(list.joined(separator: ", ")).\nWrite before that line: \(verbs.joined(separator: ", "))"
  }

  private func remedy(for standing: Standing) -> String {
    switch standing {
    case .pending, .ready: "Write start all before that line."
    case .failed, .cancelled: "Write retry, or another state, before that line."
    case .executing, .waiting, .held, .finished:
      "A state that passes by itself can be missed: hold the task, or wait for another state."
    }
  }
}
