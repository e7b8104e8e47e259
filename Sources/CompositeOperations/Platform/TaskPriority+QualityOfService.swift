import Foundation

extension QualityOfService {
  /// That of the queue that executes an operation on the calling thread; nil if none does, or the main queue does: from
  /// the class of the main thread nothing follows for work that happens elsewhere. To look for it takes long.
  static var ofExecutingQueue: QualityOfService? {
    guard let queue = OperationQueue.current, queue !== OperationQueue.main else { return nil }
    return queue.qualityOfService
  }

  /// The more urgent of the two.
  func higher(of other: QualityOfService) -> QualityOfService { other.urgency > urgency ? other : self }
}

extension TaskPriority {
  /// The priority that belongs to a quality of service. The numbers are those of Dispatch's classes.
  init(_ qualityOfService: QualityOfService) {
    switch qualityOfService {
    case .background: self = .background
    case .utility: self = .utility
    case .default: self = .medium
    case .userInitiated: self = .userInitiated
    case .userInteractive: self = TaskPriority(rawValue: 33)  // has no name of its own
    @unknown default: self = .medium
    }
  }

  /// That of the calling thread, where the platform has such; nil where it has not, or the thread has none.
  static var ofCurrentThread: TaskPriority? {
    #if canImport(Darwin)
    // Dispatch, too, lets what comes from the main thread be user-initiated only.
    let priority = min(UInt8(truncatingIfNeeded: qos_class_self().rawValue), TaskPriority.userInitiated.rawValue)
    return priority == 0 ? nil : TaskPriority(rawValue: priority)
    #else
    return nil
    #endif
  }
}
