/// Follows a state machine along every path.
///
/// From a start it applies every possible input to every reachable state, each state once, and
/// collects complaints. The caller defines when two states are the same: usually by the machine's
/// own fields, and a ledger of its answers that the rules are checked against.
struct StateWalk<State, Input> {
  /// How many different states were reached.
  private(set) var stateCount = 0
  /// How many steps were checked: one for each input of each state.
  private(set) var stepCount = 0
  /// The complaints, each with the inputs that led there. The walk stops after a handful.
  private(set) var complaints: [String] = []

  /// - Parameters:
  ///   - start: where to begin.
  ///   - key: two states with the same key are the same.
  ///   - inputs: what can happen next.
  ///   - step: applies an input, and returns what is wrong, if anything.
  init<Key: Hashable>(
    from start: State, identifiedBy key: (State) -> Key, inputs: (State) -> [Input],
    step: (inout State, Input) -> String?
  ) {
    var pending: [(state: State, path: [Input])] = [(start, [])]
    var known: Set<Key> = [key(start)]
    while let (state, path) = pending.popLast(), complaints.count < 5 {
      stateCount += 1
      for input in inputs(state) {
        stepCount += 1
        var next = state
        if let complaint = step(&next, input) {
          complaints.append("\(complaint), after \((path + [input]).map { "\($0)" }.joined(separator: ", "))")
        } else if known.insert(key(next)).inserted {
          pending.append((next, path + [input]))
        }
      }
    }
  }
}
