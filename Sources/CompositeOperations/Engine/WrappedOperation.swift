import Foundation

/// The operation that a composition wraps, and the name that the owner takes from it.
struct WrappedOperation: @unchecked Sendable {  // the striped lock guards it
  /// The operation, until it is handed out or settled.
  var operation: Operation?
  /// The name that the operation had when it was wrapped. If it had none, the name of the last
  /// child that had one.
  fileprivate var name: String?
  private let hadName: Bool
  /// The children up to this number do the work of the operation; 0 if the owner takes no name.
  let lastNamed: Int

  /// - Parameter lastNamed: the number of the last child that the owner takes its name from.
  init(_ operation: Operation? = nil, lastNamed: Int = .max) {
    self.operation = operation
    let name = lastNamed == 0 ? nil : operation?.nameAtOnce
    self.name = name
    hadName = name != nil
    self.lastNamed = lastNamed
  }

  /// For a composition that takes no name from its children.
  static let none = WrappedOperation(lastNamed: 0)

  var takesName: Bool { !hadName && lastNamed > 0 }
}

extension Operation {
  /// The name, as far as it is known without reading those of other operations.
  fileprivate var nameAtOnce: String? { (self as? SettlingOperation).map(\.nameAtHand) ?? name }
}

extension Composition {
  /// The wrapped operation, until it is taken.
  final var wrappedOperation: Operation? { StripedLock.withLock(of: self) { wrapped.operation } }

  final func takeWrapped() -> Operation? { StripedLock.withLock(of: self) { wrapped.operation.take() } }

  /// The name that the owner takes, as far as it is known without calling an override.
  final var nameAtHand: String? { StripedLock.withLock(of: self) { wrapped.name } }

  /// The operation whose name the owner takes otherwise: the one that runs or is to run.
  final var namesake: Operation? {
    if lastNamed == 0 { return nil }
    if let operation = wrappedOperation { return operation }
    let step = table.withLock { $0.step }
    return step.handle <= lastNamed ? step.child : nil
  }

  /// Notes the name of a child that the composition lets go of; not of a gate, whose name says what
  /// it does. Called under no lock, because subclasses can override the name.
  @inline(__always)
  final func noteName(of child: Operation, tag: Int) {
    if takesName, tag <= lastNamed, let name = child.name, (child as? SettlingOperation)?.form != .wait {
      note(name)
    }
  }

  /// Notes the name of a child that is about to start, as far as it is known at once.
  final func noteNameAtHand(of child: Operation) {
    if takesName, let name = child.nameAtOnce { note(name) }
  }

  private func note(_ name: String) { StripedLock.withLock(of: self) { wrapped.name = name } }
}
