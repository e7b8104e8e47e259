import CompositeOperations

/// The values of operations of a random tree: one comparable type for all value types.
indirect enum Payload: Hashable, Sendable {
  case unit
  case number(Int)
  case list([Payload])
  /// The result of the transform of node `by`.
  case mapped(by: Int, Payload)
}

/// The error that a leaf or a closure of the node with this number throws.
struct NodeError: Error, Hashable {
  let node: Int
}

/// An error that can be compared.
indirect enum Fault: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    let index: Int
    let fault: Fault
  }

  /// A `NodeError`.
  case thrown(by: Int)
  /// A `CompositeError`.
  case composite([Entry])
  /// An error of the package itself. The model knows that there must be one, not which.
  case library
}

/// An outcome that can be compared.
enum Verdict: Hashable, Sendable {
  case success(Payload)
  case failure(Fault)
  case cancelled
}

extension Verdict {
  init<Value>(_ outcome: Outcome<Value>) {
    switch outcome {
    case .success(let value): self = .success(Payload(erasing: value))
    case .failure(let error): self = .failure(Fault(error))
    case .cancelled: self = .cancelled
    }
  }

  var isSuccess: Bool {
    if case .success = self { true } else { false }
  }

  var isFailure: Bool {
    if case .failure = self { true } else { false }
  }

  var payload: Payload? {
    if case .success(let payload) = self { payload } else { nil }
  }

  var fault: Fault? {
    if case .failure(let fault) = self { fault } else { nil }
  }
}

extension Fault {
  init(_ error: any Error) {
    switch error {
    case let error as NodeError:
      self = .thrown(by: error.node)
    case let error as CompositeError:
      self = .composite(error.failures.map { Entry(index: $0.index, fault: Fault($0.error)) })
    default:
      self = .library
    }
  }
}

extension Payload {
  /// The same value in one type: payloads, `Void`, arrays of results and the tuples of `zip`.
  init(erasing value: Any) {
    switch value {
    case let payload as Payload:
      self = payload
    case is Void:
      self = .unit
    case let values as [any Sendable]:
      self = .list(values.map { Payload(erasing: $0) })
    default:
      let mirror = Mirror(reflecting: value)
      precondition(mirror.displayStyle == .tuple, "no operation of a tree results in \(type(of: value))")
      self = .list(mirror.children.map { Payload(erasing: $0.value) })
    }
  }
}

extension Payload: CustomStringConvertible {
  var description: String {
    switch self {
    case .unit: "()"
    case .number(let number): "\(number)"
    case .list(let list): "\(list)"
    case .mapped(let node, let payload): "m\(node)(\(payload))"
    }
  }
}

extension Fault: CustomStringConvertible {
  var description: String {
    switch self {
    case .thrown(let node): "E\(node)"
    case .composite(let entries): "{" + entries.map { "\($0.index): \($0.fault)" }.joined(separator: ", ") + "}"
    case .library: "an error of the package"
    }
  }
}

extension Verdict: CustomStringConvertible {
  var description: String {
    switch self {
    case .success(let payload): "success \(payload)"
    case .failure(let fault): "failure \(fault)"
    case .cancelled: "cancelled"
    }
  }
}
