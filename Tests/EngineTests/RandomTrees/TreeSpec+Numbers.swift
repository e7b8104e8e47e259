extension TreeSpec {
  /// The same tree with its nodes numbered from 0; `numbers` gets the new numbers of the old.
  func renumbered(_ numbers: inout [Int: Int]) -> TreeSpec {
    func number(_ id: Int) -> Int {
      numbers[id] = numbers.count
      return numbers[id]!
    }
    switch self {
    case .leaf(let leaf): return .leaf(leaf.with(id: number(leaf.id)))
    case .parallel(let parallel):
      let id = number(parallel.id)
      var copy = Parallel(
        id: id, children: parallel.children, settings: parallel.settings, waitsForAll: parallel.waitsForAll,
        usesBuilder: parallel.usesBuilder, repeated: parallel.repeated)
      for index in copy.children.indices { copy.children[index].spec = copy.children[index].spec.renumbered(&numbers) }
      return .parallel(copy)
    case .sequential(let sequence):
      let id = number(sequence.id)
      return .sequential(
        Sequential(
          id: id, style: sequence.style, steps: sequence.steps.map { $0.renumbered(&numbers) }, ending: sequence.ending,
          settings: sequence.settings))
    case .map(let step, let upstream):
      let step = step.with(id: number(step.id))
      return .map(step, of: upstream.renumbered(&numbers))
    case .then(let step, let upstream, let next):
      let step = step.with(id: number(step.id))
      let first = upstream.renumbered(&numbers)
      return .then(step, of: first, next: next.renumbered(&numbers))
    case .recover(let step, let upstream, let next):
      let step = step.with(id: number(step.id))
      let first = upstream.renumbered(&numbers)
      return .recover(step, of: first, with: next.renumbered(&numbers))
    case .zip(let id, let children): return .zip(number(id), children.map { $0.renumbered(&numbers) })
    case .all(let id, let width, let children):
      let id = number(id)
      return .all(id, width: width, children.map { $0.renumbered(&numbers) })
    case .firstSuccess(let id, let children):
      let id = number(id)
      return .firstSuccess(id, children.map { $0.renumbered(&numbers) })
    case .forEach(let id, let width, let makeFailsAt, let children):
      let id = number(id)
      return .forEach(id, width: width, makeFailsAt: makeFailsAt, children.map { $0.renumbered(&numbers) })
    }
  }
}

extension TreeSpec.Leaf {
  fileprivate func with(id: Int) -> Self {
    Self(id: id, kind: kind, result: result, delay: delay, yieldsToCancel: yieldsToCancel)
  }
}

extension TreeSpec.Step {
  fileprivate func with(id: Int) -> Self { Self(id: id, effect: effect, isAsync: isAsync) }
}
