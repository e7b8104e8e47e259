import Foundation

/// Prints the trees that do not end, to explain a hanging run. It only prints: no test depends on
/// time.
public final class StallReporter: Sendable {
  /// The reporter of the process.
  public static let shared = StallReporter()

  private struct State {
    var running: [Int: (describe: @Sendable () -> String, age: Int)] = [:]
    var next = 0
  }

  private let state = Locked(State())

  private init() {
    // A thread of its own: the trees may keep all workers of Dispatch busy.
    let thread = Thread {
      let clock = NSCondition()
      while true {
        clock.lock()
        _ = clock.wait(until: Date(timeIntervalSinceNow: 10))
        clock.unlock()
        self.report()
      }
    }
    thread.start()
  }

  /// Records that a tree begins. Returns its number.
  public func began(_ describe: @escaping @Sendable () -> String) -> Int {
    state.withLock { state in
      state.next += 1
      state.running[state.next] = (describe, 0)
      return state.next
    }
  }

  /// Records that a tree has ended.
  public func ended(_ token: Int) {
    state.withLock { $0.running[token] = nil }
  }

  private func report() {
    let stalled = state.withLock { state in
      for token in state.running.keys { state.running[token]?.age += 1 }
      return state.running.values.filter { $0.age == 3 }.map(\.describe)
    }
    for describe in stalled {
      FileHandle.standardError.write(Data("this tree has not ended for half a minute:\n\(describe())\n".utf8))
    }
  }
}
