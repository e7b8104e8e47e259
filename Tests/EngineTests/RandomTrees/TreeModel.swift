import Foundation

/// The sequential model: computes the outcome of a node from those of its children, without
/// threads.
///
/// Rules that do not depend on timing give one outcome. Otherwise, the set holds exactly the
/// outcomes that the order of events may decide, for children with known outcomes:
///
/// - `zip`, `all` and `forEach` fail with the error of *one* of the children that failed;
/// - `firstSuccess` succeeds with *one* of the children that succeeded before they could be
///   cancelled.
///
/// Which children run before a sibling's failure stops them does not matter here, because their
/// outcomes are given; ``TreeJudge`` checks when each cancelled child may have been cancelled, and
/// by what.
struct TreeModel {
  let index: TreeIndex

  /// The possible outcomes of a node that is not cancelled, for the outcomes of its children from
  /// `child`: nil for one that is unknown or was never made. Empty if the node cannot have ended.
  func outcomes(of id: Int, child: (Int) -> Verdict?) -> Set<Verdict> {
    let children = index[id].children
    let verdicts = children.map(child)
    switch index[id].spec {
    case .leaf(let leaf):
      return [leaf.verdict]
    case .parallel:
      return known(verdicts).map { [parallel($0)] } ?? []
    case .sequential(let sequence):
      return self.sequence(sequence) { verdicts[$0] }.verdict.map { [$0] } ?? []
    case .map(let step, _):
      return set(verdicts[0].map { map(step, $0) })
    case .then(let step, _, _):
      guard let upstream = verdicts[0], upstream.isSuccess else { return set(verdicts[0]) }
      return step.thrown.map { [$0] } ?? set(verdicts[1])
    case .recover(let step, _, _):
      guard let upstream = verdicts[0], upstream.isFailure else { return set(verdicts[0]) }
      return step.thrown.map { [$0] } ?? set(verdicts[1])
    case .zip, .all:
      return known(verdicts).map { together($0) } ?? []
    case .forEach(let id, _, let makeFailsAt, _):
      // Items that were not made, because of a failure or a cancel, have no outcome.
      var outcomes = together(verdicts.compactMap { $0 })
      if makeFailsAt != nil {
        outcomes = outcomes.filter { !$0.isSuccess }.union([.failure(.thrown(by: id))])
      } else if verdicts.contains(nil) {
        outcomes = outcomes.filter { !$0.isSuccess }
      }
      return outcomes
    case .firstSuccess:
      return known(verdicts).map { first($0) } ?? []
    }
  }

  /// Table 3.2, for a composite that is not cancelled.
  private func parallel(_ verdicts: [Verdict]) -> Verdict {
    let failures = verdicts.enumerated().compactMap { index, verdict in
      verdict.fault.map { Fault.Entry(index: index, fault: $0) }
    }
    if !failures.isEmpty { return .failure(.composite(failures)) }
    if verdicts.contains(.cancelled) { return .cancelled }
    return .success(.list(verdicts.compactMap(\.payload)))
  }

  /// Table 3.3, for a composite that is not cancelled: its outcome, if the steps that it needs are
  /// known, and how many steps were requested.
  func sequence(_ sequence: TreeSpec.Sequential, step: (Int) -> Verdict?) -> (verdict: Verdict?, asked: Int) {
    var verdicts: [Verdict] = []
    var failures: [Fault.Entry] = []
    func failed(_ fault: Fault) -> Verdict {
      .failure(.composite(failures + [Fault.Entry(index: verdicts.count, fault: fault)]))
    }
    while true {
      switch sequence.decision(after: verdicts.last, position: verdicts.count) {
      case .step(let position):
        guard let verdict = step(position) else { return (nil, position + 1) }
        if let fault = verdict.fault { failures.append(Fault.Entry(index: position, fault: fault)) }
        verdicts.append(verdict)
      case .end:
        switch verdicts.last {
        case .failure: return (.failure(.composite(failures)), verdicts.count)
        case .cancelled: return (.cancelled, verdicts.count)
        case .success, nil: return (.success(.list(verdicts.compactMap(\.payload))), verdicts.count)
        }
      case .throwError: return (failed(.thrown(by: sequence.id)), verdicts.count)
      case .throwCancellation: return (.cancelled, verdicts.count)
      case .misuse: return (failed(.library), verdicts.count)
      }
    }
  }

  private func map(_ step: TreeSpec.Step, _ upstream: Verdict) -> Verdict {
    guard let payload = upstream.payload else { return upstream }
    return step.thrown ?? .success(.mapped(by: step.id, payload))
  }

  private func together(_ verdicts: [Verdict]) -> Set<Verdict> {
    let failures = Set(verdicts.filter(\.isFailure))
    if !failures.isEmpty { return failures }
    return verdicts.contains(.cancelled) ? [.cancelled] : [.success(.list(verdicts.compactMap(\.payload)))]
  }

  private func first(_ verdicts: [Verdict]) -> Set<Verdict> {
    if verdicts.isEmpty { return [.failure(.library)] }
    let successes = Set(verdicts.filter(\.isSuccess))
    return successes.isEmpty ? [parallel(verdicts)] : successes
  }

  private func set(_ verdict: Verdict?) -> Set<Verdict> {
    verdict.map { [$0] } ?? []
  }

  func known(_ verdicts: [Verdict?]) -> [Verdict]? {
    let known = verdicts.compactMap { $0 }
    return known.count == verdicts.count ? known : nil
  }
}

extension TreeSpec.Leaf {
  /// The outcome unless it is cancelled.
  var verdict: Verdict { kind == .bodyless ? .failure(.library) : Verdict(outcome) }
}

extension TreeSpec.Step {
  /// The outcome of the node when the closure throws.
  var thrown: Verdict? {
    switch effect {
    case .value: nil
    case .throwError: .failure(.thrown(by: id))
    case .throwCancellation: .cancelled
    }
  }
}

extension TreeSpec.Sequential {
  enum Decision { case step(Int), end, throwError, throwCancellation, misuse }

  /// The delegate's decision after an operation with the outcome `previous`.
  func decision(after previous: Verdict?, position: Int) -> Decision {
    switch (style, previous) {
    case (.scripted(_, let continuesAfterCancel), .cancelled): if !continuesAfterCancel { return .end }
    case (.scripted(let afterFailure, _), .failure):
      switch afterFailure {
      case .end: return .end
      case .goOn: break
      case .throwError: return .throwError
      }
    case (.linear, .failure), (.linear, .cancelled), (.retry, .success), (.retry, .cancelled): return .end
    case (.scripted, _), (.linear, _), (.retry, _): break
    }
    if position < steps.count { return .step(position) }
    switch ending {
    case .end: return .end
    case .throwError: return .throwError
    case .throwCancellation: return .throwCancellation
    case .returnFinished, .returnExecuting: return .misuse
    }
  }
}
