import TestSupport
import Testing

@testable import CompositeOperations

@Suite("8 TimeoutState: all short paths")
struct TimeoutStateTests {
  private enum Input: CaseIterable {
    case arm, expire, end, ownerDidSettle
  }

  /// The result of a list of inputs.
  private struct Result {
    var set = 0
    var given: [Int] = []
    var expiries = 0
    var lateEnds = 0
    var cancels = 0
  }

  private func result(of inputs: [Input]) -> Result {
    var state = TimeoutState<Int>()
    var result = Result()
    for input in inputs {
      switch input {
      case .arm:
        result.set += 1
        if let timer = state.arm(result.set) { result.given.append(timer) }
      case .expire:
        let (counts, timer) = state.expire()
        result.expiries += counts ? 1 : 0
        if let timer { result.given.append(timer) }
      case .end:
        switch state.end() {
        case .running(let timer): if let timer { result.given.append(timer) }
        case .expired: result.lateEnds += 1
        case .ended: break
        }
      case .ownerDidSettle:
        switch state.end() {
        case .running(let timer):
          result.cancels += 1
          if let timer { result.given.append(timer) }
        case .expired: result.cancels += 1
        case .ended: break
        }
      }
    }
    return result
  }

  @Test("Each timer is given back once; time is up once; it was too late only if time was up before")
  func allPaths_ofSix() {
    var paths: [[Input]] = [[]]
    for _ in 0..<6 {
      paths = paths.flatMap { path in Input.allCases.map { path + [$0] } }
      for path in paths {
        let result = result(of: path)
        #expect(Set(result.given).count == result.given.count, "\(path)")
        #expect(result.expiries <= 1 && result.lateEnds <= result.expiries && result.cancels <= 1, "\(path)")
        if path.contains(where: { $0 != .arm }) {
          #expect(result.given.count == result.set, "a timer is left: \(path)")
        } else {
          #expect(result.given.count == max(0, result.set - 1))
        }
        if path.firstIndex(of: .end) ?? path.count < path.firstIndex(of: .expire) ?? path.count {
          #expect(result.expiries == 0, "\(path)")
        }
        if let expiry = path.firstIndex(of: .expire), !path[..<expiry].contains(where: { $0 != .arm }) {
          let next = path[expiry...].first { $0 == .end || $0 == .ownerDidSettle }
          #expect(result.expiries == 1, "\(path)")
          #expect(result.cancels == (next == .ownerDidSettle ? 1 : 0), "\(path)")
          #expect(result.lateEnds == (next == .end ? 1 : 0), "\(path)")
        }
      }
    }
  }
}
