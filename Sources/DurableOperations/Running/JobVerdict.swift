import CompositeOperations

/// What the error of an attempt means for its job.
enum JobVerdict {
  /// Another attempt by the same program would end in the same way.
  case unreadable
  /// Another program may know its stored form.
  case leftToNewerPrograms
  case snoozed(Duration)
  case permanent(any Error)
  case failed

  init(on error: any Error, of id: JobID) {
    if let error = error as? JobError, error.id == id {
      switch error.reason {
      case .undecodable:
        self = .unreadable
        return
      case .newerVersion:
        self = .leftToNewerPrograms
        return
      default: break
      }
    }
    if let permanent = error as? PermanentJobFailure {
      self = .permanent(permanent.cause)
      return
    }
    let leaves = Self.leaves(of: error)
    let snoozes = leaves.compactMap { ($0 as? JobSnooze)?.duration }
    if leaves.contains(where: { $0 is PermanentJobFailure }) {
      self = .permanent(error)
    } else if let longest = snoozes.max(), snoozes.count == leaves.count {
      self = .snoozed(max(longest, .zero))
    } else {
      self = .failed
    }
  }

  /// The innermost errors, at any depth of wrapping.
  private static func leaves(of error: any Error) -> [any Error] {
    var leaves: [any Error] = []
    var open = [error]
    while let error = open.popLast() {
      if let causes = (error as? any ErrorWithCauses)?.causes, !causes.isEmpty {
        open += causes
      } else {
        leaves.append(error)
      }
    }
    return leaves
  }
}
