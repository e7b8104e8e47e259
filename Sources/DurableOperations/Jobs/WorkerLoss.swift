/// What has become of a process whose jobs are taken over.
enum WorkerLoss {
  /// It has ended. Its jobs run alone the next time, or are dead after too many crashes.
  case crashed
  /// Its lease ran out, and nobody can tell from here whether it is there: it may have been suspended. Its jobs are dead after
  /// many of these.
  case lapsed
  /// It is there, and did not prolong its lease in time: its jobs did nothing wrong.
  case stoodStill

  /// What to make of a process that is not there any more. On phones and the like the system ends apps whenever it needs their
  /// memory, and users end them, too: nobody can tell that from a crash.
  #if (os(iOS) && !targetEnvironment(macCatalyst)) || os(tvOS) || os(watchOS) || os(visionOS)
  static let ofDeadProcess = WorkerLoss.lapsed
  #else
  static let ofDeadProcess = WorkerLoss.crashed
  #endif
}
