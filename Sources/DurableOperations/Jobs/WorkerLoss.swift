/// What happened to a process whose jobs are taken over.
enum WorkerLoss {
  /// It has ended. Its jobs run alone the next time, or are dead after too many crashes.
  case crashed
  /// Its lease ran out, and this machine cannot tell whether the process still runs: it may be
  /// suspended. Its jobs are dead after many such losses.
  case lapsed
  /// It runs, but did not renew its lease in time: its jobs did nothing wrong.
  case stoodStill

  /// What the end of a process means. On phones and similar devices the system ends apps whenever
  /// it needs their memory, and users end them, too: such an end looks like a crash.
  #if (os(iOS) && !targetEnvironment(macCatalyst)) || os(tvOS) || os(watchOS) || os(visionOS)
  static let ofDeadProcess = WorkerLoss.lapsed
  #else
  static let ofDeadProcess = WorkerLoss.crashed
  #endif
}
