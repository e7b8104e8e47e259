package import Foundation

extension QualityOfService {
  /// The quality of service of the queue that executes an operation on the calling thread; nil if
  /// none does, or if the main queue does, whose class means nothing for work elsewhere. Slow to
  /// look up.
  static var ofExecutingQueue: QualityOfService? {
    guard let queue = OperationQueue.current, queue !== OperationQueue.main else { return nil }
    return queue.qualityOfService
  }

  /// The global queue for what is not to wait for operations that compute: the actions of timers,
  /// and what a timer that is on time would win over.
  ///
  /// Linux has for each class as many threads as processors, all of one priority. So those of the
  /// highest class do not wait, unless the operations have that class, too.
  package var promptQueue: DispatchQueue {
    #if canImport(Darwin)
    globalQueue
    #else
    QualityOfService.userInitiated.globalQueue
    #endif
  }

  /// The more urgent of the two.
  func higher(of other: QualityOfService) -> QualityOfService { other.urgency > urgency ? other : self }
}

extension TaskPriority {
  /// Makes the priority of a quality of service. The numbers are those of Dispatch's classes.
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

  /// The priority of a task that is not to wait for operations that compute; nil where threads have
  /// priorities. See ``Foundation/QualityOfService/promptQueue``.
  package static var prompt: TaskPriority? {
    #if canImport(Darwin)
    nil
    #else
    .high
    #endif
  }

  /// The priority of the calling thread; nil if the thread or the platform has none.
  static var ofCurrentThread: TaskPriority? {
    #if canImport(Darwin)
    // Like Dispatch, limits work from the main thread to user-initiated.
    let priority = min(UInt8(truncatingIfNeeded: qos_class_self().rawValue), TaskPriority.userInitiated.rawValue)
    return priority == 0 ? nil : TaskPriority(rawValue: priority)
    #else
    return nil
    #endif
  }
}
