/// Follows a state machine along every path there is.
///
/// From a start it applies every input that is possible to every state that can be reached, each
/// state once, and hears complaints. What makes two states the same is the caller's to say: usually
/// the machine's own fields, and a ledger of what it has answered so far that the rules are checked
/// against.
struct StateWalk<State, Input> {
  /// How many different states were reached.
  private(set) var stateCount = 0
  /// How many steps were checked: one for each input of each state.
  private(set) var stepCount = 0
  /// What was wrong, each with the inputs that led there. The walk stops after a handful.
  private(set) var complaints: [String] = []

  /// - Parameters:
  ///   - start: where to begin.
  ///   - key: two states with the same key are the same.
  ///   - inputs: what can happen next.
  ///   - step: applies an input, and says what is wrong then, or nothing.
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
